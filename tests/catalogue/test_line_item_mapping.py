"""The concepts that companies use for line items. The figures under a company's name are from its annual report."""

from collections import defaultdict
from datetime import date, timedelta

import pytest

from tests.catalogue.test_line_items import Companies

YEAR, DAY = ("2024-01-01", "2024-12-31"), (None, "2024-12-31")

TESLA = """
DebtCurrent               2343000000
LongTermDebt              5535000000
Assets                  122070000000
Liabilities              48390000000
"""
ADOBE = """
Revenues                 21505000000 year
DebtCurrent               1499000000
LongTermDebt              4129000000
"""
JOHNSON = """
ResearchAndDevelopmentExpenseExcludingAcquiredInProcessCost 17232000000 year
ResearchAndDevelopmentExpense 1841000000 year
PaymentsOfOrdinaryDividends 11823000000 year
"""
WALMART = """
Revenues                680985000000 year
RevenueFromContractWithCustomerExcludingAssessedTax 674538000000 year
DepreciationAmortizationAndAccretionNet 12973000000 year
DepreciationAmortizationAndAccretionNet 13000000000 year
ShortTermBorrowings       3100000000
ShortTermBorrowings       3068000000
Assets                  260823000000
StockholdersEquity       91013000000
StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest 97421000000
RedeemableNoncontrollingInterestEquityCarryingAmount 271000000
"""
UNITED_HEALTH = """
Revenues                400278000000 year
CostOfGoodsAndServicesSold 46694000000 year
PolicyholderBenefitsAndClaimsIncurredNet 264185000000 year
DebtLongtermAndShorttermCombinedAmount 76180000000
DebtCurrent               4545000000
LongTermDebtNoncurrent   72359000000
"""
A_MAKER = """
CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents 950
Cash                       100
"""
A_BANK = """
InterestAndDividendIncomeOperating 900 year
InterestIncomeExpenseNet   600 year
NoninterestIncome          250 year
RevenueFromContractWithCustomerExcludingAssessedTax 90 year
LongTermDebt               400
ShortTermBorrowings         50
"""
A_SMALL_BANK = """
InterestIncomeExpenseNet   600 year
NoninterestIncome          250 year
Revenues                   120 year
"""
A_LANDLORD = """
Revenues                    13 year
RevenueFromContractWithCustomerExcludingAssessedTax 5 year
OperatingLeaseLeaseIncome 1540 year
"""
A_BROKER = """
Revenues                 1200 year
RevenuesNetOfInterestExpense 1000 year
"""
A_UTILITY = """
RegulatedAndUnregulatedOperatingRevenue 500 year
RevenueFromContractWithCustomerExcludingAssessedTax 470 year
"""
A_PARTNERSHIP = """
Assets                     900
PartnersCapitalIncludingPortionAttributableToNoncontrollingInterest 400
PartnersCapital            350
NetIncomeLossNetOfTaxPerOutstandingLimitedPartnershipUnitDiluted 2.1 year USD/shares
PaymentsForRepurchaseOfEquity 30 year
"""
A_FOREIGN_FILER = """
ifrs-full:Revenue          900 year TWD
ifrs-full:Revenue           30 year USD
ifrs-full:CostOfSales      400 year TWD
ifrs-full:ProfitLoss       110 year TWD
ifrs-full:ProfitLoss         3 year USD
ifrs-full:ProfitLossAttributableToOwnersOfParent 100 year TWD
ifrs-full:BasicAndDilutedEarningsLossPerShare 2.5 year TWD/shares
ifrs-full:BasicAndDilutedEarningsLossPerShare 0.08 year USD/shares
ifrs-full:Assets          5000 day TWD
ifrs-full:LongtermBorrowings 300 day TWD
ifrs-full:CurrentPortionOfLongtermBorrowings 40 day TWD
ifrs-full:ShorttermBorrowings 25 day TWD
ifrs-full:SellingExpense    60 year TWD
ifrs-full:AdministrativeExpense 30 year TWD
"""


def asked(facts, query="quarters", **options):
    """Return the answer to a query about a company with these facts."""
    companies = Companies([{"cik": 7, "facts": facts}])
    rows = companies.world.run(query, ticker="0000000007", **options)
    companies.world.connection.close()
    return rows


def year_of(table):
    return {row["item"]: row for row in all_of(table)}


def all_of(table):
    """Return the line items of an annual report. Each line: concept, value, `year`, `day` or `before`, unit."""
    facts = {}
    days = {"before": (None, "2022-12-31"), "year": YEAR}
    for place, line in enumerate(table.strip().splitlines()):
        concept, value, *more = line.split()
        taxonomy, _, name = concept.rpartition(":")
        start, end = days.get(more[0] if more else "", DAY)
        fact = {"start": start, "end": end, "val": float(value), "accn": "k-1", "form": "10-K", "filed": "2025-02-20"}
        units = facts.setdefault(taxonomy or "us-gaap", {}).setdefault(name, {"units": {}})["units"]
        units.setdefault(more[1] if len(more) > 1 else "USD", []).append(fact | {"place": place})
    return asked(facts, "line_items")


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (TESLA, {"debt": 7_878_000_000, "liabilities": 48_390_000_000}),
        (ADOBE, {"revenue": 21_505_000_000, "debt": 5_628_000_000}),
        (JOHNSON, {"research_and_development": 17_232_000_000, "dividends_paid": 11_823_000_000}),
        (
            WALMART,
            {
                "revenue": 680_985_000_000,
                "equity": 91_013_000_000,
                "liabilities": 163_131_000_000,
                "depreciation_and_amortization": 12_973_000_000,
                "short_term_borrowings": 3_068_000_000,
            },
        ),
        (UNITED_HEALTH, {"revenue": 400_278_000_000, "debt": 76_904_000_000, "cost_of_revenue": None}),
        (UNITED_HEALTH, {"gross_profit": None}),
        (A_MAKER, {"cash": 950}),
        (A_BANK, {"revenue": 850, "debt": 450}),
        (A_SMALL_BANK, {"revenue": 850}),
        (A_LANDLORD, {"revenue": 1540}),
        (A_BROKER, {"revenue": 1000}),
        (A_UTILITY, {"revenue": 500}),
        (A_PARTNERSHIP, {"equity": 350, "liabilities": 500, "eps_diluted": 2.1, "shares_repurchased": 30}),
        (A_FOREIGN_FILER, {"revenue": 900, "net_income": 100, "eps_diluted": 2.5, "gross_profit": 500}),
        (A_FOREIGN_FILER, {"assets": 5000, "debt": 365, "selling_general_and_administrative": 90}),
    ],
)
def test_line_items_of_a_year_equal_the_companys_statements(table, expected):
    rows = year_of(table)
    assert {item: rows[item]["value"] if item in rows else None for item in expected} == expected


A_COMPANY_OF_MINORITIES = """
CashAndCashEquivalentsAtCarryingValue 90
CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents 95
CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents 85 before
StockholdersEquity         400
StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest 420
StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest 410 before
CommonStockSharesOutstanding 7 before shares
dei:EntityCommonStockSharesOutstanding 8 day shares
"""


def test_an_earlier_balance_does_not_fall_back_to_a_broader_concept():
    """Cash of an earlier day excludes restricted cash, and equity excludes minorities."""
    rows = [
        row for row in all_of(A_COMPANY_OF_MINORITIES) if row["item"] in ("cash", "equity", "total_equity", "shares")
    ]
    assert {(row["item"], row["period_end"].year, row["value"]) for row in rows} == {
        ("cash", 2024, 90),
        ("equity", 2024, 400),
        ("total_equity", 2024, 420),
        ("total_equity", 2022, 410),
        ("shares", 2022, 7),
        ("shares", 2024, 8),
    }


def test_a_filing_in_two_currencies_counts_in_the_companys_own_currency():
    units = {row["unit"] for row in year_of(A_FOREIGN_FILER).values()}
    assert units == {"iso4217:TWD", "iso4217:TWDshares"}


@pytest.mark.parametrize(("last", "expected"), [(1.0, 4.0), (0.8, None)])
def test_trailing_earnings_per_share_are_null_across_a_split(last, expected):
    """No filing states its weighted shares, so they are derived from net income and earnings per share."""
    quarters = [("01-01", "03-31"), ("04-01", "06-30"), ("07-01", "09-30"), ("10-01", "12-31")]
    facts = {"NetIncomeLoss": ("USD", []), "EarningsPerShareDiluted": ("USD/shares", [])}
    for place, (start, end) in enumerate(quarters):
        filing = {"start": f"2024-{start}", "end": f"2024-{end}", "accn": f"q-{place}", "form": "10-Q"}
        filed = {"filed": f"2025-0{place + 1}-20"}
        facts["NetIncomeLoss"][1].append(filing | filed | {"val": 100.0})
        facts["EarningsPerShareDiluted"][1].append(filing | filed | {"val": 1.0 if place < 2 else last})
    concepts = {name: {"units": {unit: statement}} for name, (unit, statement) in facts.items()}
    result = {row["item"]: row["value"] for row in asked({"us-gaap": concepts}, spans=["ttm"])}
    assert (result.get("net_income"), result.get("eps_diluted")) == (400, expected)


TRANSITION = """
2018-07-01 2018-09-30 10 10-Q
2018-07-01 2018-12-31 21 10-Q
2018-07-01 2019-03-31 33 10-Q
2018-07-01 2019-06-30 46 10-K
2019-07-01 2019-09-30 14 10-Q
2019-07-01 2019-12-31 29 10-KT
2020-01-01 2020-03-31 16 10-Q
"""


def revenue_of(table, *spans):
    """Return revenues by span and last day. Each line of `table`: first day, last day, value, form, filing day."""
    statement = []
    for place, line in enumerate(table.strip().splitlines()):
        start, end, value, form, *filed = line.split()
        public = filed[0] if filed else (date.fromisoformat(end) + timedelta(days=40)).isoformat()
        statement.append(
            {"start": start, "end": end, "val": float(value), "accn": f"a-{place}", "form": form, "filed": public}
        )
    rows = asked({"us-gaap": {"Revenues": {"units": {"USD": statement}}}}, spans=[*spans])
    return {(row["span"], str(row["period_end"])): row["value"] for row in rows}


def test_a_change_of_the_fiscal_year_loses_no_quarter():
    """The fiscal year's end moves from June to December. A transition report covers the six months in between."""
    result = revenue_of(TRANSITION, "quarter", "year", "ttm")
    quarters = [result.pop(("quarter", end)) for end in sorted(end for span, end in result if span == "quarter")]
    assert quarters == [10, 11, 12, 13, 14, 15, 16]
    assert result == {
        ("year", "2019-06-30"): 46,
        ("ttm", "2019-06-30"): 46,
        ("ttm", "2019-09-30"): 50,
        ("ttm", "2019-12-31"): 54,
        ("ttm", "2020-03-31"): 58,
    }


AFFIRMED = """
2022-01-01 2022-09-30 70 10-Q 2022-10-25
2022-01-01 2022-12-31 95 10-K 2023-02-16
2022-01-01 2022-12-31 92 10-K/A 2023-05-16
2022-01-01 2022-09-30 70 10-Q 2023-10-27
"""
RESTATED = """
2022-01-01 2022-09-30 70 10-Q 2022-10-25
2022-01-01 2022-12-31 95 10-K 2023-02-16
2023-01-01 2023-03-31 20 10-Q 2023-04-26
2023-04-01 2023-06-30 20 10-Q 2023-07-26
2023-07-01 2023-09-30 21 10-Q 2023-10-26
2022-01-01 2022-12-31 80 10-K 2024-02-16
"""


@pytest.mark.parametrize(("table", "last"), [(AFFIRMED, 22), (RESTATED, 25)])
def test_the_fourth_quarter_is_derived_only_from_a_consistent_year(table, last):
    """A restated year counts only if the nine months were stated again since. No twelve months mix old and new."""
    result = revenue_of(table, "quarter", "ttm")
    assert result["quarter", "2022-12-31"] == last
    assert ("ttm", "2023-09-30") not in result


SPUN_OFF = """
2022-01-01 2022-09-30 70 10-Q 2022-10-25
2022-07-01 2022-09-30 24 10-Q 2022-10-25
2022-01-01 2022-12-31 95 10-K 2023-02-16
2023-01-01 2023-09-30 64 10-Q 2023-10-27
2022-01-01 2022-09-30 60 10-Q 2023-10-27
2023-01-01 2023-12-31 85 10-K 2024-02-16
2022-01-01 2022-12-31 80 10-K 2024-02-16
2022-01-01 2022-12-31 79 10-K 2025-02-13
"""


@pytest.mark.parametrize(
    ("day", "quarter", "months"),
    [("2023-03-01", 25, 95), ("2023-11-01", None, None), ("2024-03-01", 20, 84), ("2025-03-01", 20, 84)],
)
def test_restated_and_unrestated_figures_are_never_combined(day, quarter, months):
    """Part of the company is divested. The nine months are restated first, then the year, and later the year again."""
    known = "\n".join(line for line in SPUN_OFF.strip().splitlines() if line.split()[-1] < day)
    result = revenue_of(known, "quarter", "ttm")
    assert result.get(("quarter", "2022-12-31")) == quarter
    end = "2022-12-31" if day < "2023-10" else "2023-09-30"
    assert result.get(("ttm", end)) == months


ROUNDED = """
NetCashProvidedByUsedInOperatingActivities 2014-01-27 2014-07-27 247304000 10-Q 2014-08-20
NetCashProvidedByUsedInOperatingActivities 2014-01-27 2015-01-25 905656000 10-K 2015-03-12
NetCashProvidedByUsedInOperatingActivities 2014-01-27 2014-07-27 247000000 10-Q 2015-08-19
NetCashProvidedByUsedInOperatingActivities 2015-01-26 2015-07-26 409000000 10-Q 2015-08-19
PaymentsToAcquirePropertyPlantAndEquipment 2014-01-27 2014-07-27 51595000 10-Q 2014-08-20
PaymentsToAcquirePropertyPlantAndEquipment 2014-01-27 2015-01-25 122381000 10-K 2015-03-12
PaymentsToAcquirePropertyPlantAndEquipment 2014-01-27 2014-07-27 52000000 10-Q 2015-08-19
PaymentsToAcquirePropertyPlantAndEquipment 2015-01-26 2015-07-26 54000000 10-Q 2015-08-19
"""


def figures_of(table, item, span):
    """Return an item's values by the last day of their period, for a company with these facts in dollars."""
    facts = defaultdict(list)
    for line in table.strip().splitlines():
        name, start, end, value, form, filed = line.split()
        accession = f"{form}-{filed}"
        facts[name].append(
            {"start": start, "end": end, "val": int(value), "accn": accession, "form": form, "filed": filed}
        )
    concepts = {name: {"units": {"USD": statement}} for name, statement in facts.items()}
    rows = asked({"us-gaap": concepts}, items=[item], spans=[span])
    return {str(row["period_end"]): row["value"] for row in rows}


def test_a_figure_repeated_in_millions_is_not_a_restatement():
    """247,304 thousand and 247 million are the same figure, so the twelve months to July 2015 can be computed."""
    assert figures_of(ROUNDED, "operating_cash_flow", "ttm")["2015-07-26"] == 905_656_000 + 409_000_000 - 247_000_000
    cash = 905_656_000 - 122_381_000 + 409_000_000 - 54_000_000 - (247_000_000 - 52_000_000)
    assert figures_of(ROUNDED, "free_cash_flow", "ttm")["2015-07-26"] == cash


@pytest.mark.parametrize(
    ("again", "other", "is_restated"),
    [
        (247_000_000, 52_000_000, False),
        (246_000_000, 52_000_000, True),
        (247_300_000, 51_600_000, False),
        (247_200_000, 51_600_000, True),
        (247_304_500, 51_595_001, False),
        (247_304_501, 51_595_001, True),
    ],
)
def test_statements_agree_within_half_a_unit_of_the_coarser_filing(again, other, is_restated):
    table = ROUNDED.replace(" 247000000 ", f" {again} ").replace(" 52000000 ", f" {other} ")
    assert ("2015-07-26" not in figures_of(table, "operating_cash_flow", "ttm")) == is_restated


COMPENSATION = """
AllocatedShareBasedCompensationExpense 2023-01-30 2023-04-30 735000000 10-Q 2023-05-26
ShareBasedCompensation 2023-01-30 2023-07-30 1576000000 10-Q 2023-08-28
AllocatedShareBasedCompensationExpense 2023-01-30 2023-07-30 1576000000 10-Q 2023-08-28
AllocatedShareBasedCompensationExpense 2023-05-01 2023-07-30 {} 10-Q 2023-08-28
"""
LATER = "ShareBasedCompensation 2023-01-30 2023-04-30 735000000 10-Q 2024-05-29"


@pytest.mark.parametrize(
    ("statement", "later", "expected"), [(842, "", 842), (842, LATER, 842), (900, "", 900), (900, LATER, 841)]
)
def test_a_stated_quarter_is_overridden_only_beyond_rounding_and_within_a_concept(statement, later, expected):
    table = COMPENSATION.format(statement * 1_000_000) + later
    assert figures_of(table, "stock_compensation", "quarter")["2023-07-30"] == expected * 1_000_000
