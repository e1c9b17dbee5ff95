-- reads: xbrl_facts, sec_facts
-- Every statement of a fact about these companies, in the columns of `xbrl_facts`. companies: in the form that
-- company.sql reads. EDGAR's statements are used only where the graph had not stated the fact at that time. `source`
-- names the dataset.
--
-- Units are spelled as the graph spells them. EDGAR states totals only.
CREATE MACRO all_facts(companies) AS TABLE
WITH
    parts AS MATERIALIZED (FROM company_parts(companies)),
    graph AS MATERIALIZED (
        SELECT company, facts.*, 'xbrl_facts' AS source
        FROM lake.xbrl_facts AS facts
        JOIN parts AS part ON part.cik = facts.cik
        UNION ALL
        SELECT company, facts.*, 'xbrl_facts'
        FROM lake.xbrl_facts AS facts
        JOIN parts AS part
            ON part.ticker = facts.ticker
            AND (facts.cik IS NULL OR part.of_any_cik)
            AND facts.available_at >= part.since
            AND facts.available_at < part.until
    ),
    edgar AS (
        SELECT
            company,
            facts.* EXCLUDE (available_at_basis, filing_date) REPLACE (
                CASE
                    WHEN regexp_full_match(unit, '[A-Z]{3}(/shares)?') THEN 'iso4217:' || replace(unit, '/', '')
                    ELSE unit
                END AS unit
            ),
            true AS is_numeric, false AS is_nil, '' AS dimensions, '' AS members, 0 AS member_count,
            'sec_facts' AS source
        FROM lake.sec_facts AS facts
        JOIN parts AS part ON part.cik = facts.cik
    )
FROM graph
UNION ALL BY NAME
FROM edgar
ANTI JOIN graph
    ON graph.company = edgar.company
    AND graph.concept = edgar.concept
    AND graph.unit = edgar.unit
    AND graph.period_start IS NOT DISTINCT FROM edgar.period_start
    AND graph.period_end = edgar.period_end
    AND graph.accession_no = edgar.accession_no
    AND graph.member_count = 0
    AND graph.available_at <= edgar.available_at;
