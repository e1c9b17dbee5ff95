-- reads: xbrl_facts, sec_facts
-- For each (ticker, instant) pair, the newest quarter, year, trailing twelve months and balance of line items, as known
-- at that instant. items: the items to read; their terms are read too.
--
-- An old period is never returned as the newest. If an item's newest period is a year that yields no quarter, there is
-- no newest quarter. An item is left out if it is not stated within 460 days of the company's newest period.
CREATE MACRO items_at(pairs, items) AS TABLE
WITH
    events AS MATERIALIZED (FROM asof_pairs(pairs)),
    item_statements AS MATERIALIZED (FROM item_facts(pair_companies(pairs))),
    changes AS (SELECT DISTINCT company, available_at AS known_at FROM item_statements),
    placed AS MATERIALIZED (
        SELECT events.position, events.ticker, events.company, events.at, changes.known_at
        FROM events
        ASOF JOIN changes ON changes.company = events.company AND events.at >= changes.known_at
    ),
    item_epochs AS MATERIALIZED (SELECT DISTINCT company, known_at FROM placed),
    items_then AS MATERIALIZED (FROM items_known('item_statements', 'item_epochs', items, 900)),
    ends AS (
        SELECT company, known_at, item, max(period_end) AS item_end
        FROM items_then
        WHERE months IS NULL OR months IN (3, 6, 9, 12)
        GROUP BY ALL
    ),
    newest AS (
        SELECT *
        FROM item_periods('items_then')
        QUALIFY row_number() OVER (PARTITION BY company, known_at, item, span ORDER BY period_end DESC) = 1
    )
SELECT placed.position, placed.ticker, placed.at, newest.* EXCLUDE (company, known_at, newest_end)
FROM newest
JOIN ends USING (company, known_at, item)
JOIN placed USING (company, known_at)
WHERE
    newest.newest_end - newest.period_end <= 460
    AND ends.item_end - newest.period_end <= CASE newest.span WHEN 'year' THEN 380 ELSE 20 END;
