-- summary: For each ticker and instant, the line items that were known at that instant: newest quarter, year, trailing twelve months, balance.
-- agent: helper
-- reads: xbrl_facts, sec_facts
-- ids: ticker, at, field
-- hindsight: evidence_ids
-- param pairs pairs required | JSON array of {"ticker": …, "at": instant}; instants must not be after as_of.
-- param fields fields = ["revenue_ttm","net_income_ttm","eps_diluted_ttm","assets","equity"] | Line items, such as revenue_ttm,eps_diluted,assets. A name alone means the newest quarter or balance; append _quarter, _year or _ttm (trailing twelve months) to choose.
-- column ticker
-- column at
-- column field | The requested field.
-- column value [unit] | Its value, as known at that instant.
-- column unit | Unit of the value, such as iso4217:USD, iso4217:USDshares (a share) or shares.
-- column period_start | First day of the period; null for a balance.
-- column period_end | Last day of the period, or the day of a balance, inclusive.
-- column method
-- column made_of
-- column evidence_ids
WITH
    asked_fields AS MATERIALIZED (
        SELECT
            unnest($fields::VARCHAR[]) AS field,
            nullif(regexp_extract(field, '_(quarter|year|ttm)$', 1), '') AS span,
            regexp_replace(field, '_(quarter|year|ttm)$', '') AS item
    )
SELECT
    available_at,
    available_at_source,
    ticker,
    items.at,
    field,
    value,
    unit,
    period_start,
    period_end,
    method,
    array_to_string(made_of(inputs), '|') AS made_of,
    list_transform(inputs, lambda part: part.evidence) AS evidence_ids
FROM items_at($pairs, (SELECT list(item) FROM asked_fields)) AS items
JOIN asked_fields
    ON asked_fields.item = items.item
    AND coalesce(asked_fields.span, CASE WHEN kind = 'balance' THEN 'balance' ELSE 'quarter' END) = items.span
ORDER BY position, field
