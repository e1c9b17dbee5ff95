-- The words of texts and queries. A word is a run of letters and digits, lower-cased; nothing is stopped or stemmed.

CREATE MACRO search_words(text) AS regexp_extract_all(lower(text::VARCHAR), '[\p{L}\p{N}]+');

-- How often a word stands in a lower-cased text. Splitting at the word is many times faster than listing all words;
-- a piece that ends or starts with a letter or digit, or is empty, means that the match was part of a longer word.
CREATE MACRO search_count(text, word) AS
    CASE WHEN contains(text, word) THEN
        list_transform(
            [string_split(' ' || text || ' ', word)],
            lambda parts: len(list_filter(
                range(1, len(parts)),
                lambda i: regexp_matches(right(parts[i], 1), '[^\p{L}\p{N}]')
                    AND regexp_matches(left(parts[i + 1], 1), '[^\p{L}\p{N}]')
            ))
        )[1]
    ELSE 0 END;

-- What a query asks for: words and "quoted phrases", any of which may match, or all of those joined by AND.
-- [{clause, words}]: a text matches when some clause has all its entries, each a word or consecutive words. Without a
-- word nothing could ever match, which is an error and no empty answer.
CREATE MACRO search_pieces(query) AS
    list_filter(
        regexp_extract_all(query::VARCHAR, '"[^"]*"|[^\s"]+'),
        lambda piece: piece <> 'OR' AND len(search_words(piece)) > 0
    );

CREATE MACRO search_clauses(query) AS
    list_transform(
        [CASE
            WHEN len(list_filter(search_pieces(query), lambda piece: piece <> 'AND')) = 0
                THEN error('query: no word to search for; give letters or digits')
            ELSE search_pieces(query)
        END],
        lambda pieces: list_transform(
            list_filter(range(1, len(pieces) + 1), lambda i: pieces[i] <> 'AND'),
            lambda i: {
                'clause': len(list_filter(
                    range(1, i + 1), lambda j: pieces[j] <> 'AND' AND (j = 1 OR pieces[j - 1] <> 'AND')
                )),
                'words': search_words(pieces[i])
            }
        )
    )[1];

-- The words of all clauses, each once.
CREATE MACRO search_terms(clauses) AS
    list_sort(list_distinct(flatten(list_transform(clauses, lambda entry: entry.words))));

-- Whether some clause has all its entries in a text, given how often each of the query's terms stands in it.
CREATE MACRO search_matches(text, clauses, terms, counts) AS
    len(list_filter(
        list_distinct(list_transform(clauses, lambda entry: entry.clause)),
        lambda clause: NOT list_contains(
            list_transform(
                list_filter(clauses, lambda entry: entry.clause = clause),
                lambda entry: CASE
                    WHEN list_min(list_transform(entry.words, lambda word: counts[list_position(terms, word)])) = 0
                        THEN false
                    WHEN len(entry.words) = 1 THEN true
                    ELSE contains(
                        ' ' || array_to_string(search_words(text), ' ') || ' ',
                        ' ' || array_to_string(entry.words, ' ') || ' '
                    )
                END
            ),
            false
        )
    )) > 0;

-- BM25 (k1 = 1.2, b = 0.75) over a corpus: a view, or a common table expression of the caller, with `doc` (any type)
-- and `text`. Gives the matching documents and their scores, unordered.
--
-- Every statistic (documents, mean length, documents with a word) is of the corpus, so of rows the session has, and no
-- score can depend on a text that is not public yet. Lengths are in characters: counting words would mean splitting
-- every text. Sums are of integers, and per document in the order of the words, so that scores do not depend on how
-- rows lie in files.

CREATE MACRO bm25(corpus, query) AS TABLE
WITH
    asked AS MATERIALIZED (SELECT clauses, search_terms(clauses) AS terms FROM (SELECT search_clauses(query) AS clauses)),
    counted AS MATERIALIZED (
        SELECT doc, characters, counts, search_matches(text, clauses, terms, counts) AS matches
        FROM (
            SELECT
                doc,
                text,
                length(text) AS characters,
                clauses,
                terms,
                list_transform(terms, lambda word: search_count(text, word)) AS counts
            FROM (SELECT doc, lower(coalesce(text, '')) AS text FROM query_table(corpus)), asked
        )
    ),
    size AS (SELECT count(*) AS documents, sum(characters) / count(*) AS mean FROM counted),
    holding AS (
        SELECT i, count(*) FILTER (times > 0) AS documents
        FROM (SELECT unnest(range(1, len(counts) + 1)) AS i, unnest(counts) AS times FROM counted)
        GROUP BY i
    ),
    weights AS (
        SELECT list(ln(1 + (size.documents - holding.documents + 0.5) / (holding.documents + 0.5)) ORDER BY i) AS weight
        FROM holding, size
    )
SELECT
    doc,
    round(list_sum(list_transform(
        range(1, len(weight) + 1),
        lambda i: weight[i] * counts[i] * 2.2 / (counts[i] + 1.2 * (0.25 + 0.75 * characters / mean))
    )), 6) AS score
FROM counted, size, weights
WHERE matches;
