-- title: Figures and their vintages
-- reads: xbrl_facts, sec_facts
WITH
    stated AS (
        SELECT
            cik, item, place, concept, unit, period_type, period_start, period_end, dimensions, members, value_number,
            {
                known_at: available_at, accession_no: accession_no, evidence: evidence, content_hash: content_hash,
                source: available_at_source, dataset: source, form_type: form_type,
                value: value_number, is_nil: is_nil
            } AS vintage
        FROM all_facts([$company])
        JOIN line_item_concepts() USING (concept)
        WHERE
            list_contains(company_ciks($company), cik) AND (is_numeric OR is_nil) AND member_count = 0
            AND item IN (
                'revenue', 'cost_of_revenue', 'gross_profit', 'operating_income', 'net_income', 'eps_diluted',
                'operating_cash_flow', 'assets', 'liabilities', 'equity', 'cash', 'shares'
            )
    ),
    figures AS (
        SELECT
            cik, item, place, concept, unit, period_type, period_start, period_end, dimensions, members,
            max({periodic: is_periodic(vintage.form_type), vintage: vintage}).vintage AS newest,
            min(vintage) FILTER (NOT vintage.is_nil) AS oldest,
            count(*) AS vintages,
            count(DISTINCT value_number) AS distinct_values
        FROM stated
        GROUP BY ALL
    )
SELECT
    newest.dataset AS dataset, cik, item, concept,
    -- The format of EDGAR, which `sec_facts` uses.
    CASE WHEN newest.dataset = 'sec_facts'
        THEN regexp_replace(replace(unit, 'iso4217:', ''), '^([A-Z]{3})shares$', '\1/shares') ELSE unit
    END AS unit,
    period_type, period_start, period_end, dimensions, members,
    CASE WHEN period_type = 'duration' THEN period_months(period_start, period_end) END AS months,
    newest.value AS value_number, oldest.value AS first_value, oldest.evidence AS first_evidence,
    oldest.known_at AS first_public, vintages, distinct_values, newest.form_type AS form_type, newest.known_at AS available_at,
    newest.source AS available_at_source, newest.evidence AS evidence
FROM figures
WHERE NOT newest.is_nil
ORDER BY item, period_end DESC, place, unit, concept, period_start DESC
