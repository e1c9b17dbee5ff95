-- title: Planned for later, as was known at T
-- reads: av_earnings_calendar, dividends, polygon_dividends
WITH
    days AS (
        SELECT
            report_date AS day, 'earnings' AS what, time_of_day AS detail, 'av_earnings_calendar' AS dataset, ticker,
            fiscal_date_ending, NULL AS dividend_id, estimate, NULL AS cash_amount, available_at, available_at_source,
            evidence
        FROM av_earnings_calendar
        WHERE is_about($company, NULL, [ticker], available_at)
        UNION ALL
        SELECT
            unnest([ex_dividend_date, pay_date]), unnest(['goes ex dividend', 'pays the dividend']), dividend_type,
            source, ticker, NULL, dividend_id, NULL, cash_amount, available_at, available_at_source, evidence
        FROM dividends_of($company)
    )
FROM days
WHERE day > (as_of() AT TIME ZONE 'America/New_York')::DATE
ORDER BY day, what, evidence
