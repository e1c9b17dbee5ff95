-- summary: Filings of a company accepted since a start, newest first.
-- agent: report
-- reads: reports, sec_filings
-- ids: accessionNo
-- param ticker ticker required | Ticker of the company.
-- param start_date moment required | First instant, or first New York day.
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
WHERE created >= $start_date::TIMESTAMPTZ
ORDER BY created DESC, accession_no
