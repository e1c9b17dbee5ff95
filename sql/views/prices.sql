-- Daily bars, one row per entity and trading day. No returns.
-- Of several revisions of one key the newest that was public counts; prices_revisions holds all of them.
CREATE VIEW prices AS
SELECT
    available_at, available_at_source, entity_kind, entity_id, symbol, date, open, high, low, close, vwap,
    volume, transactions, evidence
FROM prices_revisions
QUALIFY row_number() OVER (
    PARTITION BY entity_kind, entity_id, date
    ORDER BY available_at DESC, evidence DESC
) = 1;
