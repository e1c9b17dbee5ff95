-- reads: xbrl_facts
-- What the view `xbrl_facts` holds about one company.
CREATE MACRO xbrl_facts_of(wanted) AS TABLE
FROM xbrl_facts
WHERE ticker = wanted;
