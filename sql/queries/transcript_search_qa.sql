-- summary: Questions and answers of a company's earnings calls that match a full-text query, best match first.
-- agent: transcript
-- reads: qa_exchanges
-- ids: transcript_id, sequence
-- hindsight: transcript_id, evidence
-- param ticker ticker optional | Ticker of the company; default: every company.
-- param query text required | Words (any may match), "quoted phrases", AND to require both sides.
-- param limit int = 20 | Maximum number of rows.
-- column sequence [place] | Position in the call, from 0.
-- column questioner | Who asked.
-- column responders | Who answered, joined by commas.
-- column exchanges | Questions and answers in order, as a JSON array.
-- column conference_datetime | Start of the call.
-- column transcript_id | Id of the call.
-- column evidence | Source record of the row.
-- column ft_score [score] | BM25 score within the exchanges searched; compare it only within one answer.
WITH
    corpus AS (
        SELECT
            struct_pack(
                available_at,
                available_at_source,
                sequence,
                questioner,
                responders,
                exchanges,
                conference_datetime,
                transcript_id,
                evidence
            ) AS doc,
            array_to_string(exchanges ->> '$[*].text', chr(10)) AS text
        FROM qa_exchanges_of($company)
    )
SELECT unnest(doc), score AS ft_score
FROM bm25('corpus', $query)
ORDER BY score DESC, doc.available_at DESC, doc.transcript_id, doc.sequence
LIMIT $limit
