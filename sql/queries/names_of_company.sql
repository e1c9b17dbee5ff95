-- summary: Names and tickers of a company in every public statement, newest first.
-- agent: entity
-- reads: names
-- ids: cik, kind, statement
-- param ticker ticker required | Past or present ticker of the company; it is first resolved to a CIK.
-- column cik | Central Index Key, 10 digits, zero-padded.
-- column kind | company_name or ticker.
-- column name | The first of the names.
-- column all_names | Every name of that kind in the statement.
-- column since | First day of the name, if the statement has it.
-- column source | Source of the statement.
-- column accession_no | Filing that contains the statement, if it was a filing.
-- column statement | Id of the statement in its source.
-- column age_days [days] | Days from the statement to as_of; nothing has proven the name since then.
-- column evidence
SELECT
    available_at, available_at_source, cik, kind, name, all_names, since, source, accession_no, statement,
    date_diff('day', available_at, as_of()) AS age_days, evidence
FROM names_revisions
WHERE list_contains(company_ciks($company), cik)
ORDER BY available_at DESC, kind, source, statement
