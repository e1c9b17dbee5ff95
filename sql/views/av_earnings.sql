-- Reported earnings per share, one row per symbol and fiscal period.
-- Of several revisions of one key the newest that was public counts; av_earnings_revisions holds all of them.
CREATE VIEW av_earnings AS
SELECT
    available_at, available_at_source, ticker, period_type, fiscal_date_ending, reported_date, report_time,
    reported_eps, estimated_eps, surprise, surprise_percentage, evidence
FROM av_earnings_revisions
QUALIFY row_number() OVER (
    PARTITION BY ticker, period_type, fiscal_date_ending
    ORDER BY available_at DESC, evidence DESC
) = 1;
