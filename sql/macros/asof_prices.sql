-- reads: prices
-- Series to join as of an instant: rows that, when they became public, told of the newest period known.
--
-- A plain ASOF join on available_at gives the row published last, which may restate an old period. A row is kept here
-- when its period is not older than any that was public at that very instant: known then, so it never changes.
--
-- Daily bars of companies and ETFs; where a ticker stands for several, one of them. issuer: whose the bar is, the CIK or
-- the ETF's symbol. before: what was known of its newest earlier day's bar when it came; null where there was none.
CREATE MACRO asof_prices(companies) AS TABLE
SELECT
    *,
    arg_max({'date': date, 'close': close, 'volume': volume}, available_at) OVER (
        PARTITION BY company, issuer ORDER BY date RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL 1 DAY PRECEDING
    ) AS before
FROM (
    FROM (
        SELECT company, entity_id AS issuer, prices.*
        FROM lake.prices AS prices
        JOIN company_parts(companies) AS part ON part.cik = prices.entity_id
        WHERE entity_kind = 'company'
        UNION ALL
        SELECT company, entity_id AS issuer, prices.*
        FROM lake.prices AS prices
        JOIN company_parts(companies) AS part ON part.ticker = prices.symbol AND part.of_any_cik
        WHERE entity_kind = 'company'
        UNION ALL
        SELECT company, symbol AS issuer, prices.*
        FROM lake.prices AS prices
        JOIN company_parts(companies) AS part ON part.fund = prices.symbol
        WHERE entity_kind <> 'company'
    )
    QUALIFY
        date >= max(date) OVER (
            PARTITION BY company ORDER BY available_at RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        )
        AND row_number() OVER (
            PARTITION BY company, available_at
            ORDER BY date DESC, entity_kind, entity_id, evidence DESC, content_hash DESC
        ) = 1
);
