-- reads: dividends, polygon_dividends
-- The cash dividends of a company from every source, each once. Polygon's are used if the graph has no dividend of
-- that ex-date and kind. Of one dividend that is recorded on two neighbouring ex-days, the one that was public first
-- is used. `source` names the dataset. Kind and frequency are written as in the graph.
CREATE MACRO dividends_of(wanted) AS TABLE
WITH
    stated AS MATERIALIZED (
        SELECT *, 'dividends' AS source
        FROM dividends
        WHERE is_about(wanted, cik, [ticker], available_at)
        UNION ALL BY NAME
        SELECT
            * REPLACE (
                CASE dividend_type
                    WHEN 'CD' THEN 'Regular' WHEN 'SC' THEN 'Special'
                    WHEN 'LT' THEN 'LongTermGain' WHEN 'ST' THEN 'ShortTermGain' ELSE dividend_type
                END AS dividend_type,
                CASE frequency
                    WHEN 0 THEN 'OneTime' WHEN 1 THEN 'Annual' WHEN 2 THEN 'BiAnnual' WHEN 4 THEN 'Quarterly'
                    WHEN 6 THEN 'BiMonthly' WHEN 12 THEN 'Monthly' WHEN 52 THEN 'Weekly' ELSE frequency::VARCHAR
                END AS frequency
            ),
            'polygon_dividends' AS source
        FROM polygon_dividends
        WHERE is_about(wanted, NULL, [ticker], available_at)
    )
FROM stated
WHERE NOT EXISTS (
    FROM stated AS other
    WHERE (other.dividend_type = stated.dividend_type OR 'UNKNOWN' IN (other.dividend_type, stated.dividend_type))
        AND CASE
            WHEN other.ex_dividend_date = stated.ex_dividend_date
                THEN other.source = 'dividends' AND stated.source <> 'dividends'
            ELSE
                -- Two sessions are at most four days apart, and two payments of one kind at least six. The graph rounds.
                abs(other.ex_dividend_date - stated.ex_dividend_date) <= 4
                AND (
                    other.declaration_date = stated.declaration_date
                    OR abs(other.cash_amount - stated.cash_amount) < 0.0006
                )
                AND (other.source <> 'dividends', other.available_at, other.ex_dividend_date)
                    < (stated.source <> 'dividends', stated.available_at, stated.ex_dividend_date)
        END
);
