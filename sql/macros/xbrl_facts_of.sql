-- reads: xbrl_facts
-- What the view `xbrl_facts` holds about one company, but a fact that another form restates as a periodic report stated
-- it last. Proxy statements repeat a year's figures, at times in another scale or sign.
CREATE MACRO xbrl_facts_of(wanted) AS TABLE
WITH
    shown AS MATERIALIZED (FROM xbrl_facts WHERE is_about(wanted, cik, [ticker], available_at)),
    others AS MATERIALIZED (FROM shown WHERE NOT is_periodic(form_type))
FROM shown WHERE is_periodic(form_type)
UNION ALL BY NAME
SELECT stated.* EXCLUDE (content_hash)
FROM lake.xbrl_facts AS stated
SEMI JOIN others
    ON stated.cik IS NOT DISTINCT FROM others.cik
    AND stated.concept = others.concept
    AND stated.unit IS NOT DISTINCT FROM others.unit
    AND stated.period_type IS NOT DISTINCT FROM others.period_type
    AND stated.period_start IS NOT DISTINCT FROM others.period_start
    AND stated.period_end IS NOT DISTINCT FROM others.period_end
    AND stated.dimensions IS NOT DISTINCT FROM others.dimensions
    AND stated.members IS NOT DISTINCT FROM others.members
WHERE is_about(wanted, cik, [ticker], available_at)
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
