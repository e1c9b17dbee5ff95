-- Cash dividends with exact amounts, one row per dividend, however it was corrected.
-- Of several revisions of one key the newest that was public counts; polygon_dividends_revisions holds all of them.
CREATE VIEW polygon_dividends AS
SELECT
    available_at, available_at_source, ticker, ex_dividend_date, dividend_type, ordinal, declaration_date,
    record_date, pay_date, cash_amount, cash_amount_text, currency, frequency, dividend_id, evidence
FROM polygon_dividends_revisions
QUALIFY row_number() OVER (
    PARTITION BY ticker, ordinal
    ORDER BY available_at DESC, evidence DESC
) = 1;
