-- summary: Sections of a company's filings that match a full-text query, best match first.
-- agent: report
-- reads: report_sections, reports
-- ids: accessionNo, section_name
-- param ticker ticker optional | Ticker of the company; default: every company.
-- param query text required | Words (any may match), "quoted phrases", AND to require both sides.
-- param limit int = 20 | Maximum number of rows.
-- column accessionNo
-- column formType | EDGAR form type.
-- column section_name | Name of the item, without spaces between its words.
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
                section_name,
                content_preview := left(content, 500),
                cik,
                evidence
            ) AS doc,
            concat_ws(chr(10), section_name, content) AS text
        FROM report_sections_of($company)
        WHERE accession_no IN (FROM filings)
    )
SELECT unnest(doc), score AS ft_score
FROM bm25('corpus', $query)
ORDER BY score DESC, doc.available_at DESC, doc."accessionNo", doc.section_name
LIMIT $limit
