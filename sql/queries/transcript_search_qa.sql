-- summary: Questions, answers and speakers' turns of earnings calls that match a full-text query, best match first.
-- agent: transcript
-- reads: transcripts, qa_exchanges, call_transcripts
-- ids: transcript_id, sequence
-- hindsight: transcript_id, evidence
-- param ticker ticker optional | Ticker of the company; default: every company.
-- param query text required | Words (any may match), "quoted phrases", AND to require both sides.
-- param limit int = 20 | Maximum number of rows.
-- column sequence
-- column questioner
-- column responders
-- column exchanges
-- column conference_datetime
-- column transcript_id
-- column source | Dataset of the text: qa_exchanges, or call_transcripts (turns) if the former does not have the call.
-- column evidence
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
                source,
                evidence
            ) AS doc,
            text
        FROM exchanges_of($company)
    )
SELECT unnest(doc), score AS ft_score
FROM bm25('corpus', $query)
ORDER BY score DESC, doc.available_at DESC, doc.transcript_id, doc.sequence
LIMIT $limit
