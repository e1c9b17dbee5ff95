-- summary: Every filing of a company that EDGAR lists, under any of its names, newest first.
-- agent: sec
-- reads: sec_filings
-- ids: cik, accession_no
-- param ticker ticker required | Past or present ticker of the company; it is first resolved to a CIK.
-- param start_date day optional | First filing day.
-- column accession_no | Accession number.
-- column cik | Central Index Key, 10 digits, zero-padded.
-- column form_type | EDGAR form type.
-- column accepted_at | When EDGAR accepted it.
-- column filing_date | EDGAR's filing date.
-- column items
-- column url | Address of the primary document, or of the filing's folder.
-- column evidence
SELECT available_at, available_at_source, accession_no, cik, form_type, accepted_at, filing_date, items, url, evidence
FROM sec_filings
WHERE
    list_contains(company_ciks($company), cik)
    AND ($start_date::DATE IS NULL OR filing_date >= $start_date::DATE)
ORDER BY available_at DESC, accession_no
