"""Contract of dataset `transcripts`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared
from pitlake.datasets._earnings import DEFAULT_LAG

NO_CALL = GapRule(type="unverifiable", reason="no parent transcript", when="the part is linked to no Transcript")
NO_START = GapRule(
    type="unverifiable",
    reason="conference_datetime is missing or unreadable",
    when="Transcript.conference_datetime is not an instant since 1990, or is midnight, which means an unknown time",
)
NO_TICKER = GapRule(type="unverifiable", reason="no ticker", when="Transcript.symbol is blank")
DUPLICATE_CALL = GapRule(
    type="unverifiable",
    reason="duplicate of another call",
    when=(
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
        "states when the text came out. A setting can shorten the lag to 3 hours, which is an hour after the end of "
        "a two-hour call."
    ),
    columns=(
        Column(
            name="transcript_id",
            type="string",
            required=True,
            meaning="TICKER_YYYY-MM-DDTHH.MM, the call's New York start.",
        ),
        Column(name="ticker", type="string", required=True, meaning="Ticker of the company."),
        Column(name="company_name", type="string", meaning="Company name as the provider spells it."),
        Column(name="conference_datetime", type="instant", required=True, meaning="Start of the call."),
        Column(name="fiscal_year", type="int", meaning="Fiscal year the call reports on; unreliable upstream."),
        Column(
            name="fiscal_quarter",
            type="int",
            meaning="Fiscal quarter the call reports on; unreliable upstream.",
            minimum=1,
            maximum=4,
        ),
        Column(name="calendar_year", type="int", meaning="Calendar year of the call."),
        Column(name="calendar_quarter", type="int", meaning="Calendar quarter of the call.", minimum=1, maximum=4),
        Column(name="form_type", type="string", meaning="Form type under which the graph stores the call."),
        Column(name="speakers", type="json", meaning="Speaker to role, as JSON."),
        Column(name="qa_section", type="json", meaning="Question-and-answer part, if no exchanges could be parsed."),
        Column(name="full_text", type="string", meaning="Whole text, if nothing could be parsed."),
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
