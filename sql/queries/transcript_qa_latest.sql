-- summary: The questions and answers of a company's newest earnings call, in order.
-- agent: transcript
-- reads: transcripts, qa_exchanges
-- param ticker ticker required | Ticker of the company.
-- column sequence | Place in the call, from 0.
-- column questioner | Who asked.
-- column responders | Who answered, joined by commas.
-- column exchanges | Questions and answers in order, as a JSON array.
-- column conference_datetime | Start of the call.
WITH
    newest AS (
        SELECT transcript_id
        FROM transcripts
        WHERE ticker = $ticker
        ORDER BY conference_datetime DESC, transcript_id
        LIMIT 1
    )
SELECT available_at, available_at_source, sequence, questioner, responders, exchanges, conference_datetime
FROM qa_exchanges_of($ticker)
WHERE transcript_id IN (FROM newest)
ORDER BY sequence
