-- summary: Concepts a company reports that match a full-text query, each with its newest fact, best match first.
-- agent: xbrl
-- reads: xbrl_facts, sec_facts
-- ids: concept_qname, accessionNo
-- param ticker ticker required | Ticker of the company.
-- param query text required | Words (any may match), "quoted phrases", AND to require both sides.
-- param limit int = 20 | Maximum number of rows.
-- column accessionNo | Accession number of the newest filing that states the fact.
-- column formType | EDGAR form type of that filing.
-- column concept_qname
-- column concept_label
-- column value
-- column period_start
-- column period_end
-- column period_type
-- column unit | Unit of the value, such as iso4217:USD or shares.
-- column dimensions
-- column members
-- column cik | Central Index Key of the company, 10 digits, zero-padded.
-- column evidence
-- column ft_score [score] | BM25 score within the company's concepts; compare it only within one answer.
WITH
    newest AS (
        SELECT *
        FROM xbrl_facts_of($company)
        QUALIFY row_number() OVER (
            PARTITION BY concept
            ORDER BY available_at DESC, accession_no DESC, member_count, period_end DESC, period_start DESC, unit, members
        ) = 1
    ),
    corpus AS (
        SELECT
            struct_pack(
                available_at,
                available_at_source,
                "accessionNo" := accession_no,
                "formType" := form_type,
                concept_qname := concept,
                concept_label := label,
                value,
                period_start,
                period_end,
                period_type,
                unit,
                dimensions,
                members,
                cik,
                evidence
            ) AS doc,
            concat_ws(chr(10), label, concept) AS text
        FROM newest
    )
SELECT unnest(doc), score AS ft_score
FROM bm25('corpus', $query)
ORDER BY score DESC, doc.concept_qname
LIMIT $limit
