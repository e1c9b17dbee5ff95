-- title: Figures and their vintages
-- reads: xbrl_facts
SELECT
    cik, concept, unit, period_type, period_start, period_end, dimensions, members,
    arg_max(label, (available_at, accession_no, evidence, content_hash)) AS label,
    arg_max(value_number, (available_at, accession_no, evidence, content_hash)) AS value_number,
    arg_min(value_number, (available_at, accession_no, evidence, content_hash)) AS first_value,
    arg_min(evidence, (available_at, accession_no, evidence, content_hash)) AS first_evidence,
    min(available_at) AS first_public,
    count(*) AS vintages,
    count(DISTINCT value_number) AS told,
    arg_max(form_type, (available_at, accession_no, evidence, content_hash)) AS form_type,
    max(available_at) AS available_at,
    any_value(available_at_source) AS available_at_source,
    arg_max(evidence, (available_at, accession_no, evidence, content_hash)) AS evidence
FROM lake.xbrl_facts
WHERE
    cik = $cik AND is_numeric AND NOT is_nil AND member_count = 0
    AND concept IN (
        'us-gaap:Revenues', 'us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax', 'us-gaap:CostOfRevenue',
        'us-gaap:GrossProfit', 'us-gaap:OperatingIncomeLoss', 'us-gaap:NetIncomeLoss',
        'us-gaap:EarningsPerShareDiluted', 'us-gaap:NetCashProvidedByUsedInOperatingActivities', 'us-gaap:Assets',
        'us-gaap:Liabilities', 'us-gaap:StockholdersEquity', 'us-gaap:CashAndCashEquivalentsAtCarryingValue',
        'dei:EntityCommonStockSharesOutstanding'
    )
GROUP BY cik, concept, unit, period_type, period_start, period_end, dimensions, members
ORDER BY concept, unit, period_end DESC, period_start DESC
