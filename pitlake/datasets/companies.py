"""Contract of dataset `companies`."""

from pitlake.contract import Column, Dataset, DriftLimits, GapRule
from pitlake.datasets import _shared as shared

NO_IDENTITY = GapRule("no CIK or ticker", "the node has no identifier")

DATASET = Dataset(
    name="companies",
    title="Company reference",
    summary="Snapshots of the graph's company nodes. The graph does not date them, so each is available when observed.",
    availability=(
        "When the lake observed the snapshot. Nothing earlier can be proven, so earlier instants have no rows."
    ),
    columns=(
        Column(
            "cik",
            "string",
            "Central Index Key, 10 digits, zero-padded.",
            required=True,
            pattern="[0-9]{10}",
            strict=True,
        ),
        Column("ticker", "string", "Ticker.", required=True),
        Column("name", "string", "Company name."),
        Column("exchange", "string", "Listing exchange."),
        Column("sector", "string", "Sector as the graph names it."),
        Column("industry", "string", "Industry as the graph names it."),
        Column("industry_normalized", "string", "Industry id in the graph's classification."),
        Column("sector_etf", "string", "ETF that represents the sector."),
        Column("industry_etf", "string", "ETF that represents the industry."),
        Column("mkt_cap", "float", "Market capitalisation when the graph loaded it.", unit="USD", minimum=0),
        Column("shares_out", "float", "Shares outstanding when the graph loaded them.", unit="shares", minimum=0),
        Column("employees", "float", "Employees when the graph loaded them.", minimum=0),
        Column("fiscal_year_end_month", "int", "Month the fiscal year ends in.", minimum=1, maximum=12),
        Column("fiscal_year_end_day", "int", "Day of that month.", minimum=1, maximum=31),
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
