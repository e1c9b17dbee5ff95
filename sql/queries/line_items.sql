-- summary: The line items of a company for every period, as stated by the newest periodic report, newest period first.
-- agent: helper
-- reads: xbrl_facts, sec_facts
-- ids: item, period_start, period_end
-- hindsight: evidence_ids
-- param ticker ticker required | Ticker of the company.
-- param items items optional | Line items, such as revenue,net_income,assets; default: all.
-- param since day optional | First day a period may end on; default: all.
-- column item
-- column value [unit] | Its value. Payments, such as capital_expenditure, are positive.
-- column unit | Unit of the value, such as iso4217:USD, iso4217:USDshares (a share) or shares.
-- column period_start | First day of the period; null for a balance.
-- column period_end | Last day of the period, or the day of a balance, inclusive.
-- column months [months] | Length of the period; 3 means a fiscal quarter, including one of 12 to 17 weeks, and 6, 9 and 12 likewise. Null for a balance.
-- column method | stated; or summed from other line items of the period, if no filing states it.
-- column concept | Qualified name of the reported concept; for a sum, the names of its parts, joined by \|.
-- column form_type | EDGAR form type of the filing that states it; for a sum, the form types of its parts, joined by \|.
-- column accession_no | Accession number of that filing, likewise.
-- column source | Dataset of the fact, likewise.
-- column evidence_ids | Evidence of every fact the value is computed from.
WITH
    item_statements AS MATERIALIZED (FROM item_facts([$company])),
    item_epochs AS (SELECT company, max(available_at) AS known_at FROM item_statements GROUP BY company)
SELECT
    available_at,
    available_at_source,
    item,
    value,
    unit,
    period_start,
    period_end,
    months,
    method,
    array_to_string(list_transform(inputs, lambda part: part.concept), '|') AS concept,
    array_to_string(list_transform(inputs, lambda part: part.form_type), '|') AS form_type,
    array_to_string(list_transform(inputs, lambda part: part.accession_no), '|') AS accession_no,
    array_to_string(list_transform(inputs, lambda part: part.source), '|') AS source,
    list_transform(inputs, lambda part: part.evidence) AS evidence_ids
FROM items_known('item_statements', 'item_epochs', $items::VARCHAR[], NULL)
WHERE
    ($items IS NULL OR list_contains($items::VARCHAR[], item))
    AND ($since::DATE IS NULL OR period_end >= $since::DATE)
ORDER BY period_end DESC, item, months
