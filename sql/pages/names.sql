-- title: Names and tickers
-- reads: names
SELECT cik, kind, name, all_names, source, available_at, available_at_source, evidence
FROM names
WHERE list_contains(company_ciks($company), cik)
ORDER BY kind
