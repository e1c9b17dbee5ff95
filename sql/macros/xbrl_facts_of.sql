-- reads: xbrl_facts, sec_facts
-- The facts about one company of every source, each once: as a periodic report stated it last, else as any filing did.
-- Proxy statements repeat a year's figures, at times in another scale or sign.
CREATE MACRO xbrl_facts_of(wanted) AS TABLE
SELECT * EXCLUDE (company, content_hash)
FROM all_facts([wanted])
QUALIFY row_number() OVER (
    PARTITION BY cik, concept, unit, period_type, period_start, period_end, dimensions, members
    ORDER BY
        is_periodic(form_type) DESC,
        available_at DESC,
        accepted_at DESC NULLS LAST,
        accession_no DESC,
        evidence DESC,
        content_hash DESC
) = 1;
