-- reads: news, benzinga_news
-- The articles about one company, or all articles if the ticker is null, that match a query, with their BM25 scores.
-- Every text is read. A process with an index of words returns the same best `most` articles (sql/indexed/news.sql).
CREATE MACRO search_news(query, wanted, most) AS TABLE
WITH
    corpus AS (
        SELECT
            struct_pack(available_at, available_at_source, id, title, teaser, created, source, evidence) AS doc,
            text
        FROM articles_of(wanted)
    )
FROM bm25('corpus', query);
