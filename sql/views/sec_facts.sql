-- Reported values as last stated by any filing: one row per company, concept, unit and period.
-- Of several revisions of one key the newest that was public counts; sec_facts_revisions holds all of them.
CREATE VIEW sec_facts AS
SELECT
    available_at, available_at_source, accession_no, form_type, cik, release_rule, accepted_at, concept, unit,
    period_type, period_start, period_end, value, value_number, filing_date, evidence
FROM sec_facts_revisions
QUALIFY row_number() OVER (
    PARTITION BY cik, concept, unit, period_start, period_end
    ORDER BY filing_date DESC, available_at DESC, accepted_at DESC, accession_no DESC, evidence DESC
) = 1;
