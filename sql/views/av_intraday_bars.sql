-- Raw intraday bars, one row per symbol, length and start.
-- Of several revisions of one key the newest that was public counts; av_intraday_bars_revisions holds all of them.
CREATE VIEW av_intraday_bars AS
SELECT
    available_at, available_at_source, ticker, interval, bar_start, market_session, open, high, low, close,
    volume, evidence
FROM av_intraday_bars_revisions
QUALIFY row_number() OVER (
    PARTITION BY ticker, interval, bar_start
    ORDER BY available_at DESC, evidence DESC
) = 1;
