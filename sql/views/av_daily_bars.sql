-- Raw daily bars, one row per symbol and trading day.
-- Of several revisions of one key the newest that was public counts; av_daily_bars_revisions holds all of them.
CREATE VIEW av_daily_bars AS
SELECT
    available_at, available_at_source, ticker, date, open, high, low, close, volume, evidence
FROM av_daily_bars_revisions
QUALIFY row_number() OVER (
    PARTITION BY ticker, date
    ORDER BY available_at DESC, evidence DESC
) = 1;
