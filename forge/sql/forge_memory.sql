-- Memory: the newest text of every path.
CREATE VIEW forge_memory AS
SELECT
    available_at, available_at_source, path, kind, content, actor, session, event, call_id, part, request_hash, cause, seq,
    prev, chain, journal, clock, evidence
FROM forge_memory_revisions
QUALIFY row_number() OVER (PARTITION BY path ORDER BY available_at DESC, evidence DESC) = 1;
