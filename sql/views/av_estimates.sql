-- Estimates as last fetched, one row per symbol, horizon and fiscal period.
-- Of several revisions of one key the newest that was public counts; av_estimates_revisions holds all of them.
CREATE VIEW av_estimates AS
SELECT
    available_at, available_at_source, ticker, horizon, fiscal_date_ending, eps_estimate_average,
    eps_estimate_high, eps_estimate_low, eps_estimate_analyst_count, eps_estimate_average_7_days_ago,
    eps_estimate_average_30_days_ago, eps_estimate_average_60_days_ago, eps_estimate_average_90_days_ago,
    eps_estimate_revision_up_trailing_7_days, eps_estimate_revision_down_trailing_7_days,
    eps_estimate_revision_up_trailing_30_days, eps_estimate_revision_down_trailing_30_days,
    revenue_estimate_average, revenue_estimate_high, revenue_estimate_low, revenue_estimate_analyst_count,
    evidence
FROM av_estimates_revisions
QUALIFY row_number() OVER (
    PARTITION BY ticker, horizon, fiscal_date_ending
    ORDER BY available_at DESC, evidence DESC
) = 1;
