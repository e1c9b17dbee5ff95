"""Contract of dataset `transcripts`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared
from pitlake.datasets._earnings import DEFAULT_LAG

NO_CALL = GapRule("no parent transcript", "the part is linked to no Transcript")
NO_START = GapRule(
    "conference_datetime is missing or unreadable",
    "Transcript.conference_datetime is not an instant since 1990, or is midnight, which means an unknown time",
)
NO_TICKER = GapRule("no ticker", "Transcript.symbol is blank")
DUPLICATE_CALL = GapRule(
    "duplicate of another call",
    (
        "two nodes of one call have different content; the one with more exchanges is used, then the one with the "
        "newer form of id"
    ),
)
PART_GAPS = (NO_CALL, NO_START, NO_TICKER, DUPLICATE_CALL, shared.FUTURE)

DATASET = Dataset(
    name="transcripts",
    title="Earnings calls",
    summary="One row per earnings call, keyed by ticker and starting minute.",
    availability=(
        f"{DEFAULT_LAG // timedelta(hours=1)} hours after the call's start (`conference_datetime`), because no source "
        "says when the text came out. A setting can shorten the lag to 3 hours, which is an hour after the end of a "
        "two-hour call."
    ),
    columns=(
        Column("transcript_id", "string", "TICKER_YYYY-MM-DDTHH.MM, the call's New York start.", required=True),
        Column("ticker", "string", "Ticker of the company.", required=True),
        Column("company_name", "string", "Company name as the provider writes it."),
        Column("conference_datetime", "instant", "Start of the call.", required=True),
        Column("fiscal_year", "int", "Fiscal year the call reports on; unreliable upstream."),
        Column(
            "fiscal_quarter", "int", "Fiscal quarter the call reports on; unreliable upstream.", minimum=1, maximum=4
        ),
        Column("calendar_year", "int", "Calendar year of the call."),
        Column("calendar_quarter", "int", "Calendar quarter of the call.", minimum=1, maximum=4),
        Column("form_type", "string", "Form type under which the graph stores the call."),
        Column("speakers", "json", "Speaker to role, as JSON."),
        Column("qa_section", "json", "Question-and-answer part, if no exchanges could be parsed."),
        Column("full_text", "string", "Whole text, if nothing could be parsed."),
    ),
    key=("transcript_id",),
    entity="ticker",
    knowable=dict.fromkeys(("transcript_id", "ticker", "company_name"), "hindsight"),
    source_tag="neo4j_created",
    gap_rules=(
        NO_START,
        NO_TICKER,
        DUPLICATE_CALL,
        shared.FUTURE,
        *shared.unreadable(
            "fiscal_year", "fiscal_quarter", "calendar_year", "calendar_quarter", "speakers", "qa_section"
        ),
    ),
    freshness=timedelta(days=40),
)
