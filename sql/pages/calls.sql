-- title: Earnings calls
-- reads: transcripts
SELECT
    transcript_id, fiscal_year, fiscal_quarter, conference_datetime, available_at, available_at_source, evidence,
    min(available_at) OVER (PARTITION BY transcript_id) AS first_public
FROM lake.transcripts
WHERE is_about($company, NULL, [ticker], available_at)
QUALIFY row_number() OVER (
    PARTITION BY transcript_id ORDER BY available_at DESC, evidence DESC, content_hash DESC
) = 1
ORDER BY conference_datetime DESC, transcript_id DESC
