-- reads: dividends, polygon_dividends
-- The cash dividends of a company of every source, each once: the graph's, and Polygon's of what the graph does not state
-- for that ex-date and kind. `source` names the dataset.
CREATE MACRO dividends_of(wanted) AS TABLE
WITH
    told AS MATERIALIZED (
        SELECT
            ex_dividend_date, declaration_date, cash_amount, currency, available_at, available_at_source, evidence,
            CASE dividend_type
                WHEN 'CD' THEN 'Regular' WHEN 'SC' THEN 'Special'
                WHEN 'LT' THEN 'LongTermGain' WHEN 'ST' THEN 'ShortTermGain' ELSE dividend_type
            END AS dividend_type,
            source
        FROM (
            SELECT
                ticker, ex_dividend_date, declaration_date, cash_amount, currency, available_at, available_at_source,
                evidence, dividend_type, 'dividends' AS source
            FROM dividends
            UNION ALL
            SELECT
                ticker, ex_dividend_date, declaration_date, cash_amount, currency, available_at, available_at_source,
                evidence, dividend_type, 'polygon_dividends'
            FROM polygon_dividends
        )
        WHERE is_about(wanted, NULL, [ticker], available_at)
    )
FROM told
WHERE source = 'dividends' OR NOT EXISTS (
    FROM told AS graph
    WHERE graph.source = 'dividends'
        AND graph.ex_dividend_date = told.ex_dividend_date
        AND (graph.dividend_type = told.dividend_type OR 'UNKNOWN' IN (graph.dividend_type, told.dividend_type))
);
