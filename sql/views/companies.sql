-- Company reference as last observed, one row per CIK. Nothing dates it earlier than its observation.
-- Of several revisions of one key the newest that was public counts; companies_revisions holds all of them.
CREATE VIEW companies AS
SELECT
    available_at, available_at_source, cik, ticker, name, exchange, sector, industry, industry_normalized,
    sector_etf, industry_etf, mkt_cap, shares_out, employees, fiscal_year_end_month, fiscal_year_end_day,
    evidence
FROM companies_revisions
QUALIFY row_number() OVER (
    PARTITION BY cik
    ORDER BY available_at DESC, evidence DESC
) = 1;
