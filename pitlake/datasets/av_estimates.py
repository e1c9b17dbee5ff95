"""Contract of dataset `av_estimates`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

OTHER_SHAPE = GapRule(
    type="upstream_error", reason="estimate lacks a figure", when="a figure that the source always states is missing"
)
NO_HORIZON = GapRule(type="unverifiable", reason="no horizon", when="the estimate does not say which period it is for")

EPS, COUNT, REVENUE = "USD per share", "analysts", "USD"

FIGURES = (
    Column(name="eps_estimate_average", type="float", unit=EPS, meaning="Mean estimate."),
    Column(name="eps_estimate_high", type="float", unit=EPS, meaning="Highest estimate."),
    Column(name="eps_estimate_low", type="float", unit=EPS, meaning="Lowest estimate."),
    Column(name="eps_estimate_analyst_count", type="float", unit=COUNT, meaning="Number of analysts.", minimum=0),
    Column(name="eps_estimate_average_7_days_ago", type="float", unit=EPS, meaning="Mean 7 days before the fetch."),
    Column(name="eps_estimate_average_30_days_ago", type="float", unit=EPS, meaning="Mean 30 days before the fetch."),
    Column(name="eps_estimate_average_60_days_ago", type="float", unit=EPS, meaning="Mean 60 days before the fetch."),
    Column(name="eps_estimate_average_90_days_ago", type="float", unit=EPS, meaning="Mean 90 days before the fetch."),
    Column(
        name="eps_estimate_revision_up_trailing_7_days",
        type="float",
        unit=COUNT,
        meaning="Raised in 7 days.",
        minimum=0,
    ),
    Column(
        name="eps_estimate_revision_down_trailing_7_days",
        type="float",
        unit=COUNT,
        meaning="Lowered in 7 days.",
        minimum=0,
    ),
    Column(
        name="eps_estimate_revision_up_trailing_30_days",
        type="float",
        unit=COUNT,
        meaning="Raised in 30 days.",
        minimum=0,
    ),
    Column(
        name="eps_estimate_revision_down_trailing_30_days",
        type="float",
        unit=COUNT,
        meaning="Lowered in 30 days.",
        minimum=0,
    ),
    Column(name="revenue_estimate_average", type="float", unit=REVENUE, meaning="Mean estimate of revenue.", minimum=0),
    Column(name="revenue_estimate_high", type="float", unit=REVENUE, meaning="Highest estimate of revenue.", minimum=0),
    Column(name="revenue_estimate_low", type="float", unit=REVENUE, meaning="Lowest estimate of revenue.", minimum=0),
    Column(name="revenue_estimate_analyst_count", type="float", unit=COUNT, meaning="Analysts for revenue.", minimum=0),
)

DATASET = Dataset(
    name="av_estimates",
    title="Analyst estimates of Alpha Vantage",
    summary=(
        "Consensus estimates as they were when fetched, one statement per period and fetch, including past periods. "
        "`..._days_ago` counts from the fetch, not from the end of the period."
    ),
    availability="When the answer was fetched, never earlier: the source shows its present state and keeps no history.",
    columns=(
        Column(name="ticker", type="string", required=True, meaning="The requested symbol."),
        Column(
            name="horizon",
            type="string",
            required=True,
            meaning="Fiscal quarter or fiscal year, possibly a past one.",
        ),
        Column(name="fiscal_date_ending", type="date", required=True, meaning="Month end that names the period."),
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
    partitioned=False,
    freshness=timedelta(days=8),
)
