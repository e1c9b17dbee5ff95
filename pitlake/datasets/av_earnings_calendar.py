"""Contract of dataset `av_earnings_calendar`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

TORN = GapRule(
    "line has missing or extra fields", "the line has fewer or more fields than the header", type="upstream_error"
)
NO_SYMBOL = GapRule("no symbol", "the line names no company")

DATASET = Dataset(
    name="av_earnings_calendar",
    title="Expected earnings dates of Alpha Vantage",
    summary=(
        "Expected report dates of companies, as the calendar showed them when fetched. Few of them have a time of day."
    ),
    availability=(
        "When the answer was fetched, never earlier, because the source shows its current state and keeps no history."
    ),
    columns=(
        Column("ticker", "string", "Symbol of the company.", required=True),
        Column("name", "string", "Name of the company, or its symbol if the source has no name."),
        Column("fiscal_date_ending", "date", "Month end that identifies the period.", required=True),
        Column("report_date", "date", "Day the report was expected on.", required=True),
        Column(
            "time_of_day",
            "string",
            "pre-market or post-market, if stated.",
            values=("pre-market", "post-market"),
        ),
        Column("estimate", "float", "Consensus at the time of the fetch.", unit="per share, in `currency`"),
        Column("currency", "string", "Currency of the estimate.", pattern="[A-Z]{3}"),
    ),
    key=("ticker", "fiscal_date_ending"),
    entity="ticker",
    source_tag="provider_metadata",
    revised_at="available_at",
    gap_rules=(
        shared.FUTURE,
        TORN,
        NO_SYMBOL,
        figures.NO_PERIOD,
        figures.TOLD_TWICE,
        figures.OTHER_TICKER,
        *shared.unreadable("report_date", "estimate"),
    ),
    group="external",
    lane=2,
    freshness=timedelta(days=8),
)
