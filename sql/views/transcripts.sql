-- Earnings calls, one row per ticker and starting minute.
-- Of several revisions of one key the newest that was public counts; transcripts_revisions holds all of them.
CREATE VIEW transcripts AS
SELECT
    available_at, available_at_source, transcript_id, ticker, company_name, conference_datetime, fiscal_year,
    fiscal_quarter, calendar_year, calendar_quarter, form_type, speakers, qa_section, full_text, evidence
FROM transcripts_revisions
QUALIFY row_number() OVER (
    PARTITION BY transcript_id
    ORDER BY available_at DESC, evidence DESC
) = 1;
