-- Earnings calls of a company as its list stood when fetched, one row per call.
-- Of several revisions of one key the newest that was public counts; call_events_revisions holds all of them.
CREATE VIEW call_events AS
SELECT
    available_at, available_at_source, exchange, ticker, fiscal_year, fiscal_quarter, call_start,
    stated_start, company_name, evidence
FROM call_events_revisions
QUALIFY row_number() OVER (
    PARTITION BY exchange, ticker, fiscal_year, fiscal_quarter
    ORDER BY available_at DESC, evidence DESC
) = 1;
