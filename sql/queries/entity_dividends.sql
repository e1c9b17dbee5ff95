-- summary: Dividends a company has declared, newest first.
-- agent: entity
-- reads: dividends, polygon_dividends
-- ids: dividend_id, ex_dividend_date
-- hindsight: dividend_id, evidence
-- param ticker ticker required | Ticker of the company.
-- column date | Day the graph files the dividend under: the day of declaration.
-- column declaration_date | Day of declaration.
-- column cash_amount [unit] | Amount per share; the graph rounds it to 3 decimals.
-- column dividend_type | Regular, Special and so on.
-- column frequency | Quarterly, Monthly, Annual and so on.
-- column unit | Currency of the amount, per share.
-- column ex_dividend_date | First day without the right to the dividend.
-- column record_date | Day on which holders are recorded.
-- column pay_date | Day of payment.
-- column dividend_id | Id in the source.
-- column source | Dataset of the row, in order of preference: dividends, polygon_dividends.
-- column evidence
SELECT
    available_at,
    available_at_source,
    declaration_date AS date,
    declaration_date,
    cash_amount,
    dividend_type,
    frequency,
    currency || ' per share' AS unit,
    ex_dividend_date,
    record_date,
    pay_date,
    dividend_id,
    source,
    evidence
FROM dividends_of($company)
ORDER BY declaration_date DESC, dividend_type, ex_dividend_date, cash_amount, evidence
