-- The line items of companies: for each the concepts that state it. Of the concepts that a filing states for periods of
-- one length, the first counts.
--
-- kind: flow adds up over time, per_share is a flow a share, average is over a period and does not add up, balance is of
-- a day. What is paid is above zero.
CREATE MACRO line_item_concepts() AS TABLE
SELECT item, kind, unnest(concepts) AS concept, generate_subscripts(concepts, 1) AS place
FROM (
    VALUES
    ('revenue', 'flow', [
        'us-gaap:Revenues', 'us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax', 'us-gaap:SalesRevenueNet',
        'us-gaap:RevenueFromContractWithCustomerIncludingAssessedTax', 'us-gaap:RevenuesNetOfInterestExpense',
        'us-gaap:SalesRevenueGoodsNet', 'us-gaap:SalesRevenueServicesNet', 'us-gaap:RegulatedAndUnregulatedOperatingRevenue',
        'us-gaap:OperatingLeasesIncomeStatementLeaseRevenue',
        'ifrs-full:Revenue', 'ifrs-full:RevenueFromContractsWithCustomers'
    ]),
    ('cost_of_revenue', 'flow', [
        'us-gaap:CostOfRevenue', 'us-gaap:CostOfGoodsAndServicesSold', 'us-gaap:CostOfGoodsSold',
        'us-gaap:CostOfServices', 'us-gaap:CostOfGoodsAndServiceExcludingDepreciationDepletionAndAmortization',
        'ifrs-full:CostOfSales'
    ]),
    ('gross_profit', 'flow', ['us-gaap:GrossProfit', 'ifrs-full:GrossProfit']),
    ('research_and_development', 'flow', [
        'us-gaap:ResearchAndDevelopmentExpense', 'us-gaap:ResearchAndDevelopmentExpenseExcludingAcquiredInProcessCost',
        'ifrs-full:ResearchAndDevelopmentExpense'
    ]),
    ('selling_general_and_administrative', 'flow', [
        'us-gaap:SellingGeneralAndAdministrativeExpense', 'ifrs-full:SellingGeneralAndAdministrativeExpense'
    ]),
    ('operating_expenses', 'flow', ['us-gaap:OperatingExpenses', 'ifrs-full:OperatingExpense']),
    ('operating_income', 'flow', ['us-gaap:OperatingIncomeLoss', 'ifrs-full:ProfitLossFromOperatingActivities']),
    ('interest_expense', 'flow', [
        'us-gaap:InterestExpense', 'us-gaap:InterestExpenseNonoperating', 'us-gaap:InterestExpenseDebt',
        'ifrs-full:InterestExpense', 'ifrs-full:FinanceCosts'
    ]),
    ('pretax_income', 'flow', [
        'us-gaap:IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItemsNoncontrollingInterest',
        'us-gaap:IncomeLossFromContinuingOperationsBeforeIncomeTaxesMinorityInterestAndIncomeLossFromEquityMethodInvestments',
        'us-gaap:IncomeLossIncludingPortionAttributableToNoncontrollingInterest', 'ifrs-full:ProfitLossBeforeTax'
    ]),
    ('income_tax', 'flow', ['us-gaap:IncomeTaxExpenseBenefit', 'ifrs-full:IncomeTaxExpenseContinuingOperations']),
    ('net_income', 'flow', [
        'us-gaap:NetIncomeLoss', 'us-gaap:ProfitLoss', 'us-gaap:NetIncomeLossAvailableToCommonStockholdersBasic',
        'ifrs-full:ProfitLossAttributableToOwnersOfParent', 'ifrs-full:ProfitLoss'
    ]),
    ('eps_basic', 'per_share', [
        'us-gaap:EarningsPerShareBasic', 'us-gaap:EarningsPerShareBasicAndDiluted', 'ifrs-full:BasicEarningsLossPerShare'
    ]),
    ('eps_diluted', 'per_share', [
        'us-gaap:EarningsPerShareDiluted', 'us-gaap:EarningsPerShareBasicAndDiluted',
        'ifrs-full:DilutedEarningsLossPerShare'
    ]),
    ('dividends_per_share', 'per_share', [
        'us-gaap:CommonStockDividendsPerShareDeclared', 'us-gaap:CommonStockDividendsPerShareCashPaid'
    ]),
    ('shares_basic', 'average', [
        'us-gaap:WeightedAverageNumberOfSharesOutstandingBasic',
        'us-gaap:WeightedAverageNumberOfShareOutstandingBasicAndDiluted', 'ifrs-full:WeightedAverageShares'
    ]),
    ('shares_diluted', 'average', [
        'us-gaap:WeightedAverageNumberOfDilutedSharesOutstanding',
        'us-gaap:WeightedAverageNumberOfShareOutstandingBasicAndDiluted', 'ifrs-full:AdjustedWeightedAverageShares'
    ]),
    ('operating_cash_flow', 'flow', [
        'us-gaap:NetCashProvidedByUsedInOperatingActivities',
        'us-gaap:NetCashProvidedByUsedInOperatingActivitiesContinuingOperations',
        'ifrs-full:CashFlowsFromUsedInOperatingActivities', 'ifrs-full:CashFlowsFromUsedInOperations'
    ]),
    ('investing_cash_flow', 'flow', [
        'us-gaap:NetCashProvidedByUsedInInvestingActivities',
        'us-gaap:NetCashProvidedByUsedInInvestingActivitiesContinuingOperations',
        'ifrs-full:CashFlowsFromUsedInInvestingActivities'
    ]),
    ('financing_cash_flow', 'flow', [
        'us-gaap:NetCashProvidedByUsedInFinancingActivities',
        'us-gaap:NetCashProvidedByUsedInFinancingActivitiesContinuingOperations',
        'ifrs-full:CashFlowsFromUsedInFinancingActivities'
    ]),
    ('capital_expenditure', 'flow', [
        'us-gaap:PaymentsToAcquirePropertyPlantAndEquipment', 'us-gaap:PaymentsToAcquireProductiveAssets',
        'us-gaap:PaymentsForCapitalImprovements', 'us-gaap:PaymentsToAcquireOtherPropertyPlantAndEquipment',
        'ifrs-full:PurchaseOfPropertyPlantAndEquipmentClassifiedAsInvestingActivities'
    ]),
    ('depreciation_and_amortization', 'flow', [
        'us-gaap:DepreciationDepletionAndAmortization', 'us-gaap:DepreciationAmortizationAndAccretionNet',
        'us-gaap:DepreciationAndAmortization', 'ifrs-full:AdjustmentsForDepreciationAndAmortisationExpense'
    ]),
    ('stock_compensation', 'flow', [
        'us-gaap:ShareBasedCompensation', 'us-gaap:AllocatedShareBasedCompensationExpense',
        'ifrs-full:AdjustmentsForSharebasedPayments'
    ]),
    ('dividends_paid', 'flow', [
        'us-gaap:PaymentsOfDividends', 'us-gaap:PaymentsOfDividendsCommonStock',
        'ifrs-full:DividendsPaidClassifiedAsFinancingActivities'
    ]),
    ('shares_repurchased', 'flow', [
        'us-gaap:PaymentsForRepurchaseOfCommonStock', 'ifrs-full:PaymentsToAcquireOrRedeemEntitysShares'
    ]),
    ('assets', 'balance', ['us-gaap:Assets', 'ifrs-full:Assets']),
    ('current_assets', 'balance', ['us-gaap:AssetsCurrent', 'ifrs-full:CurrentAssets']),
    ('liabilities', 'balance', ['us-gaap:Liabilities', 'ifrs-full:Liabilities']),
    ('current_liabilities', 'balance', ['us-gaap:LiabilitiesCurrent', 'ifrs-full:CurrentLiabilities']),
    ('equity', 'balance', [
        'us-gaap:StockholdersEquity', 'us-gaap:StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest',
        'ifrs-full:EquityAttributableToOwnersOfParent', 'ifrs-full:Equity'
    ]),
    ('total_equity', 'balance', [
        'us-gaap:StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest', 'us-gaap:StockholdersEquity',
        'ifrs-full:Equity'
    ]),
    ('cash', 'balance', [
        'us-gaap:CashAndCashEquivalentsAtCarryingValue', 'us-gaap:Cash',
        'us-gaap:CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents', 'ifrs-full:CashAndCashEquivalents'
    ]),
    ('short_term_investments', 'balance', [
        'us-gaap:MarketableSecuritiesCurrent', 'us-gaap:ShortTermInvestments', 'us-gaap:AvailableForSaleSecuritiesCurrent',
        'us-gaap:AvailableForSaleSecuritiesDebtSecuritiesCurrent', 'ifrs-full:ShorttermInvestments'
    ]),
    ('receivables', 'balance', [
        'us-gaap:AccountsReceivableNetCurrent', 'us-gaap:ReceivablesNetCurrent',
        'ifrs-full:TradeAndOtherCurrentReceivables'
    ]),
    ('inventory', 'balance', ['us-gaap:InventoryNet', 'ifrs-full:Inventories']),
    ('goodwill', 'balance', ['us-gaap:Goodwill', 'ifrs-full:Goodwill']),
    ('debt', 'balance', ['us-gaap:DebtLongtermAndShorttermCombinedAmount', 'ifrs-full:Borrowings']),
    ('long_term_debt', 'balance', [
        'us-gaap:LongTermDebtNoncurrent', 'us-gaap:LongTermDebtAndCapitalLeaseObligations', 'us-gaap:LongTermNotesPayable',
        'us-gaap:ConvertibleLongTermNotesPayable', 'us-gaap:ConvertibleDebtNoncurrent', 'ifrs-full:LongtermBorrowings'
    ]),
    ('long_term_debt_with_current_part', 'balance', ['us-gaap:LongTermDebt']),
    ('current_debt', 'balance', ['us-gaap:DebtCurrent', 'ifrs-full:ShorttermBorrowings']),
    ('current_part_of_long_term_debt', 'balance', [
        'us-gaap:LongTermDebtCurrent', 'us-gaap:LongTermDebtAndCapitalLeaseObligationsCurrent',
        'us-gaap:ConvertibleNotesPayableCurrent', 'us-gaap:ConvertibleDebtCurrent',
        'ifrs-full:CurrentPortionOfLongtermBorrowings'
    ]),
    ('short_term_borrowings', 'balance', ['us-gaap:ShortTermBorrowings', 'us-gaap:CommercialPaper']),
    ('shares', 'balance', [
        'dei:EntityCommonStockSharesOutstanding', 'us-gaap:CommonStockSharesOutstanding',
        'ifrs-full:NumberOfSharesOutstanding'
    ])
) AS items (item, kind, concepts);

-- What an item is made of where no filing states it, of several sums the first that can be made. A term that is not
-- needed counts where it is stated.
CREATE MACRO line_item_sums() AS TABLE
FROM (
    VALUES
    ('gross_profit', 'flow', 1, 'revenue', 1, true),
    ('gross_profit', 'flow', 1, 'cost_of_revenue', -1, true),
    ('free_cash_flow', 'flow', 1, 'operating_cash_flow', 1, true),
    ('free_cash_flow', 'flow', 1, 'capital_expenditure', -1, true),
    ('liabilities', 'balance', 1, 'assets', 1, true),
    ('liabilities', 'balance', 1, 'total_equity', -1, true),
    ('debt', 'balance', 1, 'long_term_debt', 1, true),
    ('debt', 'balance', 1, 'current_debt', 1, true),
    ('debt', 'balance', 2, 'long_term_debt', 1, true),
    ('debt', 'balance', 2, 'current_part_of_long_term_debt', 1, false),
    ('debt', 'balance', 2, 'short_term_borrowings', 1, false),
    ('debt', 'balance', 3, 'long_term_debt_with_current_part', 1, true),
    ('debt', 'balance', 3, 'short_term_borrowings', 1, false)
) AS sums (item, kind, place, term, factor, is_needed);
