-- What the articles of some blocks score that match by their words, which stand as `posted` says and weigh as `weights`
-- does (news_full_text.sql).
CREATE MACRO search_news_scored(chosen, posted, weights) AS TABLE
WITH
    block AS (
        SELECT file, block, chosen.texts, characters, mean, words
        FROM
            query_table(chosen) AS chosen
            JOIN (
                SELECT file, block, list(struct_pack(weight := weight[i], stored, times) ORDER BY i) AS words
                FROM
                    query_table(posted) SEMI JOIN query_table(chosen) AS chosen USING (file, block),
                    query_table(weights)
                GROUP BY file, block
            ) USING (file, block)
            JOIN (SELECT file, block, characters FROM lake.news_texts) USING (file, block),
            query_table(weights)
    ),
    text AS (SELECT *, unnest(range(64)::UBIGINT[]) AS bit FROM block)
SELECT
    file,
    (block * 64 + bit)::BIGINT AS row,
    round(list_sum(list_transform(
        words,
        lambda one: search_part(one.weight, search_times(one.stored, one.times, bit), characters[bit::BIGINT + 1], mean)
    )), 6) AS score
FROM text
WHERE texts >> bit & 1 = 1;

-- Those of scored articles that have the phrases which are `asked` for.
CREATE MACRO search_news_phrased(scores, asked) AS TABLE
WITH
    corpus AS (
        SELECT struct_pack(file, row, score) AS doc, concat_ws(chr(10), title, teaser, body) AS text
        FROM
            lake.news_indexed
            JOIN (SELECT unnest(list(struct_pack(file, row, score)), recursive := true) FROM query_table(scores)) USING (file, row)
    )
SELECT unnest(doc) FROM search_counted('corpus', asked) WHERE matches;
