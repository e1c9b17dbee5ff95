-- reads: news
-- The articles about one company, or about all when the ticker is null, that match a query best: `most` of them and all
-- that are as good as the last one, with their scores by BM25. Articles in an index are found by their words, all others
-- are read (full_text.sql), as are one company's; the answer is the same. What is gathered in a list is few, which no
-- planner can tell.
CREATE MACRO search_news(query, wanted, most) AS TABLE
WITH
    corpus AS (
        SELECT
            struct_pack(available_at, available_at_source, id, title, teaser, created, evidence) AS doc,
            concat_ws(chr(10), title, teaser, body) AS text
        FROM (
            FROM lake.news_unindexed
            WHERE wanted::VARCHAR IS NULL
            UNION ALL
            FROM news_of(wanted)
            WHERE wanted::VARCHAR IS NOT NULL
        )
    ),
    asked AS MATERIALIZED (FROM search_asked(query)),
    term AS MATERIALIZED (SELECT unnest(terms) AS word, unnest(range(1, len(terms) + 1)) AS i FROM asked),
    counted AS MATERIALIZED (FROM search_counted('corpus', 'asked')),
    stands AS MATERIALIZED (
        SELECT file, row, i, times, characters
        FROM lake.news_words JOIN term USING (word)
        WHERE wanted::VARCHAR IS NULL
    ),
    posted AS MATERIALIZED (FROM stands ANTI JOIN lake.news_gone USING (file, row)),
    size AS (
        SELECT sum(documents) AS documents, sum(characters) / sum(documents) AS mean
        FROM (
            SELECT count(*) AS documents, sum(characters) AS characters FROM counted
            UNION ALL
            SELECT documents, characters FROM lake.news_size WHERE wanted::VARCHAR IS NULL
        )
    ),
    holding AS (
        SELECT i, sum(documents) AS documents
        FROM (
            SELECT i, 0 AS documents FROM term
            UNION ALL
            SELECT i, count(*) FROM posted GROUP BY i
            UNION ALL
            SELECT i, count(*)
            FROM (SELECT unnest(range(1, len(counts) + 1)) AS i, unnest(counts) AS times FROM counted)
            WHERE times > 0
            GROUP BY i
        )
        GROUP BY i
    ),
    weights AS MATERIALIZED (
        SELECT any_value(mean) AS mean, list(search_weight(size.documents, holding.documents) ORDER BY i) AS weight
        FROM holding, size
    ),
    summed AS MATERIALIZED (
        SELECT file, row, list(i) AS there, sum(search_part(weight[i], times, characters, mean)) AS score
        FROM posted, weights
        GROUP BY file, row
    ),
    ordered AS (  -- the sum of two is the same in either order, that of more is not
        SELECT file, row, list_sum(list(search_part(weight[i], times, characters, mean) ORDER BY i)) AS score
        FROM
            posted
            JOIN (SELECT unnest(list(struct_pack(file, row)), recursive := true) FROM summed WHERE len(there) > 2)
                USING (file, row),
            weights
        GROUP BY file, row
    ),
    scored AS MATERIALIZED (
        SELECT file, row, there, round(coalesce(ordered.score, summed.score), 6) AS score
        FROM summed LEFT JOIN ordered USING (file, row)
    ),
    phrased AS (
        SELECT file, row, lower(concat_ws(chr(10), title, teaser, body)) AS text
        FROM lake.news_indexed
        JOIN (
            SELECT unnest(list(struct_pack(file, row)), recursive := true)
            FROM scored, asked
            WHERE phrased
        ) USING (file, row)
    ),
    best AS MATERIALIZED (
        SELECT file, row, NULL AS doc, score
        FROM scored LEFT JOIN phrased USING (file, row), asked
        WHERE search_matches(text, clauses, there)
        UNION ALL
        SELECT NULL, NULL, doc, search_score(weight, counts, characters, mean)
        FROM counted, weights
        WHERE matches
    ),
    least AS MATERIALIZED (SELECT min(score) AS score FROM (SELECT score FROM best ORDER BY score DESC LIMIT most)),
    shown AS MATERIALIZED (SELECT best.* FROM best JOIN least ON best.score >= least.score)
SELECT doc, score FROM shown WHERE doc IS NOT NULL
UNION ALL
SELECT struct_pack(available_at, available_at_source, id, title, teaser, created, evidence), score
FROM lake.news_indexed
JOIN (SELECT unnest(list(struct_pack(file, row, score)), recursive := true) FROM shown WHERE doc IS NULL)
    USING (file, row);
