-- The line items of companies: for each the concepts that state it, totals before parts. Of the concepts that a filing
-- states for its newest period, the first counts.
--
-- kind: flow adds up over time, per_share is a flow a share, average is over a period and does not add up, balance is of
-- a day. What is paid is above zero.
CREATE MACRO line_item_concepts() AS TABLE
SELECT item, kind, unnest(concepts) AS concept, generate_subscripts(concepts, 1) AS place
FROM (
    VALUES
    -- Banks' and brokers' revenue is net of interest, where they state it before interest too. What utilities and landlords
    -- earn by contracts with customers is a part of their operating revenue.
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
    -- Where a filing states both of the first two, the second is of acquired projects alone.
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
    -- Partnerships state theirs a unit.
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
    -- Beside the first, the second is of plant and equipment alone.
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
    -- Between liabilities and equity, and neither.
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
    -- Some state their cash by the concept of the cash flow statement, which may hold restricted cash too; what is left is
    -- a part of a bank's.
    ('cash', 'balance', [
        'us-gaap:CashAndCashEquivalentsAtCarryingValue',
        'us-gaap:CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents', 'us-gaap:Cash',
        'us-gaap:CashAndDueFromBanks', 'ifrs-full:CashAndCashEquivalents'
    ]),
    ('short_term_investments', 'balance', [
        'us-gaap:MarketableSecuritiesCurrent', 'us-gaap:ShortTermInvestments', 'us-gaap:AvailableForSaleSecuritiesCurrent',
        'us-gaap:AvailableForSaleSecuritiesDebtSecuritiesCurrent', 'ifrs-full:ShorttermInvestments'
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
    -- Of the notes, at times rounded.
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
    -- The balance sheet's, and on a later day the cover's.
    ('shares', 'balance', [
        'us-gaap:CommonStockSharesOutstanding', 'us-gaap:SharesOutstanding', 'ifrs-full:NumberOfSharesOutstanding',
        'dei:EntityCommonStockSharesOutstanding'
    ])
) AS items (item, kind, concepts);

-- Concepts that state only a part of the item in filings that state another item too: what banks earn by contracts with
-- customers, and what the goods cost that insurers sell beside. Others are a part where they are less than that item in the
-- same period: a note's revenue of a landlord who earns rents, or of a bank.
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

-- What an item is made of where no filing states it, of several sums the first that can be made. A term that is not
-- needed counts where it is stated, once where two such terms are the same figure. Where no filing states the long-term
-- part of debt, us-gaap:LongTermDebt is the line of the balance sheet, without the current part.
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
