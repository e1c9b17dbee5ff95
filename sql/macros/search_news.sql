-- reads: news
-- The articles about one company, or all articles if the ticker is null, that match a query, with their BM25 scores.
-- Every text is read. A process with an index of words returns the same best `most` articles (sql/indexed/news.sql).
CREATE MACRO search_news(query, wanted, most) AS TABLE
WITH
    corpus AS (
        SELECT
            struct_pack(available_at, available_at_source, id, title, teaser, created, evidence) AS doc,
            concat_ws(chr(10), title, teaser, body) AS text
        FROM news_of(wanted)
    )
FROM bm25('corpus', query);
