-- The line items, and the concepts that state each of them, totals before parts. If a filing states several of them for
-- its newest period, the first one is used.
--
-- kind: flow adds up over time, per_share is a flow per share, average is the average of a period and does not add up,
-- balance is the amount on one day. Payments are positive.
CREATE MACRO line_item_concepts() AS TABLE
SELECT item, kind, unnest(concepts) AS concept, generate_subscripts(concepts, 1) AS place
FROM (
    VALUES
    -- If banks and brokers state revenue both before and after interest expense, the revenue after it counts. For
    -- utilities and landlords, revenue from contracts with customers is only a part of operating revenue.
    ('revenue', 'flow', [
        'us-gaap:RevenuesNetOfInterestExpense', 'us-gaap:Revenues', 'us-gaap:RegulatedAndUnregulatedOperatingRevenue',
        'us-gaap:RealEstateRevenueNet', 'us-gaap:HealthCareOrganizationRevenue',
        'us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax', 'us-gaap:SalesRevenueNet',
        'us-gaap:RevenueFromContractWithCustomerIncludingAssessedTax', 'us-gaap:SalesRevenueGoodsNet',
        'us-gaap:SalesRevenueServicesNet', 'us-gaap:ElectricUtilityRevenue', 'us-gaap:OilAndGasRevenue',
        'us-gaap:ContractsRevenue', 'us-gaap:OperatingLeasesIncomeStatementLeaseRevenue', 'us-gaap:OperatingLeaseLeaseIncome',
        'us-gaap:GrossInvestmentIncomeOperating',
        'ifrs-full:Revenue', 'ifrs-full:RevenueFromContractsWithCustomers'
    ]),
    ('lease_income', 'flow', [
        'us-gaap:OperatingLeaseLeaseIncome', 'us-gaap:OperatingLeasesIncomeStatementLeaseRevenue'
    ]),
    ('net_interest_income', 'flow', ['us-gaap:InterestIncomeExpenseNet']),
    ('noninterest_income', 'flow', ['us-gaap:NoninterestIncome']),
    ('policy_benefits', 'flow', [
        'us-gaap:PolicyholderBenefitsAndClaimsIncurredNet', 'us-gaap:PolicyholderBenefitsAndClaimsIncurredHealthCare'
    ]),
    ('cost_of_revenue', 'flow', [
        'us-gaap:CostOfRevenue', 'us-gaap:CostOfGoodsAndServicesSold', 'us-gaap:CostOfGoodsSold',
        'us-gaap:CostOfServices', 'us-gaap:CostOfGoodsAndServiceExcludingDepreciationDepletionAndAmortization',
        'ifrs-full:CostOfSales'
    ]),
    ('gross_profit', 'flow', ['us-gaap:GrossProfit', 'ifrs-full:GrossProfit']),
    -- If a filing states both of the first two, the second covers only acquired projects.
    ('research_and_development', 'flow', [
        'us-gaap:ResearchAndDevelopmentExpenseExcludingAcquiredInProcessCost', 'us-gaap:ResearchAndDevelopmentExpense',
        'us-gaap:ResearchAndDevelopmentExpenseSoftwareExcludingAcquiredInProcessCost',
        'ifrs-full:ResearchAndDevelopmentExpense'
    ]),
    ('selling_general_and_administrative', 'flow', [
        'us-gaap:SellingGeneralAndAdministrativeExpense', 'ifrs-full:SellingGeneralAndAdministrativeExpense'
    ]),
    ('selling_and_marketing', 'flow', [
        'us-gaap:SellingAndMarketingExpense', 'us-gaap:SellingExpense', 'us-gaap:MarketingExpense',
        'ifrs-full:SellingExpense', 'ifrs-full:DistributionCosts'
    ]),
    ('general_and_administrative', 'flow', [
        'us-gaap:GeneralAndAdministrativeExpense', 'ifrs-full:GeneralAndAdministrativeExpense',
        'ifrs-full:AdministrativeExpense'
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
    -- Partnerships state earnings per unit.
    ('eps_basic', 'per_share', [
        'us-gaap:EarningsPerShareBasic', 'us-gaap:EarningsPerShareBasicAndDiluted',
        'us-gaap:NetIncomeLossPerOutstandingLimitedPartnershipUnitBasicNetOfTax',
        'us-gaap:NetIncomeLossPerOutstandingLimitedPartnershipUnit', 'ifrs-full:BasicEarningsLossPerShare',
        'ifrs-full:BasicAndDilutedEarningsLossPerShare'
    ]),
    ('eps_diluted', 'per_share', [
        'us-gaap:EarningsPerShareDiluted', 'us-gaap:EarningsPerShareBasicAndDiluted',
        'us-gaap:NetIncomeLossNetOfTaxPerOutstandingLimitedPartnershipUnitDiluted',
        'ifrs-full:DilutedEarningsLossPerShare', 'ifrs-full:BasicAndDilutedEarningsLossPerShare'
    ]),
    ('dividends_per_share', 'per_share', [
        'us-gaap:CommonStockDividendsPerShareDeclared', 'us-gaap:CommonStockDividendsPerShareCashPaid',
        'ifrs-full:DividendsRecognisedAsDistributionsToOwnersOfParentPerShare'
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
        'ifrs-full:CashFlowsFromUsedInOperatingActivities',
        'ifrs-full:CashFlowsFromUsedInOperatingActivitiesContinuingOperations', 'ifrs-full:CashFlowsFromUsedInOperations'
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
        'us-gaap:PaymentsToAcquireMachineryAndEquipment', 'us-gaap:PaymentsToAcquireOtherProductiveAssets',
        'ifrs-full:PurchaseOfPropertyPlantAndEquipmentClassifiedAsInvestingActivities',
        'ifrs-full:PurchaseOfPropertyPlantAndEquipmentIntangibleAssetsOtherThanGoodwillInvestmentPropertyAndOtherNoncurrentAssets'
    ]),
    -- If a filing states both of the first two, the second covers only plant and equipment.
    ('depreciation_and_amortization', 'flow', [
        'us-gaap:DepreciationAmortizationAndAccretionNet', 'us-gaap:DepreciationDepletionAndAmortization',
        'us-gaap:DepreciationAndAmortization', 'ifrs-full:AdjustmentsForDepreciationAndAmortisationExpense',
        'ifrs-full:DepreciationAndAmortisationExpense'
    ]),
    ('stock_compensation', 'flow', [
        'us-gaap:ShareBasedCompensation', 'us-gaap:AllocatedShareBasedCompensationExpense',
        'ifrs-full:AdjustmentsForSharebasedPayments'
    ]),
    ('dividends_paid', 'flow', [
        'us-gaap:PaymentsOfDividends', 'us-gaap:PaymentsOfDividendsCommonStock', 'us-gaap:PaymentsOfOrdinaryDividends',
        'ifrs-full:DividendsPaidClassifiedAsFinancingActivities'
    ]),
    ('shares_repurchased', 'flow', [
        'us-gaap:PaymentsForRepurchaseOfCommonStock', 'us-gaap:PaymentsForRepurchaseOfEquity',
        'ifrs-full:PaymentsToAcquireOrRedeemEntitysShares', 'ifrs-full:PurchaseOfTreasuryShares'
    ]),
    ('assets', 'balance', ['us-gaap:Assets', 'ifrs-full:Assets']),
    ('current_assets', 'balance', ['us-gaap:AssetsCurrent', 'ifrs-full:CurrentAssets']),
    ('liabilities', 'balance', ['us-gaap:Liabilities', 'ifrs-full:Liabilities']),
    -- Temporary equity is neither a liability nor equity; balance sheets show it between the two.
    ('temporary_equity', 'balance', [
        'us-gaap:TemporaryEquityCarryingAmountIncludingPortionAttributableToNoncontrollingInterests',
        'us-gaap:RedeemableNoncontrollingInterestEquityCarryingAmount',
        'us-gaap:TemporaryEquityCarryingAmountAttributableToParent'
    ]),
    ('current_liabilities', 'balance', ['us-gaap:LiabilitiesCurrent', 'ifrs-full:CurrentLiabilities']),
    ('equity', 'balance', [
        'us-gaap:StockholdersEquity', 'us-gaap:StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest',
        'us-gaap:PartnersCapital', 'us-gaap:MembersEquity', 'us-gaap:AssetsNet',
        'ifrs-full:EquityAttributableToOwnersOfParent', 'ifrs-full:Equity'
    ]),
    ('total_equity', 'balance', [
        'us-gaap:StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest', 'us-gaap:StockholdersEquity',
        'us-gaap:PartnersCapitalIncludingPortionAttributableToNoncontrollingInterest', 'us-gaap:PartnersCapital',
        'us-gaap:MembersEquity', 'us-gaap:AssetsNet', 'ifrs-full:Equity'
    ]),
    -- Some companies state cash by the concept of the cash flow statement, which may include restricted cash. The
    -- following concepts cover only a part of a bank's cash.
    ('cash', 'balance', [
        'us-gaap:CashAndCashEquivalentsAtCarryingValue',
        'us-gaap:CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents', 'us-gaap:Cash',
        'us-gaap:CashAndDueFromBanks', 'ifrs-full:CashAndCashEquivalents'
    ]),
    ('short_term_investments', 'balance', [
        'us-gaap:MarketableSecuritiesCurrent', 'us-gaap:ShortTermInvestments', 'us-gaap:AvailableForSaleSecuritiesCurrent',
        'us-gaap:AvailableForSaleSecuritiesDebtSecuritiesCurrent', 'us-gaap:DebtSecuritiesCurrent',
        'ifrs-full:ShorttermInvestments'
    ]),
    ('receivables', 'balance', [
        'us-gaap:AccountsReceivableNetCurrent', 'us-gaap:ReceivablesNetCurrent',
        'ifrs-full:TradeAndOtherCurrentReceivables', 'ifrs-full:CurrentTradeReceivables'
    ]),
    ('inventory', 'balance', [
        'us-gaap:InventoryNet', 'us-gaap:InventoryNetOfAllowancesCustomerAdvancesAndProgressBillings',
        'us-gaap:InventoryFinishedGoodsNetOfReserves', 'ifrs-full:Inventories'
    ]),
    ('goodwill', 'balance', ['us-gaap:Goodwill', 'ifrs-full:Goodwill']),
    ('debt', 'balance', ['ifrs-full:Borrowings']),
    -- The notes state this figure, sometimes rounded.
    ('combined_debt', 'balance', ['us-gaap:DebtLongtermAndShorttermCombinedAmount']),
    ('long_term_debt', 'balance', [
        'us-gaap:LongTermDebtNoncurrent', 'us-gaap:LongTermDebtAndCapitalLeaseObligations', 'us-gaap:LongTermNotesPayable',
        'us-gaap:ConvertibleLongTermNotesPayable', 'us-gaap:ConvertibleDebtNoncurrent', 'ifrs-full:LongtermBorrowings',
        'ifrs-full:NoncurrentPortionOfNoncurrentBorrowings'
    ]),
    ('long_term_debt_with_current_part', 'balance', [
        'us-gaap:LongTermDebt', 'us-gaap:LongTermDebtAndCapitalLeaseObligationsIncludingCurrentMaturities'
    ]),
    ('current_debt', 'balance', [
        'us-gaap:DebtCurrent', 'ifrs-full:CurrentBorrowingsAndCurrentPortionOfNoncurrentBorrowings'
    ]),
    ('current_part_of_long_term_debt', 'balance', [
        'us-gaap:LongTermDebtCurrent', 'us-gaap:LongTermDebtAndCapitalLeaseObligationsCurrent',
        'us-gaap:ConvertibleNotesPayableCurrent', 'us-gaap:ConvertibleDebtCurrent',
        'ifrs-full:CurrentPortionOfLongtermBorrowings', 'ifrs-full:CurrentPortionOfNoncurrentBorrowings'
    ]),
    ('short_term_borrowings', 'balance', [
        'us-gaap:ShortTermBorrowings', 'us-gaap:CommercialPaper', 'ifrs-full:ShorttermBorrowings'
    ]),
    -- The last concept is from a report's cover, which states the shares on a later day than the balance sheet.
    ('shares', 'balance', [
        'us-gaap:CommonStockSharesOutstanding', 'us-gaap:SharesOutstanding', 'ifrs-full:NumberOfSharesOutstanding',
        'dei:EntityCommonStockSharesOutstanding'
    ])
) AS items (item, kind, concepts);

-- Concepts that cover only a part of their item if the filing also states the item in `beside`. Examples are a bank's
-- revenue from contracts with customers, and the cost of goods that an insurer also sells. With if_less, the concept
-- covers only a part if it is less than that item in the same period. An example is revenue from the notes of a
-- landlord or a bank.
CREATE MACRO line_item_parts() AS TABLE
FROM (
    VALUES
    ('us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax', 'noninterest_income', false),
    ('us-gaap:RevenueFromContractWithCustomerIncludingAssessedTax', 'noninterest_income', false),
    ('us-gaap:CostOfGoodsAndServicesSold', 'policy_benefits', false),
    ('us-gaap:CostOfGoodsSold', 'policy_benefits', false),
    ('us-gaap:CostOfServices', 'policy_benefits', false),
    ('us-gaap:Revenues', 'lease_income', true),
    ('us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax', 'lease_income', true),
    ('us-gaap:RevenueFromContractWithCustomerIncludingAssessedTax', 'lease_income', true),
    ('us-gaap:Revenues', 'net_interest_income', true)
) AS parts (concept, beside, if_less);

-- The sums that make an item if no filing states it; the first sum with all its needed terms counts. Other terms are
-- added if they are stated; two such terms with the same figure are added once. If no filing states the long-term part
-- of debt, us-gaap:LongTermDebt means the line of the balance sheet, which excludes the current part.
CREATE MACRO line_item_sums() AS TABLE
FROM (
    VALUES
    ('revenue', 'flow', 1, 'net_interest_income', 1, true),
    ('revenue', 'flow', 1, 'noninterest_income', 1, true),
    ('gross_profit', 'flow', 1, 'revenue', 1, true),
    ('gross_profit', 'flow', 1, 'cost_of_revenue', -1, true),
    ('selling_general_and_administrative', 'flow', 1, 'selling_and_marketing', 1, true),
    ('selling_general_and_administrative', 'flow', 1, 'general_and_administrative', 1, true),
    ('free_cash_flow', 'flow', 1, 'operating_cash_flow', 1, true),
    ('free_cash_flow', 'flow', 1, 'capital_expenditure', -1, true),
    ('liabilities', 'balance', 1, 'assets', 1, true),
    ('liabilities', 'balance', 1, 'total_equity', -1, true),
    ('liabilities', 'balance', 1, 'temporary_equity', -1, false),
    ('debt', 'balance', 1, 'long_term_debt', 1, true),
    ('debt', 'balance', 1, 'current_debt', 1, true),
    ('debt', 'balance', 2, 'long_term_debt', 1, true),
    ('debt', 'balance', 2, 'current_part_of_long_term_debt', 1, false),
    ('debt', 'balance', 2, 'short_term_borrowings', 1, false),
    ('debt', 'balance', 3, 'long_term_debt_with_current_part', 1, true),
    ('debt', 'balance', 3, 'current_debt', 1, true),
    ('debt', 'balance', 4, 'long_term_debt_with_current_part', 1, true),
    ('debt', 'balance', 4, 'current_part_of_long_term_debt', 1, false),
    ('debt', 'balance', 4, 'short_term_borrowings', 1, false),
    ('debt', 'balance', 5, 'combined_debt', 1, true)
) AS sums (item, kind, place, term, factor, is_needed);
