"""Contract of dataset `earnings_events`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NO_EVENT = GapRule(
    type="unverifiable",
    reason="no release near the stated day",
    when="the lake has no 8-K with item 2.02 of the company near the stated day, so the event is not proven",
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
        Column(name="cik", type="string", meaning="Central Index Key of the company, 10 digits, zero-padded."),
        Column(name="ticker", type="string", meaning="Ticker of the company."),
        Column(name="event_at", type="instant", required=True, meaning="The instant of the event: the acceptance."),
        Column(name="event_day", type="date", required=True, meaning="New York day of the event."),
        Column(
            name="session",
            type="string",
            values=SESSIONS,
            strict=True,
            meaning=(
                "Part of the trading day in which the event falls, by the exchange's calendar with early closes; "
                "null if the time of acceptance is unproven."
            ),
        ),
        shared.ACCEPTANCE_RULE,
        shared.RELEASE_RULE,
        Column(name="reported_date", type="date", meaning="Day of the report as Alpha Vantage states it."),
        Column(name="report_time", type="string", meaning="pre-market or post-market, as Alpha Vantage states it."),
        Column(name="fiscal_date_ending", type="date", meaning="Fiscal period end, as Alpha Vantage names it."),
        Column(name="yahoo_date", type="date", meaning="Day of the report as Yahoo states it."),
        Column(name="call_start", type="instant", meaning="Start of the earnings call."),
        Column(name="transcript_at", type="instant", meaning="When a transcript of the call was first available."),
        Column(name="source", type="string", required=True, meaning="Dataset whose statement came last."),
        Column(name="statement", type="string", required=True, meaning="Id of the statement in its source."),
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
    partitioned=False,
)
