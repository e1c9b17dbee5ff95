"""The companies and funds of the sample world: invented, with tickers that no exchange uses. QFH has the oddities.

Only the index keeps a real name, because the product compares with it. Its bars are invented.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

from sample.shapes import Graph, rng

SECTOR_ETFS = {
    "Basic Materials": "QSBM",
    "Communication Services": "QSCS",
    "Consumer Cyclical": "QSCC",
    "Consumer Defensive": "QSCD",
    "Energy": "QSEN",
    "Financial Services": "QSFS",
    "Healthcare": "QSHC",
    "Industrials": "QSIN",
    "Real Estate": "QSRE",
    "Technology": "QSTE",
    "Utilities": "QSUT",
}

# Industry -> (sector, ETF). If an ETF represents several industries, only the first industry has bars in the graph.
INDUSTRIES = {
    "Airlines": ("Industrials", "QIAR"),
    "Asset Management": ("Financial Services", "QIAM"),
    "Auto Parts": ("Consumer Cyclical", "QIRT"),
    "Banks - Diversified": ("Financial Services", "QIAM"),
    "Beverages - Non-Alcoholic": ("Consumer Defensive", "QIBV"),
    "Consumer Electronics": ("Technology", "QIEL"),
    "Copper": ("Basic Materials", "QIMT"),
    "Department Stores": ("Consumer Cyclical", "QIRT"),
    "Discount Stores": ("Consumer Defensive", "QIRT"),
    "Drug Manufacturers - General": ("Healthcare", "QIDR"),
    "Farm & Heavy Construction Machinery": ("Industrials", "QIAR"),
    "Farm Products": ("Consumer Defensive", "QIBV"),
    "Healthcare Plans": ("Healthcare", "QIHP"),
    "Internet Content & Information": ("Communication Services", "QIWB"),
    "Internet Retail": ("Consumer Cyclical", "QIRT"),
    "Oil & Gas E&P": ("Energy", "QIEP"),
    "Oil & Gas Integrated": ("Energy", "QIOG"),
    "REIT - Retail": ("Real Estate", "QIRR"),
    "Restaurants": ("Consumer Cyclical", "QIRS"),
    "Semiconductors": ("Technology", "QISC"),
    "Software - Application": ("Technology", "QISW"),
    "Software - Infrastructure": ("Technology", "QISW"),
    "Utilities - Regulated Electric": ("Utilities", "QIUE"),
}

INDEX = "SPY"
NEVER_PRICED = "QBYX"
ODD = "QFH"

REVENUE = "us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax"
REVENUES = "us-gaap:Revenues"
LEASES = "us-gaap:OperatingLeaseLeaseIncome"
REGULATED = "us-gaap:RegulatedAndUnregulatedOperatingRevenue"

_KEYS = "AAPL MSFT NVDA AMZN GOOGL META WMT NOG JPM XOM KO JNJ UNH CAT AAL NEE O AVGO CRM CMG ADM M FCX ORLY PX QFH"
SEEDS = _KEYS.split()
"""The keys of the random numbers of LIVING, in its order. A changed key would change all figures of its company."""


@dataclass(frozen=True)
class Company:
    """A company. Prices are in split-adjusted USD, revenue in USD million per quarter, shares and market value in
    units.

    year_end: (month, rule) with the rule "month" for the month's last day, "saturday" or "sunday" for its last Saturday
    or Sunday, "nearest" for the Saturday nearest to its end. died: the last day on which it traded and reported.
    """

    ticker: str
    cik: str
    name: str
    exchange: str
    industry: str
    first_price: float
    last_price: float
    shares: int
    employees: int | None
    revenue: float
    growth: float
    margin: float
    year_end: tuple[int, str] = (12, "month")
    revenue_concept: str = REVENUES
    reports_after_close: bool = True
    segments: tuple[str, str] = ("ProductMember", "ServiceMember")
    known_revenue: tuple[int, ...] = ()
    index: int = 0
    died: date = date.max

    @property
    def seed(self) -> str:
        """The key of the company's random numbers, which does not depend on its name."""
        return SEEDS[self.index] if self.index < len(SEEDS) else self.ticker

    @property
    def sector(self) -> str:
        """The sector in separate words, as in Company.sector."""
        return INDUSTRIES[self.industry][0]

    @property
    def bare_cik(self) -> str:
        """The CIK without leading zeros, as in contexts, members and addresses."""
        return self.cik.lstrip("0")


def squashed(name: str) -> str:
    """Return the node id of a sector or industry: joined words with upper-case initials (`OilAndGasEAndP`)."""
    words = name.replace("&", " And ").replace("-", " ").split()
    return "".join(word[0].upper() + word[1:] for word in words)


LIVING = (
    Company("QACB", "0009800010", "Aconby Inc.", "NAS", "Consumer Electronics", 125.07, 205.17, 14_935_826_000, 164_000,
            94_000, 0.004, 0.24, (9, "saturday"), REVENUE, True, ("ProductMember", "ServiceMember"),
            (117_154, 94_836, 81_797, 89_498, 119_575, 90_753, 85_777, 94_930, 124_300, 95_359)),
    Company("QBAR", "0009800014", "Barrowmere Corporation", "NAS", "Software - Infrastructure", 239.58, 497.41,
            7_432_543_000, 228_000, 60_000, 0.035, 0.35, (6, "month"), REVENUE, True,
            ("ProductMember", "ServiceMember"),
            (52_747, 52_857, 56_189, 56_517, 62_020, 61_858, 64_727, 65_585, 69_632, 70_066)),
    Company("QBRY", "0009800019", "Brynmoor Corporation", "NAS", "Semiconductors", 14.315, 157.99, 24_400_000_000,
            36_000, 20_000, 0.2, 0.5, (1, "sunday"), REVENUES, True, ("ComputeMember", "GraphicsMember"),
            (6_051, 7_192, 13_507, 18_120, 22_103, 26_044, 30_040, 35_082, 39_331, 44_062)),
    Company("QAGV", "0009800018", "Agavewood, Inc.", "NAS", "Internet Retail", 85.82, 219.39, 10_616_350_000,
            1_556_000, 140_000, 0.025, 0.07, (12, "month"), REVENUE, True, ("ProductMember", "ServiceMember"),
            (149_204, 127_358, 134_383, 143_083, 169_961, 143_313, 147_977, 158_877, 187_792, 155_667)),
    Company("QARL", "0009800024", "Arlescombe Inc.", "NAS", "Internet Content & Information", 89.12, 176.23,
            12_155_000_000, 183_000, 80_000, 0.03, 0.26, (12, "month"), REVENUES, True,
            ("AdvertisingMember", "CloudMember"),
            (76_048, 69_787, 74_604, 76_693, 86_310, 80_539, 84_742, 88_268, 96_469, 90_234)),
    Company("QAXL", "0009800023", "Axlewood Platforms, Inc.", "NAS", "Internet Content & Information", 124.74, 738.09,
            2_521_000_000, 74_067, 36_000, 0.04, 0.34, (12, "month"), REVENUES, True,
            ("AppsMember", "DevicesMember"),
            (32_165, 28_645, 31_999, 34_146, 40_111, 36_455, 39_071, 40_589, 48_385, 42_314)),
    Company("QYRW", "0009800008", "Yarrowmart Inc.", "NYS", "Discount Stores", 47.89, 97.78, 8_015_000_000, 2_100_000,
            157_000, 0.012, 0.027, (1, "month"), REVENUES, False, ("DomesticMember", "InternationalMember")),
    Company("QBG", "0009800021", "Bogmarsh Oil and Gas, Inc.", "NYS", "Oil & Gas E&P", 30.11, 28.35, 98_000_000, 49,
            480, 0.02, 0.26, segments=("OilMember", "NaturalGasMember")),
    Company("QATW", "0009800004", "Atterwick Hale & Co.", "NYS", "Banks - Diversified", 135.12, 289.91, 2_779_000_000,
            317_233, 41_000, 0.015, 0.32, reports_after_close=False,
            segments=("ConsumerBankingMember", "CommercialBankingMember")),
    Company("QZP", "0009800006", "Zephyrine Oil Corporation", "NYS", "Oil & Gas Integrated", 106.51, 107.80,
            4_309_000_000, 61_000, 86_000, -0.002, 0.1, reports_after_close=False,
            segments=("UpstreamMember", "EnergyProductsMember")),
    Company("QAU", "0009800005", "The Auberne Company", "NYS", "Beverages - Non-Alcoholic", 62.95, 70.75,
            4_304_000_000, 69_700, 11_300, 0.008, 0.23, reports_after_close=False,
            segments=("ConcentrateOperationsMember", "FinishedProductOperationsMember")),
    Company("QASB", "0009800009", "Ashby & Broome", "NYS", "Drug Manufacturers - General", 178.19, 152.75,
            2_406_000_000, 138_100, 21_500, 0.006, 0.2, reports_after_close=False,
            segments=("InnovativeMedicineMember", "MedTechMember")),
    Company("QXAN", "0009800012", "Xanthe Health Group Incorporated", "NYS", "Healthcare Plans", 518.64, 311.97,
            907_000_000, 400_000, 92_000, 0.02, 0.055, reports_after_close=False,
            segments=("PlansMember", "PharmacyMember")),
    Company("QALH", "0009800003", "Althorne Inc.", "NYS", "Farm & Heavy Construction Machinery", 239.37, 388.21,
            470_000_000, 112_900, 16_000, 0.002, 0.16, reports_after_close=False,
            segments=("ConstructionIndustriesMember", "ResourceIndustriesMember")),
    Company("QABW", "0009800001", "Abelwing Airlines Group Inc.", "NAS", "Airlines", 12.74, 11.22, 659_000_000, 133_300,
            13_200, 0.006, 0.015, reports_after_close=False, segments=("PassengerMember", "CargoMember")),
    Company("QBEC", "0009800013", "Beckmarsh Energy, Inc.", "NYS", "Utilities - Regulated Electric", 83.6, 69.42,
            2_058_000_000, 16_700, 6_400, 0.004, 0.25, revenue_concept=REGULATED, reports_after_close=False,
            segments=("GridSegmentMember", "WindSegmentMember")),
    Company("QBSH", "0009800011", "Bushwell Income Corporation", "NYS", "REIT - Retail", 63.43, 57.61, 903_000_000, 468,
            1_180, 0.018, 0.19, revenue_concept=LEASES, segments=("RetailMember", "IndustrialMember")),
    Company("QAKS", "0009800025", "Akersley Inc.", "NAS", "Semiconductors", 55.9, 275.65, 4_703_000_000, 37_000,
            10_800, 0.05, 0.3, (10, "nearest"), REVENUES, True, ("SemiconductorMember", "SoftwareMember")),
    Company("QANV", "0009800022", "Anvilgate, Inc.", "NYS", "Software - Application", 132.59, 272.69, 956_000_000,
            76_453, 8_700, 0.02, 0.13, (1, "month"), REVENUES, True, ("SubscriptionMember", "ServicesMember")),
    Company("QAMB", "0009800020", "Ambercombe Grill, Inc.", "NYS", "Restaurants", 27.75, 56.15, 1_347_000_000,
            130_504, 2_600, 0.025, 0.13, segments=("FoodAndBeverageMember", "DeliveryMember")),
    Company("QADL", "0009800002", "Adderlea-Dunlin Company", "NYS", "Farm Products", 92.85, 52.78, 480_000_000,
            44_043, 23_000, -0.005, 0.028, reports_after_close=False,
            segments=("NutritionMember", "CarbohydrateSolutionsMember")),
    Company("QAVN", "0009800015", "Avelt's, Inc.", "NYS", "Department Stores", 20.65, 11.66, 278_000_000, 94_189, 5_700,
            -0.004, 0.01, (1, "nearest"), REVENUES, False, ("DigitalMember", "StoresMember")),
    Company("QAPT", "0009800016", "Apsley-McTurk Inc.", "NYS", "Copper", 38.0, 43.35, 1_436_000_000, 28_500, 5_800,
            0.01, 0.09, reports_after_close=False, segments=("CopperMember", "GoldMember")),
    Company("QBTL", "0009800017", "Butley's Automotive, Inc.", "NAS", "Auto Parts", 56.0, 90.13, 850_000_000, 93_419,
            4_000, 0.012, 0.15, segments=("DoItYourselfMember", "ProfessionalMember")),
    Company(NEVER_PRICED, "0009800026", "Byxfleet, Inc.", "NYS", "Asset Management", 10.6, 10.2, 110_000_000, 240, 66,
            0.02, 0.1, segments=("ManagementFeesMember", "AdvisoryFeesMember")),
    Company(ODD, "0009900001", "Quillfeather & Daughters Holdings, Inc.", "BATS", "Department Stores", 42.0, 51.5,
            41_300_000, None, 310, 0.01, 0.06, segments=("QuillsMember", "InkMember")),
)  # fmt: skip

# Companies that end before the world does: one is acquired, one is delisted by its exchange, one deregisters
# by Form 15.
ACQUIRED, STRUCK, DARK = "QWRN", "QTTH", "QCRB"
DEAD = (
    Company(ACQUIRED, "0009900701", "Wrenfield Instruments, Inc.", "NYS", "Semiconductors", 48.0, 66.0, 82_000_000,
            2_900, 410, 0.02, 0.17, segments=("GaugesMember", "SensorsMember"), died=date(2024, 4, 30)),
    Company(STRUCK, "0009900702", "Tallow & Thatch Stores, Inc.", "NAS", "Department Stores", 21.0, 0.4, 61_000_000,
            7_400, 530, -0.03, -0.06, segments=("StoresMember", "OnlineMember"), died=date(2024, 8, 20)),
    Company(DARK, "0009900703", "Corbel Water Works, Inc.", "NAS", "Utilities - Regulated Electric", 9.5, 7.0,
            9_400_000, 310, 38, 0.003, 0.08, reports_after_close=False, segments=("WaterMember", "SewerMember"),
            died=date(2024, 11, 15)),
)  # fmt: skip
_FIRST_DEAD = 7_000  # This is above all indexes at any scale.


def companies(scale: int = 1) -> Iterator[Company]:
    """Yield LIVING and DEAD, then `(scale - 1)` further companies for each of LIVING."""
    for index, company in enumerate(LIVING):
        yield replace(company, index=index)
    for index, company in enumerate(DEAD, start=_FIRST_DEAD):
        yield replace(company, index=index)
    for index in range(len(LIVING), len(LIVING) * scale):
        random = rng("company", index)
        letters = "".join(chr(ord("A") + (index // 26**place) % 26) for place in (2, 1, 0))
        price = round(random.uniform(8, 400), 2)
        yield Company(
            ticker=f"Q{letters}Z",
            cik=f"{9_910_000 + index:010d}",
            name=f"Sample {letters.title()} Corporation",
            exchange=random.choice(("NYS", "NAS")),
            industry=random.choice(sorted(INDUSTRIES)),
            first_price=price,
            last_price=round(price * random.uniform(0.5, 2.2), 2),
            shares=random.randrange(20, 4_000) * 1_000_000,
            employees=random.randrange(100, 90_000),
            revenue=random.randrange(50, 20_000),
            growth=random.uniform(-0.01, 0.04),
            margin=random.uniform(0.02, 0.3),
            reports_after_close=random.random() < 0.6,
            index=index,
        )


def by_ticker(ticker: str) -> Company:
    """Return a company that exists at every scale."""
    return next(company for company in companies() if company.ticker == ticker)


def add_classification(graph: Graph) -> None:
    """Add sectors, industries and the index, and their links."""
    graph.merged("MarketIndex", INDEX, ticker=INDEX, etf=INDEX, name="S&P 500")
    for sector, etf in SECTOR_ETFS.items():
        graph.merged("Sector", squashed(sector), etf=etf, name=squashed(sector))
        graph.edge(("Sector", "BELONGS_TO", "MarketIndex"), squashed(sector), INDEX)
    for industry, (sector, etf) in INDUSTRIES.items():
        graph.merged("Industry", squashed(industry), sector_id=squashed(sector), etf=etf, name=squashed(industry))
        graph.edge(("Industry", "BELONGS_TO", "Sector"), squashed(industry), squashed(sector))


def add_company(graph: Graph, company: Company) -> None:
    """Add the company's node and its industry."""
    month, rule = company.year_end
    graph.merged(
        "Company",
        company.cik,
        cik=company.cik,
        ticker=company.ticker,
        symbol=company.ticker,
        name=company.name,
        displayLabel=f"{company.name} ({company.ticker})",
        exchange=company.exchange,
        sector=company.sector,
        industry=company.industry,
        industry_normalized=squashed(company.industry),
        sector_etf=SECTOR_ETFS[company.sector],
        industry_etf=INDUSTRIES[company.industry][1],
        mkt_cap=int(company.shares * company.last_price),
        shares_out=company.shares,
        employees=company.employees,
        fiscal_year_end_month=month,
        fiscal_year_end_day={"month": 31 if month in (1, 12) else 30, "saturday": 28, "sunday": 26}.get(rule, 1),
    )
    graph.edge(("Company", "BELONGS_TO", "Industry"), company.cik, squashed(company.industry))


def add_relations(graph: Graph) -> None:
    """Relate neighbouring companies in the list, as if news mentioned them together, once and in one direction."""
    filers = list(companies())
    for source, target in pairwise(filers):
        graph.edge(
            ("Company", "RELATED_TO", "Company"),
            source.cik,
            target.cik,
            source_ticker=source.ticker,
            target_ticker=target.ticker,
            relationship_type="news_co_occurrence",
            bidirectional=True,
        )
