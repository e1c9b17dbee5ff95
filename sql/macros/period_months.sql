-- The length of a reporting period in months; the first and last day are inclusive.
--
-- If a period consists of whole calendar months, they are counted. Fiscal calendars of 52 and 53 weeks don't follow
-- months. Their quarters have 12 to 14 weeks, or 16 to 17 if the other quarters have 12; longer periods are sums of
-- those.
CREATE MACRO period_months(period_start, period_end) AS
CASE
    WHEN period_start + to_months(datediff('month', period_start, period_end + 1)::INTEGER) = period_end + 1
        THEN datediff('month', period_start, period_end + 1)::INTEGER
    WHEN period_end - period_start + 1 BETWEEN 76 AND 126 THEN 3
    WHEN period_end - period_start + 1 BETWEEN 160 AND 206 THEN 6
    WHEN period_end - period_start + 1 BETWEEN 248 AND 292 THEN 9
    WHEN period_end - period_start + 1 BETWEEN 355 AND 380 THEN 12
    ELSE round((period_end - period_start + 1) / 30.4375)::INTEGER
END;
