"""Contract of dataset `yahoo_earnings`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

NO_DATE = GapRule("event date is missing or unreadable", "the event has no readable date, or one before 1990")
NOT_REPORTED = GapRule(
    "no reported figure",
    "the event has no reported figure, because it is in the future or the figure is unknown",
    type="no_data",
)

DATASET = Dataset(
    name="yahoo_earnings",
    title="Earnings events of Yahoo",
    summary=(
        "Reported earnings per share with the consensus estimate, by the day of the event as Yahoo gives it. If Yahoo "
        "moves an event by up to three weeks, the lake adds a revision, available when observed. The figures come from "
        "the first fetch. A change before the first fetch can't be distinguished from the original report."
    ),
    availability=(
        "The end of the event's day in New York. It is the day in UTC or New York, whichever is later; without a time "
        "zone, the next day. Yahoo has shown days as midnight UTC, which is the evening before in New York, so its "
        "times of day are not trusted. This is at most two days late. If a complete list of the company's filings "
        "proves that the day is wrong, the statement becomes a gap. A figure is available from the fetch unless polls "
        "of the company's splits prove that no split followed, because the source restates its history at every split."
    ),
    columns=(
        Column("ticker", "string", "The requested symbol.", required=True),
        Column(
            "first_stated",
            "date",
            "Day first stated for the event, which identifies it if the source changes its day.",
            required=True,
        ),
        Column("event_date", "date", "Day of the event from which the availability is derived.", required=True),
        Column("event_text", "string", "Time of the event as the source writes it.", required=True, proof=True),
        Column("time_zone", "string", "Time zone the source names, such as EST; it is not used.", proof=True),
        Column(
            "reported_eps",
            "float",
            "As the source stated it when fetched, restated by the splits until then.",
            unit="USD per share",
            required=True,
        ),
        Column(
            "estimated_eps",
            "float",
            "Consensus before the report, adjusted for splits until the fetch.",
            unit="USD per share",
        ),
        Column("surprise_stated", "float", "The surprise as stated: a percentage, or a fraction in older answers."),
    ),
    key=("ticker", "first_stated"),
    entity="ticker",
    knowable={"ticker": "hindsight", **dict.fromkeys(("first_stated", "event_date"), "lake")},
    source_tag="provider_metadata",
    gap_rules=(
        shared.FUTURE,
        NO_DATE,
        NOT_REPORTED,
        figures.NO_RESULTS,
        figures.TOLD_TWICE,
        figures.OTHER_TICKER,
        *shared.unreadable("reported_eps", "estimated_eps", "surprise_stated", "event_text", "time_zone"),
    ),
    group="external",
    lane=2,
    freshness=timedelta(days=120),
)
