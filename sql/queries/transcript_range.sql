-- summary: Earnings calls of a company since a start, newest first.
-- agent: transcript
-- reads: transcripts, call_transcripts
-- ids: transcript_id
-- hindsight: company_name, transcript_id, evidence
-- param ticker ticker required | Ticker of the company.
-- param start_date moment required | First instant, or first New York day.
-- column company_name | Company name as the provider spells it.
-- column conference_datetime | Start of the call.
-- column fiscal_quarter [quarter] | Fiscal quarter the call reports on; unreliable upstream.
-- column fiscal_year [year] | Fiscal year the call reports on; unreliable upstream.
-- column transcript_id | Id of the call.
-- column source | Dataset of the call: transcripts, or call_transcripts if the former does not have it.
-- column evidence | Source record of the row.
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
