-- reads: prices
-- Series to join as of an instant: rows that, when they became public, told of the newest period known.
--
-- A plain ASOF join on available_at gives the row published last, which may restate an old period. A row is kept here
-- when its period is not older than any that was public at that very instant: known then, so it never changes.
--
-- Daily bars of symbols; where a symbol stands for several entities, one of them. before: what was known of the newest
-- earlier day's bar when it came; null where there was none.
CREATE MACRO asof_prices(symbols) AS TABLE
SELECT
    *,
    arg_max({'date': date, 'close': close, 'volume': volume}, available_at) OVER (
        PARTITION BY symbol ORDER BY date RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL 1 DAY PRECEDING
    ) AS before
FROM (
    FROM lake.prices
    WHERE symbol IN (SELECT unnest(symbols))
    QUALIFY
        date >= max(date) OVER (
            PARTITION BY symbol ORDER BY available_at RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        )
        AND row_number() OVER (
            PARTITION BY symbol, available_at
            ORDER BY date DESC, entity_kind, entity_id, evidence DESC, content_hash DESC
        ) = 1
);
