-- Returns after events, each visible from the end of its window: outcomes, so in open mode alone.
-- Of several revisions of one key the newest that was public counts; event_returns_revisions holds all of them.
CREATE VIEW event_returns AS
SELECT
    available_at, available_at_source, event_kind, event_id, entity_kind, entity_id, ticker, horizon, benchmark,
    percent, window_end, evidence
FROM event_returns_revisions
QUALIFY row_number() OVER (
    PARTITION BY event_kind, event_id, entity_kind, entity_id, horizon, benchmark
    ORDER BY available_at DESC, evidence DESC
) = 1;
