-- Declared cash dividends, one row per declaration and type.
-- Of several revisions of one key the newest that was public counts; dividends_revisions holds all of them.
CREATE VIEW dividends AS
SELECT
    available_at, available_at_source, ticker, declaration_date, dividend_type, ex_dividend_date, record_date,
    pay_date, cash_amount, currency, frequency, dividend_id, evidence
FROM dividends_revisions
QUALIFY row_number() OVER (
    PARTITION BY dividend_id
    ORDER BY available_at DESC, evidence DESC
) = 1;
