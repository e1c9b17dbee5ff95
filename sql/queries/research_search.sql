-- summary: Research notes that match a full-text query, best match first.
-- agent: macro
-- reads: research_notes
-- ids: note
-- param query text required | Words (any may match), "quoted phrases", AND to require both sides.
-- param limit int = 10 | Maximum number of notes.
-- column note
-- column publisher
-- column title | Its title.
-- column text
-- column evidence
-- column ft_score [score] | BM25 score within the notes; compare it only within one answer.
WITH
    corpus AS (
        SELECT
            struct_pack(available_at, available_at_source, note, publisher, title, text := left(text, 1000), evidence) AS doc,
            concat_ws(chr(10), title, text) AS text
        FROM research_notes
    )
SELECT unnest(doc), score AS ft_score
FROM bm25('corpus', $query)
ORDER BY score DESC, doc.available_at DESC, doc.note
LIMIT $limit
