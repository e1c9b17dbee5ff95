-- title: Names and tickers
-- reads: names
SELECT cik, kind, name, all_names, source, available_at, available_at_source, evidence
FROM lake.names
WHERE cik = $cik
QUALIFY row_number() OVER (
    PARTITION BY kind ORDER BY available_at DESC, source DESC, statement DESC, content_hash DESC
) = 1
ORDER BY kind
