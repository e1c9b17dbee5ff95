-- reads: prices
-- What the view `prices` holds about one symbol.
CREATE MACRO prices_of(wanted) AS TABLE
FROM prices
WHERE symbol = wanted;

-- Daily bars of a symbol, one a day: where it stands for several entities, one of them.
CREATE MACRO bars_of(wanted) AS TABLE
FROM prices_of(wanted)
QUALIFY row_number() OVER (PARTITION BY date ORDER BY entity_kind, entity_id) = 1;
