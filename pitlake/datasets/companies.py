"""Contract of dataset `companies`."""

from pitlake.contract import Column, Dataset, DriftLimits, GapRule
from pitlake.datasets import _shared as shared

NO_IDENTITY = GapRule(type="unverifiable", reason="no CIK or ticker", when="the node has no identifier")

DATASET = Dataset(
    name="companies",
    title="Company reference",
    summary="Snapshots of the graph's company nodes. The graph does not date them, so each is available when observed.",
    availability=(
        "When the lake observed the snapshot. Nothing earlier can be proven, so there is no row at earlier instants."
    ),
    columns=(
        Column(
            name="cik",
            type="string",
            required=True,
            meaning="Central Index Key, 10 digits, zero-padded.",
            pattern="[0-9]{10}",
            strict=True,
        ),
        Column(name="ticker", type="string", required=True, meaning="Ticker."),
        Column(name="name", type="string", meaning="Company name."),
        Column(name="exchange", type="string", meaning="Listing exchange."),
        Column(name="sector", type="string", meaning="Sector as the graph names it."),
        Column(name="industry", type="string", meaning="Industry as the graph names it."),
        Column(name="industry_normalized", type="string", meaning="Industry id in the graph's classification."),
        Column(name="sector_etf", type="string", meaning="ETF that represents the sector."),
        Column(name="industry_etf", type="string", meaning="ETF that represents the industry."),
        Column(
            name="mkt_cap",
            type="float",
            unit="USD",
            meaning="Market capitalisation when the graph loaded it.",
            minimum=0,
        ),
        Column(
            name="shares_out",
            type="float",
            unit="shares",
            meaning="Shares outstanding when the graph loaded them.",
            minimum=0,
        ),
        Column(name="employees", type="float", meaning="Employees when the graph loaded them.", minimum=0),
        Column(
            name="fiscal_year_end_month", type="int", meaning="Month the fiscal year ends in.", minimum=1, maximum=12
        ),
        Column(name="fiscal_year_end_day", type="int", meaning="Day of that month.", minimum=1, maximum=31),
    ),
    key=("cik",),
    entity="ticker",
    drift=DriftLimits(revised=None),
    source_tag="provider_metadata",
    gap_rules=(
        NO_IDENTITY,
        shared.FUTURE,
        *shared.unreadable("mkt_cap", "shares_out", "employees", "fiscal_year_end_month", "fiscal_year_end_day"),
    ),
    partitioned=False,
)
