"""Contract of dataset `av_estimates`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

OTHER_SHAPE = GapRule(
    "estimate lacks a figure", "a figure that the source always gives is missing", type="upstream_error"
)
NO_HORIZON = GapRule("no horizon", "the estimate does not say which period it is for")

EPS, COUNT, REVENUE = "USD per share", "analysts", "USD"

FIGURES = (
    Column("eps_estimate_average", "float", "Mean estimate.", unit=EPS),
    Column("eps_estimate_high", "float", "Highest estimate.", unit=EPS),
    Column("eps_estimate_low", "float", "Lowest estimate.", unit=EPS),
    Column("eps_estimate_analyst_count", "float", "Number of analysts.", unit=COUNT, minimum=0),
    Column("eps_estimate_average_7_days_ago", "float", "Mean 7 days before the fetch.", unit=EPS),
    Column("eps_estimate_average_30_days_ago", "float", "Mean 30 days before the fetch.", unit=EPS),
    Column("eps_estimate_average_60_days_ago", "float", "Mean 60 days before the fetch.", unit=EPS),
    Column("eps_estimate_average_90_days_ago", "float", "Mean 90 days before the fetch.", unit=EPS),
    Column("eps_estimate_revision_up_trailing_7_days", "float", "Raised in 7 days.", unit=COUNT, minimum=0),
    Column("eps_estimate_revision_down_trailing_7_days", "float", "Lowered in 7 days.", unit=COUNT, minimum=0),
    Column("eps_estimate_revision_up_trailing_30_days", "float", "Raised in 30 days.", unit=COUNT, minimum=0),
    Column("eps_estimate_revision_down_trailing_30_days", "float", "Lowered in 30 days.", unit=COUNT, minimum=0),
    Column("revenue_estimate_average", "float", "Mean estimate of revenue.", unit=REVENUE, minimum=0),
    Column("revenue_estimate_high", "float", "Highest estimate of revenue.", unit=REVENUE, minimum=0),
    Column("revenue_estimate_low", "float", "Lowest estimate of revenue.", unit=REVENUE, minimum=0),
    Column("revenue_estimate_analyst_count", "float", "Analysts for revenue.", unit=COUNT, minimum=0),
)

DATASET = Dataset(
    name="av_estimates",
    title="Analyst estimates of Alpha Vantage",
    summary=(
        "Consensus estimates as they were when fetched, one statement per period and fetch, including past periods. "
        "`..._days_ago` counts from the fetch, not from the end of the period."
    ),
    availability="When the answer was fetched, never earlier: the source shows its current state and keeps no history.",
    columns=(
        Column("ticker", "string", "The requested symbol.", required=True),
        Column("horizon", "string", "Fiscal quarter or fiscal year, possibly a past one.", required=True),
        Column("fiscal_date_ending", "date", "Month end that identifies the period.", required=True),
        *FIGURES,
    ),
    key=("ticker", "horizon", "fiscal_date_ending"),
    entity="ticker",
    alike=("ticker", "horizon"),
    rules=("eps_estimate_high >= eps_estimate_low", "revenue_estimate_high >= revenue_estimate_low"),
    source_tag="provider_metadata",
    revised_at="available_at",
    gap_rules=(
        shared.FUTURE,
        figures.NO_PERIOD,
        NO_HORIZON,
        OTHER_SHAPE,
        figures.TOLD_TWICE,
        *shared.unreadable(*(column.name for column in FIGURES)),
    ),
    group="external",
    lane=2,
    freshness=timedelta(days=8),
)
