-- What registered, listed, renamed, delisted or deregistered a company: one row a filing, event and list that tells.
CREATE VIEW universe_events AS
SELECT
    available_at, available_at_source, cik, accession_no, event, told_by, form_type, release_rule, company_name,
    former_name, exchange, security_class, common_equity, rule_provision, filing_date, effective_on, evidence
FROM universe_events_revisions
QUALIFY row_number() OVER (
    PARTITION BY cik, accession_no, event, told_by ORDER BY available_at DESC, evidence DESC
) = 1;
