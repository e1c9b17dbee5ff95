-- title: Figures and their vintages
-- reads: xbrl_facts, sec_facts
WITH
    stated AS (
        SELECT
            cik, concept, unit, period_type, period_start, period_end, dimensions, members, value_number,
            {
                known_at: available_at, accession_no: accession_no, evidence: evidence, content_hash: content_hash,
                source: available_at_source, dataset: source, form_type: form_type, label: label,
                value: value_number, is_nil: is_nil
            } AS vintage
        FROM all_facts([$company])
        WHERE
            list_contains(company_ciks($company), cik) AND (is_numeric OR is_nil) AND member_count = 0
            AND concept IN (
                'us-gaap:Revenues', 'us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax',
                'us-gaap:CostOfRevenue', 'us-gaap:GrossProfit', 'us-gaap:OperatingIncomeLoss', 'us-gaap:NetIncomeLoss',
                'us-gaap:EarningsPerShareDiluted', 'us-gaap:NetCashProvidedByUsedInOperatingActivities',
                'us-gaap:Assets', 'us-gaap:Liabilities', 'us-gaap:StockholdersEquity',
                'us-gaap:CashAndCashEquivalentsAtCarryingValue', 'dei:EntityCommonStockSharesOutstanding',
                'ifrs-full:Revenue', 'ifrs-full:CostOfSales', 'ifrs-full:GrossProfit',
                'ifrs-full:ProfitLossFromOperatingActivities', 'ifrs-full:ProfitLossAttributableToOwnersOfParent',
                'ifrs-full:ProfitLoss', 'ifrs-full:DilutedEarningsLossPerShare',
                'ifrs-full:CashFlowsFromUsedInOperatingActivities', 'ifrs-full:Assets', 'ifrs-full:Liabilities',
                'ifrs-full:EquityAttributableToOwnersOfParent', 'ifrs-full:Equity', 'ifrs-full:CashAndCashEquivalents'
            )
    ),
    figures AS (
        SELECT
            cik, concept, unit, period_type, period_start, period_end, dimensions, members,
            max({periodic: is_periodic(vintage.form_type), vintage: vintage}).vintage AS newest,
            min(vintage) FILTER (NOT vintage.is_nil) AS oldest,
            count(*) AS vintages,
            count(DISTINCT value_number) AS distinct_values
        FROM stated
        GROUP BY ALL
    )
SELECT
    newest.dataset AS dataset, cik, concept,
    -- The spelling of EDGAR, which `sec_facts` uses.
    CASE WHEN newest.dataset = 'sec_facts'
        THEN regexp_replace(replace(unit, 'iso4217:', ''), '^([A-Z]{3})shares$', '\1/shares') ELSE unit
    END AS unit,
    period_type, period_start, period_end, dimensions, members,
    CASE WHEN period_type = 'duration' THEN period_months(period_start, period_end) END AS months,
    newest.label AS label, newest.value AS value_number, oldest.value AS first_value, oldest.evidence AS first_evidence,
    oldest.known_at AS first_public, vintages, distinct_values, newest.form_type AS form_type, newest.known_at AS available_at,
    newest.source AS available_at_source, newest.evidence AS evidence
FROM figures
WHERE NOT newest.is_nil
ORDER BY concept, unit, period_end DESC, period_start DESC
