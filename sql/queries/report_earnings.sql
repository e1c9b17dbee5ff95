-- summary: The 8-K filings of a company with item 2.02 (results of operations), newest first.
-- agent: report
-- reads: reports, sec_filings
-- ids: accessionNo
-- param ticker ticker required | Ticker of the company.
-- column accessionNo
-- column formType | EDGAR form type.
-- column items
-- column created | EDGAR acceptance.
-- column cik | Central Index Key of the filing company, 10 digits, zero-padded.
-- column source | Dataset of the filing: reports, or sec_filings if the former does not have it.
-- column evidence
SELECT
    available_at,
    available_at_source,
    accession_no AS "accessionNo",
    form_type AS "formType",
    items,
    created,
    cik,
    source,
    evidence
FROM filings_of($company)
WHERE
    form_type = '8-K'
    AND len(list_filter(items, lambda item: item = '2.02' OR contains(item, 'Item 2.02'))) > 0
ORDER BY created DESC, accession_no
