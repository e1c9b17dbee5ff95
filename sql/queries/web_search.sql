-- summary: Web pages and search results that match a full-text query, best match first.
-- agent: macro
-- reads: web_pages, web_results
-- ids: dataset, url
-- hindsight: evidence
-- param query text required | Words (any may match), "quoted phrases", AND to require both sides.
-- param limit int = 10 | Maximum number of results.
-- column dataset | web_pages, or web_results (a passage shown by a search).
-- column url | Address of the page.
-- column title | Its title.
-- column text | Beginning of its text, or the passage.
-- column evidence
-- column ft_score
WITH
    texts AS (
        SELECT available_at, available_at_source, 'web_pages' AS dataset, url, title, text, evidence FROM web_pages
        UNION ALL
        SELECT available_at, available_at_source, 'web_results', url, title, snippet, evidence FROM web_results
    ),
    corpus AS (
        SELECT
            struct_pack(
                available_at, available_at_source, dataset, url, title, text := left(text, 1000), evidence
            ) AS doc,
            concat_ws(chr(10), title, text) AS text
        FROM texts
    )
SELECT unnest(doc), score AS ft_score
FROM bm25('corpus', $query)
ORDER BY score DESC, doc.available_at DESC, doc.url
LIMIT $limit
