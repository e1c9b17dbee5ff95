-- summary: For each ticker and instant, the reported values of the newest period that was public at that instant.
-- agent: helper
-- reads: xbrl_facts, sec_facts
-- ids: ticker, at, concept_qname, unit, months
-- param pairs pairs required | JSON array of {"ticker": …, "at": instant}; instants must not be after as_of.
-- param concepts texts required | Qualified names, such as us-gaap:Revenues.
-- param months int optional | Length of the period in months, such as 3 or 12; default: any length. 3 means a fiscal quarter, including one of 12 to 17 weeks, and 6, 9 and 12 likewise. Facts of one day have no length.
-- param forms forms = "periodic_first" | Forms whose figures are used: periodic_first (other forms only if no periodic report states the period), periodic (only 10-K, 10-Q, 20-F, 40-F and their variants) or any (the newest figure of any form).
-- column ticker
-- column at
-- column concept_qname | Qualified name.
-- column unit | Unit, such as iso4217:USD.
-- column months [months] | Length of the period; 3 means a fiscal quarter, including one of 12 to 17 weeks, and 6, 9 and 12 likewise. Null for a fact of one day.
-- column period_start
-- column period_end
-- column value [unit] | The value, as stated by the newest filing public at that instant.
-- column accessionNo | Accession number of that filing.
-- column formType | EDGAR form type of that filing.
-- column cik | Central Index Key of the company, 10 digits, zero-padded.
-- column source | Dataset of the fact: xbrl_facts, or sec_facts if the former does not state it.
-- column evidence
WITH
    events AS MATERIALIZED (FROM asof_pairs($pairs)),
    known AS MATERIALIZED (
        FROM asof_facts(pair_companies($pairs), $concepts::VARCHAR[], $forms)
        WHERE $months::INTEGER IS NULL OR months IS NULL OR months = $months
    ),
    series AS (SELECT DISTINCT company, concept, unit, span FROM known)
SELECT
    known.available_at,
    known.available_at_source,
    events.ticker,
    events.at,
    known.concept AS concept_qname,
    known.unit,
    known.months,
    known.period_start,
    known.period_end,
    known.value_number AS value,
    known.accession_no AS "accessionNo",
    known.form_type AS "formType",
    known.cik,
    known.source,
    known.evidence
FROM (FROM events JOIN series USING (company)) AS events
ASOF JOIN known
    ON known.company = events.company
    AND known.concept = events.concept
    AND known.unit = events.unit
    AND known.span = events.span
    AND events.at >= known.available_at
ORDER BY events.position, known.concept, known.unit, known.span
