-- reads: xbrl_facts
-- What the view `xbrl_facts` holds about one company. A filter by ticker does not pass below the view's window over the key,
-- so the view reads the whole dataset; here the entity is looked up first, and only its rows enter the window.
CREATE MACRO xbrl_facts_of(wanted) AS TABLE
FROM (
    FROM lake.xbrl_facts
    WHERE cik IN (SELECT cik FROM lake.xbrl_facts WHERE ticker = wanted)
    QUALIFY row_number() OVER (
        PARTITION BY cik, concept, unit, period_type, period_start, period_end, dimensions, members
        ORDER BY available_at DESC, accession_no DESC, evidence DESC, content_hash DESC
    ) = 1
)
WHERE ticker = wanted;
