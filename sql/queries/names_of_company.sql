-- summary: What a company was called by every statement that was public, newest first.
-- agent: entity
-- reads: names
-- ids: cik, kind, statement
-- param ticker ticker required | Ticker of the company, of that time or of today; it is resolved to a CIK first.
-- column cik | Central Index Key, 10 digits, zero-padded.
-- column kind | company_name or ticker.
-- column name | The first of the names.
-- column all_names | Every name of that kind the statement gives.
-- column since | Day the name was first borne on, where the statement says so.
-- column source | Where it is stated.
-- column accession_no | Filing that states it, where it was one.
-- column statement | Statement that gives the names, as its source calls it.
-- column evidence | What the row is taken from.
SELECT available_at, available_at_source, cik, kind, name, all_names, since, source, accession_no, statement, evidence
FROM names_revisions
WHERE list_contains(company_ciks($company), cik)
ORDER BY available_at DESC, kind, source, statement
