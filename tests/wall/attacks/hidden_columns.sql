-- Columns that would know the future, or the lake's wall clock.
SELECT observed_at FROM {dataset}_revisions;
SELECT content_hash FROM {dataset};
SELECT available_month FROM {dataset}_revisions;
SELECT superseded_at FROM {dataset}_revisions;
SELECT is_latest FROM {dataset}_revisions;
SELECT run_id, observed_at FROM gaps;
SELECT daily_return FROM {dataset};
SELECT daily_stock FROM {dataset};
SELECT COLUMNS('.*observed.*') FROM {dataset}_revisions;
SELECT * FROM event_returns;
SELECT * FROM event_returns_revisions;
FROM query_table('event_returns');
SELECT * EXCLUDE (evidence) FROM {dataset}_revisions ORDER BY ALL;
SELECT {dataset}_revisions FROM {dataset}_revisions;
SELECT to_json({dataset}) FROM {dataset};
SELECT struct_keys({dataset}) FROM {dataset} LIMIT 1;
