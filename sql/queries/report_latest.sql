-- summary: The newest filings of a company.
-- agent: report
-- reads: reports
-- param ticker ticker required | Ticker of the company.
-- param limit int = 5 | How many rows at most.
-- column accessionNo | EDGAR accession number.
-- column formType | EDGAR form type.
-- column items | Items of an 8-K.
-- column created | EDGAR acceptance.
SELECT available_at, available_at_source, accession_no AS "accessionNo", form_type AS "formType", items, created
FROM reports
WHERE role = 'primary_filer' AND list_contains(tickers, $ticker)
ORDER BY created DESC, accession_no
LIMIT $limit
