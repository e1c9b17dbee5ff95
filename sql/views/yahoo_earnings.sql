-- Reported earnings per share, one row per symbol and event.
-- Of several revisions of one key the newest that was public counts; yahoo_earnings_revisions holds all of them.
CREATE VIEW yahoo_earnings AS
SELECT
    available_at, available_at_source, ticker, first_stated, event_date, event_text, time_zone, reported_eps, estimated_eps,
    surprise_stated, evidence
FROM yahoo_earnings_revisions
QUALIFY row_number() OVER (
    PARTITION BY ticker, first_stated
    ORDER BY available_at DESC, evidence DESC
) = 1;
