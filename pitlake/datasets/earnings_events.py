"""Contract of dataset `earnings_events`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NO_EVENT = GapRule(
    "no release near the stated day",
    "the lake has no 8-K with item 2.02 of the company near the stated day, so the event is not proven",
)
SESSIONS = ("before_open", "during", "after_close", "no_session")

DATASET = Dataset(
    name="earnings_events",
    title="Earnings releases",
    summary=(
        "One row per 8-K with item 2.02: its acceptance is the instant of the event. Statements of other sources "
        "about the same release are attached to it. A revision is the statement of one source; the view combines the "
        "newest statement of each kind."
    ),
    availability=(
        "EDGAR's release of the filing. A statement of another source is public from the later of that release and "
        "its own availability."
    ),
    columns=(
        shared.ACCESSION,
        Column("cik", "string", "Central Index Key of the company, 10 digits, zero-padded."),
        Column("ticker", "string", "Ticker of the company."),
        Column("event_at", "instant", "The instant of the event: the acceptance.", required=True),
        Column("event_day", "date", "New York day of the event.", required=True),
        Column(
            "session",
            "string",
            (
                "Part of the trading day in which the event falls, by the exchange's calendar with early closes; "
                "null if the time of acceptance is unproven."
            ),
            values=SESSIONS,
            strict=True,
        ),
        shared.ACCEPTANCE_RULE,
        shared.RELEASE_RULE,
        Column("reported_date", "date", "Day of the report as Alpha Vantage states it."),
        Column("report_time", "string", "pre-market or post-market, as Alpha Vantage states it."),
        Column("fiscal_date_ending", "date", "Fiscal period end, as Alpha Vantage names it."),
        Column("yahoo_date", "date", "Day of the report as Yahoo states it."),
        Column("call_start", "instant", "Start of the earnings call."),
        Column("transcript_at", "instant", "When a transcript of the call was first available."),
        Column("source", "string", "Dataset whose statement came last.", required=True),
        Column("statement", "string", "Id of the statement in its source.", required=True),
    ),
    key=("accession_no",),
    identity=("accession_no", "source", "statement"),
    tiebreak=("source", "statement"),
    revised_at="available_at",
    entity="ticker",
    knowable={
        **dict.fromkeys(("ticker", "statement"), "hindsight"),
        **dict.fromkeys(("event_day", "session", "source"), "lake"),
    },
    source_tag="edgar_accepted",
    other_tags=("neo4j_created", "provider_metadata"),
    gap_rules=(NO_EVENT, shared.FUTURE),
    warnings=("sources_agree",),
    group="derived",
)
