"""Earnings calls and their parts: identity by ticker and minute, the publication lag, and which of two nodes counts."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from assets.graph import all_extractors
from assets.graph._calls import RICHER_CALL, id_shape
from pitlake.clock import new_york_day

START = datetime(2024, 5, 2, 21, tzinfo=timezone.utc)
PARTS = {
    "prepared_remarks": {"content": '[{"speaker": "CEO", "text": "Hello"}]'},
    "qa_exchanges": {
        "sequence": "0",
        "questioner": "Unknown",
        "questioner_title": None,
        "responders": "A, B",
        "responder_title": None,
        "exchanges": '[{"role": "question", "text": "Why?"}]',
    },
}


def call(**changes):
    return {
        "call_node": "AAPL_2024-05-02T17.00",
        "ticker": "AAPL",
        "conference_datetime": "2024-05-02T17:00:00-04:00",
        "exchange_count": 12,
    } | changes


def transcript(**changes):
    described = {
        "company_name": "Apple Inc.",
        "fiscal_year": "2,024",
        "fiscal_quarter": "2",
        "calendar_year": "2,024",
        "calendar_quarter": "2",
        "form_type": "TRANSCRIPT_Q2",
        "speakers": '{"CEO": "Chief"}',
        "qa_sections": [],
        "full_texts": [],
    }
    return call(**described) | changes


def part(name, **changes):
    return call(node="p1", **PARTS[name]) | changes


def test_a_call_is_named_by_ticker_and_minute(run):
    row = all_extractors()["transcripts"].normalise(transcript(call_node="AAPL_2024_2"), run)
    assert row.values["transcript_id"] == "AAPL_2024-05-02T17.00"
    assert (row.values["fiscal_year"], row.values["conference_datetime"]) == (2024, START)


TEXTS = {
    "transcripts": transcript(),
    "prepared_remarks": part("prepared_remarks"),
    "qa_exchanges": part("qa_exchanges"),
    "embeddings": part("qa_exchanges", kind="qa_exchange", vector=[0.5, 0.25]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_was_said_in_a_call_counts_a_day_after_its_start_or_a_set_lag(run, name):
    extractor = all_extractors()[name]
    assert extractor.normalise(TEXTS[name], run).available_at == START + timedelta(hours=24)
    lagging = replace(run, publication_lag=timedelta(hours=4))
    assert extractor.normalise(TEXTS[name], lagging).available_at == START + timedelta(hours=4)


@pytest.mark.parametrize("name", TEXTS)
def test_a_lag_ends_within_the_days_a_partition_looks_back(run, name):
    extractor = all_extractors()[name]
    for day in ("2024-03-09", "2024-03-10", "2024-05-02", "2024-11-02", "2024-11-03"):
        for spelled in (f"{day}T{hour:02d}:30:00-05:00" for hour in range(24)):
            start = datetime.fromisoformat(spelled)
            row = extractor.normalise(TEXTS[name] | {"conference_datetime": spelled}, run)
            assert 0 <= (new_york_day(row.available_at) - new_york_day(start)).days <= extractor.trail


MIDNIGHTS = [
    "2024-05-02T00:00:00-04:00",
    "2024-05-02T00:00:00.000-07:00",
    "2024-05-02 00:00:00-0700",
    "2024-05-02T04:00:00Z",
    "2024-11-03T04:00:00+00:00",
]


@pytest.mark.parametrize("start", [None, "", "2024-05-02", "1970-01-01T00:00:00Z", *MIDNIGHTS], ids=repr)
def test_a_call_without_a_start_is_a_gap(run, start):
    for name, record in (("transcripts", transcript), ("prepared_remarks", lambda **c: part("prepared_remarks", **c))):
        gap = all_extractors()[name].normalise(record(conference_datetime=start), run)
        assert gap.reason == "conference_datetime is missing or unreadable"


def test_a_call_without_a_ticker_is_a_gap(run):
    assert all_extractors()["transcripts"].normalise(transcript(ticker="null"), run).reason == "no ticker"


@pytest.mark.parametrize("name", PARTS)
def test_a_part_without_a_call_is_a_gap(run, name):
    gap = all_extractors()[name].normalise({"node": "p1"}, run)
    assert (gap.reason, gap.day) == ("no parent transcript", None)


def test_sequences_are_numbers_from_zero(run):
    extractor = all_extractors()["qa_exchanges"]
    assert extractor.normalise(part("qa_exchanges"), run).values["sequence"] == 0
    for wrong in (None, "first", "-1", "1.5"):
        assert extractor.normalise(part("qa_exchanges", sequence=wrong), run).reason == "sequence is unreadable"


def test_fallback_texts_come_with_the_call(run):
    record = transcript(qa_sections=['[{"text": "Q"}]'], full_texts=["All of it."])
    row = all_extractors()["transcripts"].normalise(record, run)
    assert (row.values["qa_section"], row.values["full_text"]) == ('[{"text":"Q"}]', "All of it.")


@pytest.mark.parametrize(
    ("node", "shape"),
    [("ATEC_2025-07-31T16.30", 2), ("ATEC_2025-07-31T16:30:00-04:00", 1), ("ATEC_2025_2", 0), ("BRK.B_2025_3", 0)],
)
def test_id_shapes_are_told_apart(node, shape):
    assert id_shape(node) == shape


def test_more_exchanges_win_then_the_newer_id():
    rank = RICHER_CALL.rank
    assert rank(call(exchange_count=22, call_node="X_2025_2")) > rank(call(exchange_count=16))
    assert rank(call()) > rank(call(call_node="AAPL_2024_2"))
