"""Contract of dataset `av_earnings`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

NO_REPORTED_DATE = GapRule(
    type="unverifiable",
    reason="no reported date",
    when="the quarter has no readable reportedDate since 1990, so nothing dates it",
)
NO_QUARTER = GapRule(
    type="unverifiable",
    reason="no quarter ends with the year",
    when="no quarter of the same answer has the year's fiscal end, so nothing dates the year",
)
NOT_REPORTED = GapRule(
    type="no_data", reason="no reported figure", when="reportedEPS is absent: the period is not reported, or not known"
)
RUNNING_YEAR = GapRule(
    type="no_data",
    reason="fiscal year is not over",
    when="the newest year ends within 300 days of the one before: the source sums up a running year under that name",
)
BEFORE_PERIOD_END = GapRule(
    type="unverifiable",
    reason="reported before its period ended",
    when="reportedDate lies before fiscalDateEnding, so one of the two is wrong",
)

DATASET = Dataset(
    name="av_earnings",
    title="Reported earnings of Alpha Vantage",
    summary=(
        "Reported earnings per share by quarter, with the estimate they met, and by year. Figures are those of the "
        "first fetch: what the source restated before can't be distinguished from the report."
    ),
    availability=(
        "EDGAR's release of the 8-K with item 2.02 of the reported New York day, where the lake has it and it is "
        "earlier than the day's end; of the 8-K of the day after, where there is that alone; otherwise the END of the "
        "reported day. Late by a day at most, or until the release of the day after's filing; never early while the "
        "stated day is right. A year is available with the quarter it ends with. What a split on record has followed "
        "counts when fetched, for the source restates its history by every split. Evidence names the rule."
    ),
    columns=(
        Column(name="ticker", type="string", required=True, meaning="Symbol as asked for."),
        Column(
            name="period_type",
            type="string",
            required=True,
            meaning="quarter or year.",
            values=("quarter", "year"),
            strict=True,
        ),
        Column(name="fiscal_date_ending", type="date", required=True, meaning="Month end that names the period."),
        Column(name="reported_date", type="date", required=True, meaning="Day of the report as stated, New York."),
        Column(
            name="report_time",
            type="string",
            meaning="pre-market or post-market, as stated.",
            values=("pre-market", "post-market"),
        ),
        Column(
            name="reported_eps",
            type="float",
            unit="USD per share",
            required=True,
            meaning="As the source stated it when fetched, restated by the splits until then.",
        ),
        Column(
            name="estimated_eps",
            type="float",
            unit="USD per share",
            meaning="Consensus before the report, restated by the splits until the fetch.",
        ),
        Column(name="surprise", type="float", unit="USD per share", meaning="Reported less estimated, as stated."),
        Column(name="surprise_percentage", type="float", unit="percent", meaning="The surprise, as stated."),
    ),
    key=("ticker", "period_type", "fiscal_date_ending"),
    entity="ticker",
    knowable={"ticker": "hindsight"},
    source_tag="provider_metadata",
    gap_rules=(
        shared.FUTURE,
        NO_REPORTED_DATE,
        NO_QUARTER,
        figures.NO_PERIOD,
        NOT_REPORTED,
        RUNNING_YEAR,
        BEFORE_PERIOD_END,
        figures.TOLD_TWICE,
        *shared.unreadable("reported_eps", "estimated_eps", "surprise", "surprise_percentage", "report_time"),
    ),
    group="external",
    lane=2,
    partitioned=False,
    freshness=timedelta(days=120),
)
