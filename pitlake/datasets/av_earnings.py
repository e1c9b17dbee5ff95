"""Contract of dataset `av_earnings`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

NO_REPORTED_DATE = GapRule("no reported date", "the quarter has no readable reportedDate since 1990, so it has no date")
NO_QUARTER = GapRule(
    "no quarter ends with the year",
    "no quarter of the same answer has the year's fiscal end, so the year has no date",
)
NOT_REPORTED = GapRule(
    "no reported figure",
    "reportedEPS is absent: the period has not been reported, or its figure is unknown",
    type="no_data",
)
RUNNING_YEAR = GapRule(
    "fiscal year is not over",
    "the newest year ends less than 300 days after the previous one, so it is the sum of an unfinished year",
    type="no_data",
)
BEFORE_PERIOD_END = GapRule(
    "reported before its period ended", "reportedDate is before fiscalDateEnding, so one of them is wrong"
)

DATASET = Dataset(
    name="av_earnings",
    title="Reported earnings of Alpha Vantage",
    summary=(
        "Reported earnings per share by quarter, with the consensus estimate, and by year. The figures come from the "
        "first fetch. A restatement before the first fetch can't be distinguished from the original report."
    ),
    availability=(
        "EDGAR's release of the 8-K with item 2.02 on the reported New York day, if the lake has it and it is before "
        "the day's end. If there is such an 8-K only on the next day, its release; otherwise the end of the reported "
        "day. The instant is late by at most a day, or until the release of the next day's filing. It is never early "
        "if the stated day is right. If a complete list of the company's filings proves that the day is wrong, the "
        "statement becomes a gap. A year is available together with its last quarter. A figure is available from the "
        "fetch unless polls of the company's splits prove that no split followed, because the source restates its "
        "history after every split. The evidence names the rule that was used."
    ),
    columns=(
        Column("ticker", "string", "The requested symbol.", required=True),
        Column("period_type", "string", "quarter or year.", required=True, values=("quarter", "year"), strict=True),
        Column("fiscal_date_ending", "date", "Month end that identifies the period.", required=True),
        Column("reported_date", "date", "Day of the report as stated, New York.", required=True),
        Column("report_time", "string", "pre-market or post-market, as stated.", values=("pre-market", "post-market")),
        Column(
            "reported_eps",
            "float",
            "Value at the time of the fetch, adjusted for splits until then.",
            unit="USD per share",
            required=True,
        ),
        Column(
            "estimated_eps",
            "float",
            "Consensus before the report, adjusted for splits until the fetch.",
            unit="USD per share",
        ),
        Column("surprise", "float", "Reported less estimated, as stated.", unit="USD per share"),
        Column("surprise_percentage", "float", "The surprise, as stated.", unit="percent"),
    ),
    key=("ticker", "period_type", "fiscal_date_ending"),
    entity="ticker",
    alike=("ticker", "period_type"),
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
        figures.NO_RESULTS,
        figures.TOLD_TWICE,
        *shared.unreadable("reported_eps", "estimated_eps", "surprise", "surprise_percentage", "report_time"),
    ),
    group="external",
    lane=2,
    freshness=timedelta(days=120),
)
