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
    type="no_data",
    reason="no reported figure",
    when="reportedEPS is absent: the period has not been reported, or its figure is unknown",
)
RUNNING_YEAR = GapRule(
    type="no_data",
    reason="fiscal year is not over",
    when="the newest year ends less than 300 days after the previous one, so it is the sum of an unfinished year",
)
BEFORE_PERIOD_END = GapRule(
    type="unverifiable",
    reason="reported before its period ended",
    when="reportedDate is before fiscalDateEnding, so one of them is wrong",
)

DATASET = Dataset(
    name="av_earnings",
    title="Reported earnings of Alpha Vantage",
    summary=(
        "Reported earnings per share by quarter, with the consensus estimate, and by year. The figures are those of "
        "the first fetch. A restatement before the first fetch can't be distinguished from the original report."
    ),
    availability=(
        "EDGAR's release of the 8-K with item 2.02 on the reported New York day, if the lake has it and it is before "
        "the day's end. If there is such an 8-K only on the next day, its release; otherwise the END of the reported "
        "day. The instant is at most a day late, or late until the release of the next day's filing. It is never "
        "early if the stated day is right. If a complete list of the company's filings proves that it is wrong, the "
        "statement is a gap. A year is available together with its last quarter. A figure counts from the fetch unless "
        "polls of the company's splits prove that none followed, because the source restates its history after every "
        "split. The evidence names the rule that was used."
    ),
    columns=(
        Column(name="ticker", type="string", required=True, meaning="The requested symbol."),
        Column(
            name="period_type",
            type="string",
            required=True,
            meaning="quarter or year.",
            values=("quarter", "year"),
            strict=True,
        ),
        Column(name="fiscal_date_ending", type="date", required=True, meaning="Month end that identifies the period."),
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
            meaning="Value at the time of the fetch, adjusted for splits until then.",
        ),
        Column(
            name="estimated_eps",
            type="float",
            unit="USD per share",
            meaning="Consensus before the report, adjusted for splits until the fetch.",
        ),
        Column(name="surprise", type="float", unit="USD per share", meaning="Reported less estimated, as stated."),
        Column(name="surprise_percentage", type="float", unit="percent", meaning="The surprise, as stated."),
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
    partitioned=False,
    freshness=timedelta(days=120),
)
