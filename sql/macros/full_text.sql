-- The words of texts and queries. A word is a run of letters and digits in lower case. There are no stop words and
-- there is no stemming.

CREATE MACRO search_words(text) AS regexp_extract_all(lower(text::VARCHAR), '[\p{L}\p{N}]+');

-- The words of a text in order, with two spaces around each.
CREATE MACRO search_spelled(text) AS '  ' || array_to_string(search_words(text), '  ') || '  ';

-- How often a word occurs in a lower-case text. Splitting at the word is many times faster than listing all words. If a
-- piece is empty, or ends or starts with a letter or digit, the match was part of a longer word.
CREATE MACRO search_count(text, word) AS
    CASE WHEN contains(text, word) THEN
        list_transform(
            [string_split(' ' || text || ' ', word)],
            lambda parts: len(list_filter(
                list_transform(range(1, len(parts)), lambda i: right(parts[i], 1) || left(parts[i + 1], 1)),
                lambda around: len(around) = 2 AND NOT regexp_matches(around, '[\p{L}\p{N}]')
            ))
        )[1]
    ELSE 0 END;

-- Parse a query into one row. It consists of words and "quoted phrases"; any may match, but those joined by AND must
-- all match. terms: its distinct words, sorted. clauses: [{terms, phrases}]; a text matches if it has all the words and
-- phrases of some clause. A clause contains its words as positions in `terms`, and its phrases as `search_spelled` writes
-- texts. A query without words raises an error, because no text can match it.
CREATE MACRO search_asked(query) AS TABLE
WITH
    piece AS (
        SELECT list_filter(
            list_transform(
                regexp_extract_all(query::VARCHAR, '"[^"]*"|[^\s"]+'),
                lambda piece: struct_pack(piece, words := search_words(piece))
            ),
            lambda one: one.piece <> 'OR' AND len(one.words) > 0
        ) AS pieces
    ),
    entry AS (
        SELECT list_filter(
            list_transform(
                pieces,
                lambda one, i: struct_pack(
                    piece := one.piece, words := one.words, joined := i > 1 AND pieces[i - 1].piece = 'AND'
                )
            ),
            lambda one: one.piece <> 'AND'
        ) AS entries
        FROM piece
    ),
    term AS (
        SELECT
            list_transform(entries, lambda one: one.words) AS said,
            list_filter(range(1, len(entries) + 1), lambda i: i = 1 OR NOT entries[i].joined) AS firsts,
            list_sort(list_distinct(flatten(said))) AS terms
        FROM entry
    ),
    clause AS (
        SELECT
            list_transform(firsts, lambda first, i: said[first:coalesce(firsts[i + 1] - 1, len(said))]) AS clauses,
            list_filter(said, lambda words: len(words) > 1) <> [] AS phrased,
            terms
        FROM term
    )
SELECT
    list_transform(
        clauses,
        lambda clause: struct_pack(
            terms := list_distinct(list_transform(flatten(clause), lambda word: list_position(terms, word)::BIGINT)),
            phrases := list_distinct(list_transform(
                list_filter(clause, lambda words: len(words) > 1),
                lambda words: '  ' || array_to_string(words, '  ') || '  '
            ))
        )
    ) AS clauses,
    terms,
    phrased
FROM clause
WHERE CASE WHEN len(terms) = 0 THEN error('query: no word to search for; give letters or digits') ELSE true END;

-- Whether a text has all words and phrases of some clause. spelled: its words, which are needed only for phrases. there:
-- the positions in `terms` of the words that occur in the text.
CREATE MACRO search_matches(spelled, clauses, there) AS
    len(list_filter(
        clauses,
        lambda clause: CASE
            WHEN NOT list_has_all(there, clause.terms) THEN false
            WHEN len(clause.phrases) = 0 THEN true
            ELSE len(list_filter(
                clause.phrases,
                lambda phrase: NOT contains(spelled, phrase)
            )) = 0
        END
    )) > 0;

-- The positions of the words that occur.
CREATE MACRO search_there(counts) AS list_filter(range(1, len(counts) + 1), lambda i: counts[i] > 0);

-- The length of each text of a corpus, how often each of the query's terms occurs in it, and whether it matches.
-- corpus: a view or a common table expression of the caller, with `doc` (any type) and `text`. asked: a table with the
-- result of `search_asked`.
CREATE MACRO search_counted(corpus, asked) AS TABLE
SELECT doc, characters, counts, search_matches(search_spelled(text), clauses, search_there(counts)) AS matches
FROM (
    SELECT
        doc,
        text,
        length(text) AS characters,
        clauses,
        list_transform(terms, lambda word: search_count(text, word)) AS counts
    FROM (SELECT doc, lower(coalesce(text, '')) AS text FROM query_table(corpus)), query_table(asked)
);

-- What searches need of a lower-case text: its length, how often each word occurs, and its words in order.
CREATE MACRO search_split(text) AS struct_pack(
    characters := length(text), times := list_histogram(search_words(text)), spelled := search_spelled(text)
);

-- The same of a corpus with `doc`, and `characters`, `times` and `spelled` (from `search_split`) instead of texts.
CREATE MACRO search_counted_split(corpus, asked) AS TABLE
SELECT doc, characters, counts, search_matches(spelled, clauses, search_there(counts)) AS matches
FROM (
    SELECT *, list_transform(terms, lambda word: coalesce(times[word], 0)::BIGINT) AS counts
    FROM query_table(corpus), query_table(asked)
);

-- BM25 (k1 = 1.2, b = 0.75). Every statistic (documents, mean length, documents with a word) covers only the texts
-- searched. These are rows of the session, so a score can't depend on a text that is not public yet. Lengths are in
-- characters. Scores are summed in the order of the words, so that they don't depend on how rows are stored in files.

-- The weight of a word that occurs in `holding` of the documents.
CREATE MACRO search_weight(documents, holding) AS ln(1 + (documents - holding + 0.5) / (holding + 0.5));

-- The contribution of a word to a text's score.
CREATE MACRO search_part(weight, times, characters, mean) AS
    weight * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * characters::BIGINT / mean));

CREATE MACRO search_score(weight, counts, characters, mean) AS
    round(list_sum(list_transform(
        range(1, len(weight) + 1), lambda i: search_part(weight[i], counts[i], characters, mean)
    )), 6);

-- The matching documents of a corpus and their scores, unordered.
CREATE MACRO bm25(corpus, query) AS TABLE
WITH
    asked AS MATERIALIZED (FROM search_asked(query)),
    counted AS MATERIALIZED (FROM search_counted(corpus, 'asked')),
    size AS (SELECT count(*) AS documents, sum(characters) / count(*) AS mean FROM counted),
    holding AS (
        SELECT i, count(*) FILTER (times > 0) AS documents
        FROM (SELECT unnest(range(1, len(counts) + 1)) AS i, unnest(counts) AS times FROM counted)
        GROUP BY i
    ),
    weights AS (
        SELECT list(search_weight(size.documents, holding.documents) ORDER BY i) AS weight
        FROM holding, size
    )
SELECT doc, search_score(weight, counts, characters, mean) AS score
FROM counted, size, weights
WHERE matches;

-- Macros for the index of words (sql/indexed), which has 64 texts per block, one bit each.

-- The largest amount that a word can add to the score of a text of a block. weakness: the block's minimum of (0.3 + 0.9
-- * characters / mean) / times.
CREATE MACRO search_most(weight, weakness) AS weight * 2.2 / (1 + weakness);

-- How often a word occurs in one text of a block. letters: for each text that has the word, a character whose code
-- point encodes the count.
CREATE MACRO search_times(texts, letters, bit) AS
    CASE WHEN texts >> bit & 1 = 1 THEN
        list_transform(
            [ord(letters[bit_count(texts & ((1::UBIGINT << bit) - 1)) + 1])],
            lambda letter: CASE WHEN letter < 55296 THEN letter ELSE letter - 2048 END
        )[1]
    ELSE 0 END;

-- The total length of the texts whose bits are set.
CREATE MACRO search_characters(texts, characters) AS
    coalesce(list_sum(list_filter(characters, lambda long, place: texts >> (place - 1)::UBIGINT & 1 = 1)), 0);
