-- title: Earnings calls
-- reads: transcripts, call_transcripts
WITH
    first AS (
        SELECT transcript_id, min(available_at) AS first_public FROM lake.transcripts GROUP BY ALL
        UNION ALL
        SELECT call_id(exchange, ticker, fiscal_year, fiscal_quarter), min(available_at)
        FROM lake.call_transcripts
        GROUP BY ALL
    )
SELECT
    source AS dataset, transcript_id, fiscal_year, fiscal_quarter, conference_datetime, available_at,
    available_at_source, evidence, first_public
FROM calls_of($company)
JOIN first USING (transcript_id)
ORDER BY began DESC, transcript_id DESC
