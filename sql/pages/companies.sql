-- title: Companies
-- reads: prices, reports
SELECT ticker, arg_max(cik, (available_at, cik)) AS cik
FROM (
    SELECT symbol AS ticker, entity_id AS cik, available_at
    FROM lake.prices
    WHERE entity_kind = 'company' AND available_at > as_of() - INTERVAL 10 DAY
    UNION ALL
    SELECT ticker, cik, available_at FROM lake.reports WHERE ticker IS NOT NULL AND role = 'primary_filer'
)
WHERE cik IS NOT NULL
GROUP BY ticker
ORDER BY ticker
