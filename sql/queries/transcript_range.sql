-- summary: Earnings calls of a company since a start, newest first.
-- agent: transcript
-- reads: transcripts, call_transcripts
-- ids: transcript_id
-- hindsight: company_name, transcript_id, evidence
-- param ticker ticker required | Ticker of the company.
-- param start_date moment required | First instant, or first New York day.
-- column company_name
-- column conference_datetime
-- column fiscal_quarter
-- column fiscal_year
-- column transcript_id
-- column source | Dataset of the call: transcripts, or call_transcripts if the former does not have it.
-- column evidence
SELECT
    available_at,
    available_at_source,
    company_name,
    conference_datetime,
    fiscal_quarter,
    fiscal_year,
    transcript_id,
    source,
    evidence
FROM calls_of($company)
WHERE began >= $start_date::TIMESTAMPTZ
ORDER BY began DESC, transcript_id
