-- Reported facts as last stated by any filing, restatements and comparatives included: one row per company,
-- concept, unit, period, axes and members. Of two filings released together the one accepted later wins, of two
-- accepted at one instant the greater accession number.
-- Of several revisions of one key the newest that was public counts; xbrl_facts_revisions holds all of them.
CREATE VIEW xbrl_facts AS
SELECT
    available_at, available_at_source, accession_no, form_type, cik, ticker, release_rule, accepted_at, concept,
    label, value, value_number, decimals, unit, balance, period_type, period_start, period_end, is_numeric, is_nil,
    dimensions, members, member_count, fact_id, evidence
FROM xbrl_facts_revisions
QUALIFY row_number() OVER (
    PARTITION BY cik, concept, unit, period_type, period_start, period_end, dimensions, members
    ORDER BY available_at DESC, accepted_at DESC, accession_no DESC, evidence DESC
) = 1;
