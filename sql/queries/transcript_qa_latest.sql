-- summary: The questions and answers, or the speakers' turns, of a company's newest earnings call, in order.
-- agent: transcript
-- reads: transcripts, qa_exchanges, call_transcripts
-- ids: transcript_id, sequence
-- hindsight: transcript_id, evidence
-- param ticker ticker required | Ticker of the company.
-- column sequence [place] | Position in the call, from 0.
-- column questioner | Who asked; null for a turn, whose speaker is in exchanges.
-- column responders | Who answered, joined by commas; null for a turn.
-- column exchanges | Questions and answers in order, or one speaker's turn, as a JSON array.
-- column conference_datetime | Start of the call.
-- column transcript_id | Id of the call.
-- column source | Dataset of the text: qa_exchanges, or call_transcripts (turns) if the former does not have the call.
-- column evidence | Source record of the row.
WITH
    newest AS (SELECT transcript_id FROM calls_of($company) ORDER BY began DESC, transcript_id LIMIT 1)
SELECT
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
FROM exchanges_of($company)
WHERE transcript_id IN (FROM newest)
ORDER BY sequence
