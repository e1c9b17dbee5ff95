-- title: Names and tickers
-- reads: names
SELECT cik, kind, name, all_names, source, available_at, available_at_source, evidence
FROM names
WHERE cik = $cik
ORDER BY kind
