-- Exchange days that have passed, one row per calendar day.
-- Of several revisions of one key the newest that was public counts; calendar_revisions holds all of them.
CREATE VIEW calendar AS
SELECT
    available_at, available_at_source, date, is_trading_day, pre_market_open, market_open, market_close,
    post_market_close, is_early_close, previous_trading_date, next_trading_date,
    closed_through, evidence
FROM calendar_revisions
QUALIFY row_number() OVER (
    PARTITION BY date
    ORDER BY closed_through DESC, available_at DESC, evidence DESC
) = 1;
