-- summary: What an analyst knew of one company at as_of: figures, surprises, consensus, prices, news, filings, call, macro.
-- agent: helper
-- reads: xbrl_facts, sec_facts, av_earnings, av_estimates, prices, own_bars, av_daily_bars, splits, polygon_splits, news, benzinga_news, reports, sec_filings, transcripts, call_transcripts, macro_observations
-- ids: section, name
-- hindsight: evidence_ids
-- param ticker ticker required | Ticker of the company.
-- param concepts texts = ["us-gaap:Revenues","us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax","us-gaap:NetIncomeLoss","us-gaap:EarningsPerShareDiluted","us-gaap:GrossProfit","us-gaap:OperatingIncomeLoss"] | Qualified names of the reported values to take.
-- param quarters int = 8 | Number of newest periods per value and period length, and of newest surprises.
-- param bars int = 60 | Number of newest daily bars.
-- param news_days int = 30 | Number of days back in which articles are counted; an article counts once, on the day it first became public.
-- param filing_days int = 120 | Number of days back in which filings are listed.
-- column section | facts, surprises, consensus, prices, returns, news, filings, call or macro.
-- column name | Name of the value, unique in its section.
-- column value [unit] | The value; null if it is a text.
-- column text | The value as filed, or details such as the form type and items of a filing.
-- column unit | Unit of the value.
-- column form_type | EDGAR form type of the filing that states a reported value.
-- column stated_in | Its accession number.
-- column evidence_ids | Evidence of every row the value was made from.
WITH
    known AS (
        SELECT *, CASE WHEN period_start IS NOT NULL THEN period_months(period_start, period_end) END AS months
        FROM xbrl_facts_of($company)
        WHERE is_numeric AND NOT is_nil AND member_count = 0 AND list_contains($concepts::VARCHAR[], concept)
    ),
    facts AS (
        SELECT
            available_at, available_at_source, 'facts' AS section,
            concat_ws(' ', concept, coalesce(period_start::VARCHAR || '/', '') || period_end::VARCHAR, unit) AS name,
            value_number AS value, value AS text, unit, [evidence] AS evidence_ids,
            form_type, accession_no AS stated_in
        FROM known
        QUALIFY dense_rank() OVER (PARTITION BY concept, unit, months ORDER BY period_end DESC) <= $quarters
    ),
    reported AS (
        FROM av_earnings
        WHERE is_about($company, NULL, [ticker], available_at) AND period_type = 'quarter'
        QUALIFY row_number() OVER (ORDER BY fiscal_date_ending DESC) <= $quarters
    ),
    surprises AS (
        SELECT
            available_at, available_at_source, 'surprises' AS section,
            measure || ' ' || fiscal_date_ending::VARCHAR AS name,
            value, NULL AS text, unit, [evidence] AS evidence_ids
        FROM (
            FROM reported SELECT *, 'reported_eps' AS measure, reported_eps AS value, 'USD per share' AS unit
            UNION ALL FROM reported SELECT *, 'estimated_eps', estimated_eps, 'USD per share'
            UNION ALL FROM reported SELECT *, 'surprise', surprise, 'USD per share'
            UNION ALL FROM reported SELECT *, 'surprise_percentage', surprise_percentage, 'percent'
        )
        WHERE value IS NOT NULL
    ),
    estimated AS (
        FROM av_estimates
        WHERE is_about($company, NULL, [ticker], available_at) AND fiscal_date_ending >= as_of()::DATE - 100
    ),
    consensus AS (
        SELECT
            available_at, available_at_source, 'consensus' AS section,
            concat_ws(' ', measure, horizon, fiscal_date_ending::VARCHAR) AS name,
            value, NULL AS text, unit, [evidence] AS evidence_ids
        FROM (
            FROM estimated SELECT *, 'eps_average' AS measure, eps_estimate_average AS value, 'USD per share' AS unit
            UNION ALL FROM estimated SELECT *, 'eps_analysts', eps_estimate_analyst_count, 'analysts'
            UNION ALL FROM estimated SELECT *, 'revenue_average', revenue_estimate_average, 'USD'
            UNION ALL FROM estimated SELECT *, 'revenue_analysts', revenue_estimate_analyst_count, 'analysts'
        )
        WHERE value IS NOT NULL
    ),
    bars AS MATERIALIZED (
        SELECT
            * REPLACE (
                greatest(available_at, split_at) AS available_at,
                CASE WHEN whole THEN close / split_factor END AS close
            ),
            close AS traded,
            list_concat([evidence], split_evidence) AS evidence_ids,
            row_number() OVER (ORDER BY date DESC) AS back
        FROM adjusted_bars($company)
        QUALIFY back <= $bars
    ),
    closes AS (
        SELECT
            available_at, available_at_source, 'prices' AS section, date::VARCHAR AS name, close AS value,
            CASE WHEN split_factor <> 1 THEN 'as traded ' || traded END AS text, 'USD' AS unit, evidence_ids
        FROM bars
        WHERE close IS NOT NULL
    ),
    returns AS (
        SELECT
            greatest(last.available_at, first.available_at) AS available_at, last.available_at_source,
            'returns' AS section, 'last ' || (first.back - 1) || ' bars' AS name,
            100 * (last.close / first.close - 1) AS value, NULL AS text, 'percent' AS unit,
            list_concat(first.evidence_ids, last.evidence_ids) AS evidence_ids
        FROM bars AS last
        JOIN bars AS first USING (entity_kind, entity_id)
        WHERE last.back = 1 AND first.back IN (2, 6, 21, 60) AND first.close > 0 AND last.close IS NOT NULL
    ),
    articles AS (
        SELECT 'news' AS source, * FROM first_articles('lake.news', [$company])
        UNION ALL
        SELECT 'benzinga_news', * FROM first_articles('lake.benzinga_news', [$company])
    ),
    news AS (
        SELECT
            max(available_at) AS available_at, any_value(available_at_source) AS available_at_source,
            'news' AS section, source || ' in ' || $news_days || ' days' AS name,
            count(*)::DOUBLE AS value, NULL AS text, 'articles' AS unit, list(evidence ORDER BY evidence) AS evidence_ids
        FROM articles
        WHERE available_at > as_of() - to_days($news_days::INTEGER)
        GROUP BY source
    ),
    filed AS (
        FROM reports
        SELECT available_at, available_at_source, accession_no, form_type, items, evidence
        WHERE is_about($company, cik, [ticker], available_at)
        UNION ALL
        FROM sec_filings
        SELECT available_at, available_at_source, accession_no, form_type, items, evidence
        WHERE list_contains(company_ciks($company), cik)
            AND accession_no NOT IN (
                SELECT accession_no FROM reports WHERE is_about($company, cik, [ticker], available_at)
            )
    ),
    filings AS (
        SELECT
            available_at, available_at_source, 'filings' AS section, accession_no AS name,
            NULL AS value, concat_ws(': ', form_type, nullif(array_to_string(items, ', '), '')) AS text,
            NULL AS unit, [evidence] AS evidence_ids
        FROM filed
        WHERE available_at > as_of() - to_days($filing_days::INTEGER)
    ),
    calls AS (
        FROM transcripts
        SELECT available_at, available_at_source,
            'transcripts ' || strftime(conference_datetime AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%MZ') AS name,
            concat_ws(' ', fiscal_year, 'Q' || fiscal_quarter) AS text, conference_datetime AS started, evidence
        WHERE is_about($company, NULL, [ticker], available_at)
        UNION ALL
        FROM call_transcripts
        SELECT available_at, available_at_source, 'call_transcripts ' || fiscal_year || '/' || fiscal_quarter,
            concat_ws(' ', fiscal_year, 'Q' || fiscal_quarter), call_start, evidence
        WHERE is_about($company, NULL, [ticker], available_at)
    ),
    call AS (
        SELECT
            available_at, available_at_source, 'call' AS section, name, NULL AS value, text, NULL AS unit,
            [evidence] AS evidence_ids
        FROM calls
        QUALIFY row_number() OVER (PARTITION BY split_part(name, ' ', 1) ORDER BY started DESC, name DESC, evidence DESC) = 1
    ),
    macro AS (
        SELECT
            available_at, available_at_source, 'macro' AS section,
            series_id || ' ' || observation_date::VARCHAR AS name, value, value_text AS text, 'the series'' own' AS unit,
            [evidence] AS evidence_ids
        FROM macro_observations
        WHERE NOT withdrawn AND value IS NOT NULL
        QUALIFY row_number() OVER (PARTITION BY series_id ORDER BY observation_date DESC) = 1
    )
SELECT available_at, available_at_source, section, name, value, text, unit, form_type, stated_in, evidence_ids
FROM (
    FROM facts UNION ALL BY NAME FROM surprises UNION ALL BY NAME FROM consensus UNION ALL BY NAME FROM closes
    UNION ALL BY NAME FROM returns UNION ALL BY NAME FROM news UNION ALL BY NAME FROM filings UNION ALL BY NAME FROM call
    UNION ALL BY NAME FROM macro
)
QUALIFY row_number() OVER (
    PARTITION BY section, name ORDER BY available_at DESC, evidence_ids DESC
) = 1
ORDER BY section, name
