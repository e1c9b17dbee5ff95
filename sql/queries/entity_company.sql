-- summary: Reference data of a company, dated by when the lake first observed it; an earlier date cannot be proven.
-- agent: entity
-- reads: companies
-- ids: cik
-- aliases: company_today
-- param ticker ticker required | Ticker of the company.
-- column cik | Central Index Key, 10 digits, zero-padded.
-- column ticker | Ticker.
-- column name | Company name.
-- column exchange | Listing exchange.
-- column sector | Sector as the graph names it.
-- column industry | Industry as the graph names it.
-- column industry_normalized | Industry id in the graph's classification.
-- column sector_etf | ETF of the sector.
-- column industry_etf | ETF of the industry.
-- column mkt_cap [unit] | Market capitalisation when the graph loaded it.
-- column shares_out [shares] | Shares outstanding when the graph loaded them.
-- column employees [employees] | Employees when the graph loaded them.
-- column fiscal_year_end_month [month] | Month the fiscal year ends in.
-- column fiscal_year_end_day [day] | Day of that month.
-- column unit | Unit of the market capitalisation.
-- column evidence
SELECT
    available_at,
    available_at_source,
    cik,
    ticker,
    name,
    exchange,
    sector,
    industry,
    industry_normalized,
    sector_etf,
    industry_etf,
    mkt_cap,
    shares_out,
    employees,
    fiscal_year_end_month,
    fiscal_year_end_day,
    'USD' AS unit,
    evidence
FROM companies
WHERE is_about($company, cik, [ticker], available_at)
ORDER BY cik
