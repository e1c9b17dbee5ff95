-- summary: Dividends a company has declared, newest first.
-- agent: entity
-- reads: dividends
-- param ticker ticker required | Ticker of the company.
-- column date | Day the dividend hangs on: the day of declaration.
-- column declaration_date | Day of declaration.
-- column cash_amount | Amount per share, rounded to 3 decimals upstream.
-- column dividend_type | Regular, Special and so on.
-- column frequency | Quarterly, Monthly, Annual and so on.
SELECT
    available_at,
    available_at_source,
    declaration_date AS date,
    declaration_date,
    cash_amount,
    dividend_type,
    frequency
FROM dividends
WHERE ticker = $ticker
ORDER BY declaration_date DESC, dividend_type, ex_dividend_date, cash_amount
