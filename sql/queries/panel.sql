-- summary: One row per ticker and instant: the price, reported values and news count public at that instant.
-- agent: helper
-- reads: prices, own_bars, av_daily_bars, xbrl_facts, sec_facts, news, benzinga_news, splits, polygon_splits
-- ids: ticker, at
-- hindsight: evidence_ids
-- param pairs pairs required | JSON array of {"ticker": …, "at": instant}; instants must not be after as_of.
-- param concepts texts = [] | Qualified names of reported values, such as us-gaap:Revenues.
-- param months int = 3 | Length of periods in months; 3 means a fiscal quarter, including one of 12 to 17 weeks, and 6, 9 and 12 likewise. Facts of one day are always included.
-- param forms forms = "periodic_first" | Forms whose figures count: periodic_first (other forms only if no periodic report states the period), periodic (only 10-K, 10-Q, 20-F, 40-F and their variants) or any (the newest figure of any form).
-- param news_days int = 30 | Number of days before each instant in which articles are counted; an article counts once, on the day it first became public.
-- column ticker
-- column at
-- column price_date | Trading day of the newest bar.
-- column split_index [ratio] | Number of shares that one share from before the first recorded split had become by that day, by the splits public at the instant. Compare closes of different instants as close × split_index. Null if a split is uncertain. Also null from the first night over which the price moved as much as in a split that neither a recorded split nor the volume explains, or did not follow the recorded split.
-- column close [unit] | Its last price, as traded.
-- column facts | JSON object: qualified name to value, of the newest period; unknown concepts are absent.
-- column news_count [articles] | Number of articles about the ticker that became public in those days.
-- column unit | Unit of the close.
-- column fact_units | JSON object: qualified name to the unit of its value.
-- column fact_filings | JSON object: qualified name to the form type and accession number of the filing that states its value, and the first and last day of its period.
-- column price_source | Dataset of the bar, in order of preference: prices, own_bars, av_daily_bars.
-- column evidence_ids | Evidence of the bar, of each split behind split_index and of each reported value.
WITH
    events AS MATERIALIZED (FROM asof_pairs($pairs)),
    known AS MATERIALIZED (
        FROM asof_facts(pair_companies($pairs), $concepts::VARCHAR[], $forms)
        WHERE months IS NULL OR months = $months
    ),
    series AS (SELECT DISTINCT company, concept, unit, span FROM known),
    values_by_series AS (
        SELECT events.position, known.*
        FROM (FROM events JOIN series USING (company)) AS events
        ASOF JOIN known
            ON known.company = events.company
            AND known.concept = events.concept
            AND known.unit = events.unit
            AND known.span = events.span
            AND events.at >= known.available_at
        QUALIFY row_number() OVER (
            PARTITION BY events.position, known.concept
            ORDER BY known.newness DESC, known.available_at DESC, known.unit, known.span
        ) = 1
    ),
    facts AS (
        SELECT
            position,
            max(available_at) AS available_at,
            max(available_at_source) AS available_at_source,
            to_json(map_from_entries(list({'k': concept, 'v': value_number} ORDER BY concept)))::VARCHAR AS facts,
            to_json(map_from_entries(list({'k': concept, 'v': unit} ORDER BY concept)))::VARCHAR AS fact_units,
            to_json(map_from_entries(list({
                'k': concept,
                'v': {
                    'form_type': form_type, 'accession_no': accession_no,
                    'period_start': period_start, 'period_end': period_end
                }
            } ORDER BY concept)))::VARCHAR AS fact_filings,
            list(evidence ORDER BY concept) AS evidence_ids
        FROM values_by_series
        GROUP BY position
    ),
    articles AS MATERIALIZED (FROM asof_news_counts(pair_companies($pairs))),
    counts AS (
        SELECT
            events.position,
            upto.available_at,
            upto.available_at_source,
            coalesce(upto.articles, 0) - coalesce(before.articles, 0) AS news_count
        FROM events
        ASOF LEFT JOIN articles AS upto ON upto.company = events.company AND events.at >= upto.available_at
        ASOF LEFT JOIN articles AS before
            ON before.company = events.company AND events.at - to_days($news_days::INTEGER) >= before.available_at
    ),
    parts AS (
        SELECT
            bar.position,
            bar.ticker,
            bar.at,
            bar.date AS price_date,
            bar.close,
            bar.source AS price_source,
            bar.split_index,
            coalesce(facts.facts, '{}') AS facts,
            coalesce(facts.fact_units, '{}') AS fact_units,
            coalesce(facts.fact_filings, '{}') AS fact_filings,
            list_concat(bar.evidence_ids, facts.evidence_ids) AS evidence_ids,
            counts.news_count,
            greatest(bar.available_at, facts.available_at, counts.available_at) AS newest,
            bar.available_at AS bar_at,
            bar.available_at_source AS bar_source,
            facts.available_at AS facts_at,
            facts.available_at_source AS facts_source,
            counts.available_at_source AS news_source
        FROM prices_at($pairs) AS bar
        LEFT JOIN facts ON facts.position = bar.position
        LEFT JOIN counts ON counts.position = bar.position
    )
SELECT
    coalesce(newest, parts.at) AS available_at,
    CASE newest
        WHEN bar_at THEN bar_source
        WHEN facts_at THEN facts_source
        ELSE coalesce(news_source, 'time_series_timestamp')
    END AS available_at_source,
    ticker,
    parts.at,
    price_date,
    split_index,
    close,
    facts,
    news_count,
    'USD' AS unit,
    fact_units,
    fact_filings,
    price_source,
    evidence_ids
FROM parts
ORDER BY position
