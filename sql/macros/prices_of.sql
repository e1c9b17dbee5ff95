-- reads: prices, own_bars, av_daily_bars
-- Daily bars of one company, or of the ETF with that symbol, from every source. `source` names the dataset. Bars of
-- own_bars and av_daily_bars name no company: their entity_kind and entity_id are null, and they are matched by ticker.
CREATE MACRO prices_of(wanted) AS TABLE
FROM prices
SELECT *, 'prices' AS source
WHERE entity_kind = 'company' AND has_any_cik([wanted], entity_id)
UNION ALL
FROM prices
SELECT *, 'prices'
WHERE
    entity_kind = 'company'
    AND has_any_label([wanted], entity_id, symbol)
    AND bears_ticker(wanted, [symbol], available_at)
UNION ALL
FROM prices
SELECT *, 'prices'
WHERE entity_kind <> 'company' AND list_contains(company_funds(wanted), symbol)
UNION ALL BY NAME
SELECT * RENAME (ticker AS symbol)
FROM (
    FROM own_bars SELECT * EXCLUDE (available_at_basis), 'own_bars' AS source
    UNION ALL BY NAME
    FROM av_daily_bars SELECT * EXCLUDE (available_at_basis), 'av_daily_bars' AS source
)
WHERE is_about(wanted, NULL, [ticker], available_at) OR list_contains(company_funds(wanted), ticker);

-- One daily bar per day, from the most preferred source that has a bar of the day. Of several ETFs with the symbol, an
-- arbitrary one is used; of several companies that had the ticker, the last one. A series never mixes two of them.
-- since: the first day, before which no bar is read, not even for the last company. A condition on the answer's days would
-- not reach the files, because windows are in between.
CREATE MACRO bars_of(wanted, since := DATE '-infinity') AS TABLE
SELECT
    * EXCLUDE (last_company) REPLACE (
        coalesce(entity_kind, 'company') AS entity_kind,
        coalesce(entity_id, last_company, company_ciks(wanted)[1], symbol) AS entity_id
    )
FROM (
    SELECT
        *,
        max({'date': date, 'entity_id': entity_id}) FILTER (entity_kind = 'company') OVER ().entity_id AS last_company
    FROM prices_of(wanted)
    WHERE date >= since
)
WHERE entity_kind IS NULL OR entity_kind <> 'company' OR entity_id = last_company
QUALIFY row_number() OVER (PARTITION BY date ORDER BY bar_rank(source), entity_kind, entity_id, symbol) = 1;

-- union: bars | Daily bars of every source, one per symbol and day, from the most preferred source that has it.
-- columns: available_at, available_at_source, entity_kind, entity_id, symbol, date, open, high, low, close, vwap,
-- columns: volume, transactions, evidence, source
CREATE VIEW bars AS
FROM (
    FROM prices SELECT *, 'prices' AS source
    UNION ALL BY NAME
    FROM own_bars SELECT * EXCLUDE (available_at_basis) RENAME (ticker AS symbol), 'own_bars' AS source
    UNION ALL BY NAME
    FROM av_daily_bars SELECT * EXCLUDE (available_at_basis) RENAME (ticker AS symbol), 'av_daily_bars' AS source
)
QUALIFY rank() OVER (PARTITION BY symbol, date ORDER BY bar_rank(source)) = 1;
