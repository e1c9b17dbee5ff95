-- summary: The questions and answers of a company's newest earnings call, in order.
-- agent: transcript
-- reads: transcripts, qa_exchanges
-- ids: transcript_id, sequence
-- hindsight: transcript_id, evidence
-- param ticker ticker required | Ticker of the company.
-- column sequence [place] | Position in the call, from 0.
-- column questioner | Who asked.
-- column responders | Who answered, joined by commas.
-- column exchanges | Questions and answers in order, as a JSON array.
-- column conference_datetime | Start of the call.
-- column transcript_id | Id of the call.
-- column evidence | Source record of the row.
WITH
    newest AS (
        SELECT transcript_id
        FROM transcripts
        WHERE is_about($company, NULL, [ticker], available_at)
        ORDER BY conference_datetime DESC, transcript_id
        LIMIT 1
    )
SELECT
    available_at,
    available_at_source,
    sequence,
    questioner,
    responders,
    exchanges,
    conference_datetime,
    transcript_id,
    evidence
FROM qa_exchanges_of($company)
WHERE transcript_id IN (FROM newest)
ORDER BY sequence
