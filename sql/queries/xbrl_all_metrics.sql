-- summary: Every numeric total a company has reported, as stated by the newest periodic report, newest filing first.
-- agent: xbrl
-- reads: xbrl_facts, sec_facts
-- ids: accessionNo, concept_qname, unit, period_start, period_end
-- param ticker ticker required | Ticker of the company.
-- column accessionNo | Accession number of the newest periodic report that states the fact.
-- column formType | EDGAR form type of that filing.
-- column concept_qname
-- column concept_label
-- column value
-- column period_start
-- column period_end
-- column period_type
-- column unit | Unit of the value, such as iso4217:USD or shares.
-- column cik | Central Index Key of the company, 10 digits, zero-padded.
-- column source | Dataset of the fact: xbrl_facts, or sec_facts if the former does not state it.
-- column evidence
SELECT
    available_at,
    available_at_source,
    accession_no AS "accessionNo",
    form_type AS "formType",
    concept AS concept_qname,
    label AS concept_label,
    value,
    period_start,
    period_end,
    period_type,
    unit,
    cik,
    source,
    evidence
FROM xbrl_facts_of($company)
WHERE
    is_periodic(form_type)
    AND is_numeric
    AND member_count = 0
ORDER BY available_at DESC, accession_no DESC, concept, period_end DESC, period_start DESC, period_type, unit
