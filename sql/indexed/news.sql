-- The articles without an index, split into words, so that searches need not split their texts.
CREATE TABLE lake.news_split AS
SELECT
    struct_pack(available_at, available_at_source, id, title, teaser, created, source := 'news', evidence) AS doc,
    unnest(search_split(text))
FROM (SELECT *, lower(concat_ws(chr(10), title, teaser, body)) AS text FROM lake.news_unindexed);

-- SQL that counts the query's words in Benzinga's articles, if there are any. Their view is not in the schema `lake`,
-- because names in a view are looked up in the view's own schema first.
SET VARIABLE elsewhere = (
    SELECT CASE WHEN count(*) = 0 THEN 'FROM counted LIMIT 0' ELSE 'FROM search_counted(''news_elsewhere'', ''asked'')' END
    FROM lake.benzinga_news
);
CREATE VIEW news_elsewhere AS
SELECT struct_pack(available_at, available_at_source, id, title, teaser, created, source, evidence) AS doc, text
FROM benzinga_of(NULL);

-- Score the matching articles of the blocks `chosen`. posted: which texts contain each word, and how often. weights:
-- the weight of each word. Both come from news_full_text.sql.
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

-- The score that an article must reach to be one of the best `most`; 0 as long as fewer articles were found.
CREATE MACRO search_news_bar(found, read, most) AS (
    SELECT CASE WHEN count(*) = most THEN min(score) ELSE 0 END
    FROM (
        SELECT score
        FROM (SELECT score FROM query_table(found) UNION ALL SELECT score FROM query_table(read))
        ORDER BY score DESC
        LIMIT most
    )
);

-- SQL that reads these columns and the scores of the articles `chosen` from the files of `within`. The SQL has one
-- SELECT per file, so that DuckDB reads only the row groups with these articles. Null if there is no file.
CREATE MACRO search_news_reading(chosen, within, listed) AS (
    SELECT
        string_agg(
            format(
                'SELECT {}, score FROM {} JOIN {} ON file_row_number = row WHERE file = {}', listed, source, chosen, file
            ),
            ' UNION ALL '
        )
    FROM lake.news_files
    WHERE file IN (SELECT file FROM query_table(within))
);

-- SQL that keeps the articles of `scores`, stored in the files of `within`, that contain the phrases of `asked`. Null
-- if the query has no phrases, or there is no file.
CREATE MACRO search_news_phrased(scores, within, asked) AS (
    SELECT
        'WITH corpus AS (SELECT struct_pack(file, row, score) AS doc, text FROM ('
        || search_news_reading(scores, within, 'file, row, concat_ws(chr(10), title, teaser, body) AS text')
        || ')) SELECT unnest(doc) FROM search_counted(''corpus'', ''' || asked || ''') WHERE matches'
    FROM query_table(asked)
    WHERE phrased
);
