-- reads: prices, own_bars, av_daily_bars
-- Daily bars for ASOF joins: only rows that described the newest known day when they became public.
--
-- A plain ASOF join on available_at gives the row published last, which may restate an old period. Here a row is kept
-- if no newer period was public at its instant. This was already decided at that instant, so the choice never changes.
-- A bar does not replace one of the same day from a preferred source.
--
-- The bars are of companies and ETFs; if a ticker has several of them, one is used. issuer: the CIK, or the ETF's symbol.
-- before: the newest earlier day's bar as it was known when this bar became public; null if there was none.
CREATE MACRO asof_prices(companies) AS TABLE
WITH
    by_company AS (
        SELECT company, entity_id AS issuer, prices.*, 'prices' AS source
        FROM lake.prices AS prices
        JOIN company_parts(companies) AS part ON part.cik = prices.entity_id
        WHERE entity_kind = 'company' AND has_any_cik(companies, entity_id)
        UNION ALL
        SELECT company, entity_id AS issuer, prices.*, 'prices'
        FROM lake.prices AS prices
        JOIN company_parts(companies) AS part ON part.ticker = prices.symbol AND part.of_any_cik
        WHERE entity_kind = 'company' AND has_any_label(companies, entity_id, symbol)
        UNION ALL
        SELECT company, symbol AS issuer, prices.*, 'prices'
        FROM lake.prices AS prices
        JOIN company_parts(companies) AS part ON part.fund = prices.symbol
        WHERE entity_kind <> 'company'
    ),
    by_ticker AS (
        SELECT * EXCLUDE (available_at_basis), 'own_bars' AS source FROM lake.own_bars
        UNION ALL BY NAME
        SELECT * EXCLUDE (available_at_basis), 'av_daily_bars' AS source FROM lake.av_daily_bars
    )
SELECT
    * EXCLUDE (newness),
    arg_max({'date': date, 'close': close, 'volume': volume}, available_at) OVER (
        PARTITION BY company, issuer ORDER BY date RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL 1 DAY PRECEDING
    ) AS before
FROM (
    SELECT *, 10 * (date - DATE '1900-01-01') - bar_rank(source) AS newness
    FROM (
        FROM by_company
        UNION ALL BY NAME
        SELECT DISTINCT
            part.company, coalesce(company_ciks(part.company)[1], bar.ticker) AS issuer,
            coalesce(part.fund, part.ticker) AS symbol, bar.* EXCLUDE (ticker)
        FROM by_ticker AS bar
        JOIN company_parts(companies) AS part
            ON coalesce(part.fund, part.ticker) = bar.ticker
            AND bar.available_at >= part.since
            AND bar.available_at < part.until
    )
    QUALIFY
        newness >= max(newness) OVER (
            PARTITION BY company ORDER BY available_at RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        )
        AND row_number() OVER (
            PARTITION BY company, available_at
            ORDER BY newness DESC, entity_kind, entity_id, symbol, evidence DESC, content_hash DESC
        ) = 1
);
