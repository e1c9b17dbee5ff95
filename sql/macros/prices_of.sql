-- reads: prices
-- What the view `prices` holds about one symbol. A filter by ticker does not pass below the view's window over the key,
-- so the view reads the whole dataset; here the entity is looked up first, and only its rows enter the window.
CREATE MACRO prices_of(wanted) AS TABLE
FROM (
    FROM lake.prices
    WHERE entity_id IN (SELECT entity_id FROM lake.prices WHERE symbol = wanted)
    QUALIFY row_number() OVER (
        PARTITION BY entity_kind, entity_id, date ORDER BY available_at DESC, evidence DESC, content_hash DESC
    ) = 1
)
WHERE symbol = wanted;

-- Daily bars of a symbol, one a day: where it stands for several entities, one of them.
CREATE MACRO bars_of(wanted) AS TABLE
FROM prices_of(wanted)
QUALIFY row_number() OVER (PARTITION BY date ORDER BY entity_kind, entity_id) = 1;
