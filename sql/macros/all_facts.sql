-- reads: xbrl_facts, sec_facts
-- EDGAR's statements in the columns and units of `xbrl_facts`. EDGAR states totals only.
CREATE VIEW lake.edgar_facts AS
SELECT
    * EXCLUDE (available_at_basis, filing_date) REPLACE (
        CASE
            WHEN regexp_full_match(unit, '[A-Z]{3}(/shares)?') THEN 'iso4217:' || replace(unit, '/', '')
            ELSE unit
        END AS unit
    ),
    true AS is_numeric, false AS is_nil, '' AS dimensions, '' AS members, 0 AS member_count,
    'sec_facts' AS source
FROM lake.sec_facts;

-- Every statement of a fact about these companies, in the columns of `xbrl_facts`. companies: in the form that
-- company.sql reads. EDGAR's statements are used only where the graph had not stated the fact at that time. `source`
-- names the dataset.
CREATE MACRO all_facts(companies) AS TABLE
WITH
    parts AS MATERIALIZED (FROM company_parts(companies)),
    graph AS MATERIALIZED (
        SELECT company, facts.*, 'xbrl_facts' AS source
        FROM lake.xbrl_facts AS facts
        JOIN parts AS part ON part.cik = facts.cik
        WHERE has_any_cik(companies, facts.cik)
        UNION ALL
        SELECT company, facts.*, 'xbrl_facts'
        FROM lake.xbrl_facts AS facts
        JOIN parts AS part
            ON part.ticker = facts.ticker
            AND (facts.cik IS NULL OR part.of_any_cik)
            AND facts.available_at >= part.since
            AND facts.available_at < part.until
        WHERE has_any_label(companies, facts.cik, facts.ticker)
    ),
    edgar AS (
        SELECT company, facts.*
        FROM lake.edgar_facts AS facts
        JOIN parts AS part ON part.cik = facts.cik
        WHERE has_any_cik(companies, facts.cik)
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

-- union: facts | Reported figures of every source: each fact as last stated by a periodic report, otherwise by any filing.
-- columns: available_at, available_at_source, accession_no, form_type, cik, ticker, release_rule, accepted_at, concept,
-- columns: label, value, value_number, decimals, unit, balance, period_type, period_start, period_end, is_numeric,
-- columns: is_nil, dimensions, members, member_count, fact_id, evidence, source
CREATE VIEW facts AS
SELECT
    available_at, available_at_source, accession_no, form_type, cik, ticker, release_rule, accepted_at, concept, label,
    value, value_number, decimals, unit, balance, period_type, period_start, period_end, is_numeric, is_nil, dimensions,
    members, member_count, fact_id, evidence, source
FROM (
    FROM (
        FROM lake.xbrl_facts SELECT *, 'xbrl_facts' AS source
        UNION ALL BY NAME
        FROM lake.edgar_facts
    )
    -- A filing's statement is the graph's if the graph has it.
    QUALIFY rank() OVER (
        PARTITION BY cik, concept, unit, period_start, period_end, dimensions, members, accession_no
        ORDER BY source DESC
    ) = 1
)
QUALIFY row_number() OVER (
    PARTITION BY cik, concept, unit, period_type, period_start, period_end, dimensions, members
    ORDER BY
        is_periodic(form_type) DESC,
        available_at DESC,
        accepted_at DESC NULLS LAST,
        accession_no DESC,
        evidence DESC,
        content_hash DESC
) = 1;
