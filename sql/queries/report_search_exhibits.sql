-- summary: Exhibits of a company's filings that match a full-text query, best match first.
-- agent: report
-- reads: exhibits, reports
-- ids: accessionNo, exhibit_number
-- param ticker ticker optional | Ticker of the company; default: every company.
-- param query text required | Words (any may match), "quoted phrases", AND to require both sides.
-- param limit int = 20 | Maximum number of rows.
-- column accessionNo
-- column formType | EDGAR form type.
-- column exhibit_number | Exhibit number as filed.
-- column content_preview
-- column cik | Central Index Key of the filing company, 10 digits, zero-padded.
-- column evidence
-- column ft_score
WITH
    filings AS (
        SELECT accession_no
        FROM reports
        WHERE role = 'primary_filer' AND is_about_any($company, cik, tickers, available_at)
    ),
    corpus AS (
        SELECT
            struct_pack(
                available_at,
                available_at_source,
                "accessionNo" := accession_no,
                "formType" := form_type,
                exhibit_number,
                content_preview := left(content, 500),
                cik,
                evidence
            ) AS doc,
            concat_ws(chr(10), exhibit_number, content) AS text
        FROM exhibits_of($company)
        WHERE accession_no IN (FROM filings)
    )
SELECT unnest(doc), score AS ft_score
FROM bm25('corpus', $query)
ORDER BY score DESC, doc.available_at DESC, doc."accessionNo", doc.exhibit_number
LIMIT $limit
