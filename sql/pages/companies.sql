-- title: Companies
-- reads: prices, reports
SELECT ticker, max(cik) AS cik
FROM (
    SELECT symbol AS ticker, entity_id AS cik
    FROM lake.prices
    WHERE entity_kind = 'company' AND available_at > as_of() - INTERVAL 10 DAY
    UNION ALL
    SELECT ticker, cik FROM lake.reports WHERE ticker IS NOT NULL AND role = 'primary_filer'
)
GROUP BY ticker
ORDER BY ticker
