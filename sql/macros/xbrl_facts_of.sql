-- reads: xbrl_facts
-- Every fact about one company in one statement: the newest of a periodic report, and only where no such report states
-- it the newest of another form. Proxy statements repeat a year's figures, at times in another scale or sign.
CREATE MACRO xbrl_facts_of(wanted) AS TABLE
FROM lake.xbrl_facts
WHERE ticker = wanted
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
