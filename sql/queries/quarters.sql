-- summary: Quarters, years and trailing twelve months of a company's line items, newest first, with the inputs of each.
-- agent: helper
-- reads: xbrl_facts, sec_facts
-- ids: item, span, period_end
-- hindsight: evidence_ids
-- param ticker ticker required | Ticker of the company.
-- param items items optional | Line items, such as revenue,operating_cash_flow; default: all.
-- param spans spans = ["quarter"] | Any of quarter, year, ttm (trailing twelve months) and balance.
-- param since day optional | First day a period may end on; default: all.
-- column item
-- column span | quarter, year, ttm or balance.
-- column value [unit] | Its value. Payments, such as capital_expenditure, are positive.
-- column unit | Unit of the value, such as iso4217:USD, iso4217:USDshares (a share) or shares.
-- column period_start | First day of the period; null for a balance.
-- column period_end | Last day of the period, or the day of a balance, inclusive.
-- column method
-- column made_of
-- column evidence_ids
WITH
    item_statements AS MATERIALIZED (FROM item_facts([$company])),
    item_epochs AS (SELECT company, max(available_at) AS known_at FROM item_statements GROUP BY company),
    items_now AS MATERIALIZED (
        FROM items_known('item_statements', 'item_epochs', $items::VARCHAR[], NULL)
        WHERE $items IS NULL OR list_contains($items::VARCHAR[], item)
    )
SELECT
    available_at,
    available_at_source,
    item,
    span,
    value,
    unit,
    period_start,
    period_end,
    method,
    array_to_string(made_of(inputs), '|') AS made_of,
    list_transform(inputs, lambda part: part.evidence) AS evidence_ids
FROM item_periods('items_now')
WHERE
    list_contains($spans::VARCHAR[], span)
    AND ($since::DATE IS NULL OR period_end >= $since::DATE)
ORDER BY period_end DESC, item, span
