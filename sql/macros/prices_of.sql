-- reads: prices
-- What the view `prices` holds about one company, or about the ETF of that symbol.
CREATE MACRO prices_of(wanted) AS TABLE
FROM prices
WHERE CASE
    WHEN entity_kind = 'company' THEN is_about(wanted, entity_id, [symbol], available_at)
    ELSE list_contains(company_funds(wanted), symbol)
END;

-- Its daily bars, one a day: of several ETFs of that symbol any, of several companies that bore the ticker the last one.
-- One series never joins two.
CREATE MACRO bars_of(wanted) AS TABLE
SELECT * EXCLUDE (last_company)
FROM (
    SELECT
        *,
        max({'date': date, 'entity_id': entity_id}) FILTER (entity_kind = 'company') OVER ().entity_id AS last_company
    FROM prices_of(wanted)
)
WHERE entity_kind <> 'company' OR entity_id = last_company
QUALIFY row_number() OVER (PARTITION BY date ORDER BY entity_kind, entity_id) = 1;
