-- summary: The newest research notes received, of one publisher or all, with the beginning of their text.
-- agent: macro
-- reads: research_notes
-- ids: note
-- param publisher text optional | Folder into which the notes were dropped.
-- param characters int = 1000 | Maximum number of characters of each text.
-- param limit int = 10 | Maximum number of notes.
-- column note
-- column publisher
-- column title | Its title.
-- column text
-- column evidence
SELECT available_at, available_at_source, note, publisher, title, left(text, $characters) AS text, evidence
FROM research_notes
WHERE $publisher::VARCHAR IS NULL OR publisher = $publisher
ORDER BY available_at DESC, note
LIMIT $limit
