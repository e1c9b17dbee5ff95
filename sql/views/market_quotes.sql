-- A desk's quotes in their newest received word, one row per instrument, tenor, point, measure and day.
-- Of several revisions of one key the newest that was public counts; market_quotes_revisions holds all of them.
CREATE VIEW market_quotes AS
SELECT
    available_at, available_at_source, kind, instrument, tenor, point, measure, quoted_on, value, unit, evidence
FROM market_quotes_revisions
QUALIFY row_number() OVER (
    PARTITION BY kind, instrument, tenor, point, measure, quoted_on
    ORDER BY available_at DESC, evidence DESC
) = 1;
