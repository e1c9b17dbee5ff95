-- Earnings calls of a day as the calendar stood when fetched, one row per call and calendar page.
-- Of several revisions of one key the newest that was public counts; call_calendar_revisions holds all of them.
CREATE VIEW call_calendar AS
SELECT
    available_at, available_at_source, exchange, ticker, fiscal_year, fiscal_quarter, call_start,
    stated_start, company_name, transcript_ready, listed_on, evidence
FROM call_calendar_revisions
QUALIFY row_number() OVER (
    PARTITION BY exchange, ticker, fiscal_year, fiscal_quarter, listed_on
    ORDER BY available_at DESC, evidence DESC
) = 1;
