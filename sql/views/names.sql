-- What each company is called by the newest statement that was public: one row a company and kind.
-- Of several statements of one key the newest that was public counts; names_revisions holds all of them.
CREATE VIEW names AS
SELECT
    available_at, available_at_source, cik, kind, name, all_names, since, accession_no, source, statement, evidence
FROM names_revisions
QUALIFY row_number() OVER (
    PARTITION BY cik, kind
    ORDER BY available_at DESC, source DESC, statement DESC, evidence DESC
) = 1;
