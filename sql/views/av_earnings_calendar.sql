-- Expected reports as last fetched, one row per symbol and fiscal period.
-- Of several revisions of one key the newest that was public counts; av_earnings_calendar_revisions holds all of them.
CREATE VIEW av_earnings_calendar AS
SELECT
    available_at, available_at_source, ticker, name, fiscal_date_ending, report_date, time_of_day, estimate,
    currency, evidence
FROM av_earnings_calendar_revisions
QUALIFY row_number() OVER (
    PARTITION BY ticker, fiscal_date_ending
    ORDER BY available_at DESC, evidence DESC
) = 1;
