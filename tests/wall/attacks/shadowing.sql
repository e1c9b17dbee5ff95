-- Redefining what the views stand on.
CREATE OR REPLACE MACRO as_of() AS TIMESTAMPTZ '2999-01-01'; SELECT max(available_at) FROM {dataset};
CREATE OR REPLACE TEMP MACRO as_of() AS TIMESTAMPTZ '2999-01-01'; SELECT count(*) FROM {dataset}_revisions;
CREATE MACRO getvariable(x) AS TIMESTAMPTZ '2999-01-01'; SELECT max(available_at) FROM {dataset};
CREATE TEMP MACRO getvariable(x) AS TIMESTAMPTZ '2999-01-01'; SELECT max(available_at) FROM {dataset}_revisions;
CREATE SCHEMA s; CREATE MACRO s.getvariable(x) AS TIMESTAMPTZ '2999-01-01'; SET search_path = 's,main'; SELECT max(available_at) FROM {dataset};
CREATE MACRO read_parquet(x) AS TABLE SELECT 'forged' AS forged; SELECT * FROM {dataset}_revisions LIMIT 1;
CREATE MACRO "<="(a, b) AS true; SELECT max(available_at) FROM {dataset};
CREATE TYPE timestamptz AS VARCHAR; SELECT max(available_at) FROM {dataset};
CREATE OR REPLACE VIEW {dataset} AS SELECT * FROM '{future_file}'; SELECT * FROM {dataset};
CREATE OR REPLACE TEMP VIEW {dataset} AS SELECT * FROM read_parquet('{future_file}'); SELECT * FROM {dataset};
ALTER VIEW {dataset} RENAME TO old_{dataset}; SELECT * FROM old_{dataset};
DROP VIEW {dataset}; SELECT * FROM {dataset};
DROP VIEW {dataset}_revisions CASCADE; SELECT * FROM {dataset};
USE memory.main; SELECT count(*) FROM {dataset};
SET schema = 'information_schema'; SELECT count(*) FROM main.{dataset};
SET TimeZone = 'Pacific/Kiritimati'; SELECT max(available_at)::TIMESTAMP FROM {dataset};
SET Calendar = 'buddhist'; SELECT max(available_at) FROM {dataset};
