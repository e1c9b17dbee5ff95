-- reads: xbrl_facts, sec_facts
-- The facts about one company from every source, each once: as last stated by a periodic report, otherwise by any
-- filing. Proxy statements are not periodic reports: they repeat a year's figures, sometimes in a different scale or
-- with a different sign. If the company is named only by a ticker, a fact that a later revision assigns to another
-- ticker is left out.
CREATE MACRO xbrl_facts_of(wanted) AS TABLE
SELECT * EXCLUDE (company, content_hash)
FROM all_facts([wanted]) AS stated
ANTI JOIN (
    FROM lake.xbrl_facts
    WHERE len(company_ciks(wanted)) = 0 AND NOT bears_ticker(wanted, [ticker], available_at)
) AS later
    ON stated.source = 'xbrl_facts'
    AND later.concept = stated.concept
    AND later.cik IS NOT DISTINCT FROM stated.cik
    AND later.unit IS NOT DISTINCT FROM stated.unit
    AND later.period_type IS NOT DISTINCT FROM stated.period_type
    AND later.period_start IS NOT DISTINCT FROM stated.period_start
    AND later.period_end IS NOT DISTINCT FROM stated.period_end
    AND later.dimensions IS NOT DISTINCT FROM stated.dimensions
    AND later.members IS NOT DISTINCT FROM stated.members
    AND (
        later.available_at, coalesce(later.accepted_at, TIMESTAMPTZ '-infinity'), coalesce(later.accession_no, ''),
        later.evidence, later.content_hash
    ) > (
        stated.available_at, coalesce(stated.accepted_at, TIMESTAMPTZ '-infinity'), coalesce(stated.accession_no, ''),
        stated.evidence, stated.content_hash
    )
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
