"""Contract of dataset `av_earnings_calendar`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

TORN = GapRule(
    type="upstream_error",
    reason="line has missing or extra fields",
    when="the line has fewer or more fields than the header",
)
NO_SYMBOL = GapRule(type="unverifiable", reason="no symbol", when="the line names no company")

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
        Column(name="ticker", type="string", required=True, meaning="Symbol of the company."),
        Column(name="name", type="string", meaning="Name of the company, or its symbol if the source has no name."),
        Column(name="fiscal_date_ending", type="date", required=True, meaning="Month end that names the period."),
        Column(name="report_date", type="date", required=True, meaning="Day the report was expected on."),
        Column(
            name="time_of_day",
            type="string",
            meaning="pre-market or post-market, where it is stated.",
            values=("pre-market", "post-market"),
        ),
        Column(
            name="estimate",
            type="float",
            unit="per share, in `currency`",
            meaning="Consensus at the time of the fetch.",
        ),
        Column(name="currency", type="string", meaning="Currency of the estimate.", pattern="[A-Z]{3}"),
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
    partitioned=False,
    freshness=timedelta(days=8),
)
