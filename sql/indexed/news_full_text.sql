-- `news_full_text` over all companies, in a process that has an index of words (pitlake/session/visible/words.py). The
-- results match the query's to the last digit. Texts are handled in blocks of 64, with one bit per text. The
-- bits show how rare a word is and which texts match. A block is skipped if the highest score it could reach is below
-- the scores found in the most promising blocks. Few blocks remain. Phrases are searched first in the texts with the
-- best scores, and in other texts only if they could still be among the best. Words and files are written into
-- generated SQL, because DuckDB skips row groups only by constants.
CREATE OR REPLACE TEMP TABLE asked AS FROM search_asked($query) WHERE $company IS NULL;
SET VARIABLE standing = (
    SELECT
        string_agg(
            format(
                'SELECT {}::BIGINT AS i, file, block, texts, times, least FROM lake.news_words WHERE word = ''{}''',
                i,
                word
            ),
            ' UNION ALL '
        )
    FROM (SELECT unnest(range(1, len(terms) + 1)) AS i, unnest(terms) AS word FROM asked)
);
CREATE OR REPLACE TEMP TABLE stands AS FROM query(getvariable('standing'));
CREATE OR REPLACE TEMP TABLE posted AS
SELECT i, file, block, stands.texts & alive.texts AS texts, stands.texts AS stored, times, least, usual
FROM stands JOIN lake.news_texts AS alive USING (file, block)
WHERE stands.texts & alive.texts <> 0;
CREATE OR REPLACE TEMP TABLE counted AS FROM search_counted_split('lake.news_split', 'asked');
INSERT INTO counted FROM query(getvariable('elsewhere'));
CREATE OR REPLACE TEMP TABLE weights AS
WITH
    size AS (
        SELECT sum(documents) AS documents, sum(characters) / sum(documents) AS mean
        FROM (
            SELECT count(*) AS documents, sum(characters) AS characters FROM counted
            UNION ALL
            SELECT documents, characters FROM lake.news_size
        )
    ),
    holding AS (
        SELECT i, sum(documents) AS documents
        FROM (
            SELECT unnest(range(1, len(terms) + 1)) AS i, 0 AS documents FROM asked
            UNION ALL
            SELECT i, sum(bit_count(texts)) FROM posted GROUP BY i
            UNION ALL
            SELECT i, count(*)
            FROM (SELECT unnest(range(1, len(counts) + 1)) AS i, unnest(counts) AS times FROM counted)
            WHERE times > 0
            GROUP BY i
        )
        GROUP BY i
    )
SELECT any_value(mean) AS mean, list(search_weight(size.documents, holding.documents) ORDER BY i) AS weight
FROM holding, size;
CREATE OR REPLACE TEMP TABLE promising AS
WITH
    clause AS (
        SELECT clause, unnest(terms) AS i, len(terms) AS words
        FROM (SELECT unnest(range(len(clauses))) AS clause, unnest(clauses).terms AS terms FROM asked)
    ),
    matching AS (
        SELECT file, block, bit_and(texts) AS texts
        FROM posted JOIN clause USING (i)
        GROUP BY file, block, clause, words
        HAVING count(*) = words AND bit_and(texts) <> 0
    ),
    most AS (
        SELECT file, block, sum(search_most(weight[i], least * least(1, usual / mean))) AS score
        FROM posted, weights
        GROUP BY file, block
    )
SELECT file, block, bit_or(texts) AS texts, any_value(score) * 1.000001 + 0.000001 AS score
FROM matching JOIN most USING (file, block)
GROUP BY file, block;
CREATE OR REPLACE TEMP TABLE first AS FROM promising ORDER BY score DESC LIMIT 10 * $limit;
CREATE OR REPLACE TEMP TABLE read AS
SELECT doc, search_score(weight, counts, characters, mean) AS score FROM counted, weights WHERE matches;
CREATE OR REPLACE TEMP TABLE scored AS FROM search_news_scored('first', 'posted', 'weights');
CREATE OR REPLACE TEMP TABLE scores AS FROM scored ORDER BY score DESC LIMIT 10 * $limit;
SET VARIABLE matching = coalesce(search_news_phrased('scores', 'promising', 'asked'), 'FROM scores');
CREATE OR REPLACE TEMP TABLE found AS FROM query(getvariable('matching'));
CREATE OR REPLACE TEMP TABLE scores AS
FROM scored ANTI JOIN scores USING (file, row) WHERE score >= search_news_bar('found', 'read', $limit);
SET VARIABLE checking = (SELECT CASE WHEN count(*) = 0 THEN 'FROM scores' ELSE getvariable('matching') END FROM scores);
INSERT INTO found FROM query(getvariable('checking'));
SET VARIABLE bar = search_news_bar('found', 'read', $limit);
CREATE OR REPLACE TEMP TABLE rest AS
FROM promising ANTI JOIN first USING (file, block) WHERE score >= getvariable('bar');
SET VARIABLE scoring = (
    SELECT CASE WHEN count(*) = 0 THEN 'FROM found LIMIT 0' ELSE 'FROM search_news_scored(''rest'', ''posted'', ''weights'')' END
    FROM rest
);
CREATE OR REPLACE TEMP TABLE scores AS FROM query(getvariable('scoring')) WHERE score >= getvariable('bar');
SET VARIABLE checking = (SELECT CASE WHEN count(*) = 0 THEN 'FROM scores' ELSE getvariable('matching') END FROM scores);
INSERT INTO found FROM query(getvariable('checking'));
CREATE OR REPLACE TEMP TABLE shown AS FROM found QUALIFY rank() OVER (ORDER BY score DESC) <= $limit;
SET VARIABLE fetching = coalesce(
    search_news_reading('shown', 'shown', 'available_at, available_at_source, id, title, teaser, created, ''news'' AS source, evidence'),
    'SELECT unnest(doc), score FROM read WHERE false'
);
CREATE OR REPLACE TEMP TABLE fetched AS FROM query(getvariable('fetching'));
SELECT * RENAME (score AS ft_score)
FROM (SELECT unnest(doc), score FROM read UNION ALL FROM fetched)
ORDER BY score DESC, available_at DESC, id
LIMIT $limit
