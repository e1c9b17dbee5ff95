-- summary: The newest research notes received, of any publisher or of one; their text, cut where it is long.
-- agent: macro
-- reads: research_notes
-- ids: note
-- param publisher text optional | Folder the notes were dropped in.
-- param characters int = 1000 | How much of each text.
-- param limit int = 10 | How many notes at most.
-- column note | Name of the note.
-- column publisher | Folder it was dropped in.
-- column title | Its title.
-- column text | The beginning of its text.
-- column evidence | What the row is taken from.
SELECT available_at, available_at_source, note, publisher, title, left(text, $characters) AS text, evidence
FROM research_notes
WHERE $publisher::VARCHAR IS NULL OR publisher = $publisher
ORDER BY available_at DESC, note
LIMIT $limit
