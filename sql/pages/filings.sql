-- title: Filings
-- reads: reports, sec_filings
WITH
    told AS (
        SELECT
            'reports' AS dataset, accession_no, form_type, items, period_of_report, available_at, available_at_source,
            evidence, content_hash
        FROM lake.reports
        WHERE list_contains(company_ciks($company), cik)
        UNION ALL
        SELECT
            'sec_filings', accession_no, form_type, items, report_date, available_at, available_at_source, evidence,
            content_hash
        FROM lake.sec_filings
        WHERE list_contains(company_ciks($company), cik)
    )
SELECT * EXCLUDE (content_hash), min(available_at) OVER (PARTITION BY dataset, accession_no) AS first_public
FROM told
QUALIFY row_number() OVER (
    PARTITION BY accession_no ORDER BY dataset, available_at DESC, evidence DESC, content_hash DESC
) = 1
ORDER BY first_public DESC, accession_no DESC
