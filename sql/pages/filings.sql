-- title: Filings
-- reads: reports, sec_filings
WITH
    newest AS (
        SELECT
            'reports' AS dataset, accession_no, form_type, items, period_of_report, available_at, available_at_source,
            evidence
        FROM reports
        WHERE list_contains(company_ciks($company), cik)
        UNION ALL
        SELECT
            'sec_filings', accession_no, form_type, items, report_date, available_at, available_at_source, evidence
        FROM sec_filings
        WHERE list_contains(company_ciks($company), cik)
    ),
    first_statements AS (
        SELECT 'reports' AS dataset, accession_no, min(available_at) AS first_public
        FROM lake.reports
        SEMI JOIN newest USING (accession_no)
        GROUP BY ALL
        UNION ALL
        SELECT 'sec_filings', accession_no, min(available_at)
        FROM lake.sec_filings
        SEMI JOIN newest USING (accession_no)
        GROUP BY ALL
    )
FROM newest
JOIN first_statements USING (dataset, accession_no)
QUALIFY row_number() OVER (PARTITION BY accession_no ORDER BY dataset, available_at DESC, evidence DESC) = 1
ORDER BY first_public DESC, accession_no DESC
