-- reads: dividends, polygon_dividends
-- The cash dividends of a company from every source, each once. Polygon's are used if the graph states no dividend of
-- that ex-date and kind. `source` names the dataset. Kind and frequency are spelled as the graph spells them.
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
WHERE source = 'dividends' OR NOT EXISTS (
    FROM stated AS graph
    WHERE graph.source = 'dividends'
        AND graph.ex_dividend_date = stated.ex_dividend_date
        AND (graph.dividend_type = stated.dividend_type OR 'UNKNOWN' IN (graph.dividend_type, stated.dividend_type))
);
