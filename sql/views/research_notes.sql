-- Research notes in the newest text received, one row per note.
-- Of several revisions of one key the newest that was public counts; research_notes_revisions holds all of them.
CREATE VIEW research_notes AS
SELECT
    available_at, available_at_source, note, publisher, format, title, text, pages, evidence
FROM research_notes_revisions
QUALIFY row_number() OVER (
    PARTITION BY note
    ORDER BY available_at DESC, evidence DESC
) = 1;
