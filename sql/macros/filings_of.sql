-- reads: reports, sec_filings
-- The filings of a company from every source. Each filing is returned once: as the graph has it, otherwise as EDGAR
-- lists it.
CREATE MACRO filings_of(wanted) AS TABLE
SELECT *
FROM (
    SELECT
        available_at, available_at_source, accession_no, form_type, items, created, cik, 'reports' AS source, evidence
    FROM reports
    WHERE role = 'primary_filer' AND is_about_any(wanted, cik, tickers, available_at)
    UNION ALL
    SELECT
        available_at, available_at_source, accession_no, form_type, items, coalesce(accepted_at, available_at), cik,
        'sec_filings', evidence
    FROM sec_filings
    WHERE list_contains(company_ciks(wanted), cik)
)
QUALIFY row_number() OVER (PARTITION BY accession_no ORDER BY source, cik) = 1;

-- union: filings | Filings of every source, each once per filer: as the graph has it, otherwise as EDGAR lists it.
-- columns: available_at, available_at_source, accession_no, form_type, items, created, cik, source, evidence
CREATE VIEW filings AS
SELECT available_at, available_at_source, accession_no, form_type, items, created, cik, 'reports' AS source, evidence
FROM reports
WHERE role = 'primary_filer'
UNION ALL
SELECT
    available_at, available_at_source, accession_no, form_type, items, coalesce(accepted_at, available_at), cik,
    'sec_filings', evidence
FROM sec_filings AS listed
ANTI JOIN reports
    ON reports.accession_no = listed.accession_no AND reports.cik = listed.cik AND reports.role = 'primary_filer';
