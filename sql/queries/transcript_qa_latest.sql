-- summary: The questions and answers, or the speakers' turns, of a company's newest earnings call, in order.
-- agent: transcript
-- reads: transcripts, qa_exchanges, call_transcripts
-- ids: transcript_id, sequence
-- hindsight: transcript_id, evidence
-- param ticker ticker required | Ticker of the company.
-- column sequence
-- column questioner
-- column responders
-- column exchanges
-- column conference_datetime
-- column transcript_id
-- column source | Dataset of the text: qa_exchanges, or call_transcripts (turns) if the former does not have the call.
-- column evidence
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
