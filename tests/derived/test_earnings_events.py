"""Earnings events: the filing is the event, other sources add to it later, and no answer contains later statements."""

from datetime import date, timedelta
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.derived import earnings_events
from assets.derived.earnings_events import derive, events, when
from checks.agreement import disagreements, sources_agree
from pitlake.datasets.earnings_events import DATASET
from pitlake.lake.lake import Lake
from pitlake.session import connect
from tests.derived.conftest import OBSERVED, put_rows, utc

ACCEPTED = utc("2024-02-01T16:30:12-05:00")
CALLED = utc("2024-02-01T17:00:00-05:00")
RELEASE_ITEMS = ["Item 2.02: Results of Operations and Financial Condition"]


def release(at=ACCEPTED, number=1, ticker="AAPL", items=RELEASE_ITEMS, form="8-K") -> dict:
    return {
        "accession_no": f"0000320193-24-{number:06d}", "form_type": form, "cik": "0000320193", "ticker": ticker,
        "tickers": [ticker], "items": items, "created": at, "available_at": at,
    }  # fmt: skip


def reported(day=date(2024, 2, 1), at=ACCEPTED, time="post-market") -> dict:
    return {
        "ticker": "AAPL", "period_type": "quarter", "fiscal_date_ending": date(2023, 12, 31), "reported_date": day,
        "report_time": time, "reported_eps": 2.18, "available_at": at,
    }  # fmt: skip


def call(start=CALLED, at=CALLED + timedelta(hours=24)) -> dict:
    return {
        "exchange": "NASDAQ", "ticker": "AAPL", "fiscal_year": 2024, "fiscal_quarter": 1, "call_start": start,
        "text": "Good afternoon.", "turn_count": 0, "available_at": at,
    }  # fmt: skip


SOURCES = {"reports": release(), "av_earnings": reported(), "call_transcripts": call()}


def answer(lake, as_of):
    with connect(as_of, lake=lake, datasets=["earnings_events"]) as session:
        return session.sql("SELECT * FROM earnings_events ORDER BY accession_no").arrow().to_pylist()


def derived(lake):
    return derive(lake, run_id="derive", observed_at=OBSERVED).outcome.total


def test_reports_alone_are_enough_for_earnings_events(lake, put):
    put("reports", release())
    derived(lake)
    [event] = answer(lake, OBSERVED)
    assert (event["event_at"], event["available_at"], event["session"]) == (ACCEPTED, ACCEPTED, "after_close")


def test_an_evening_event_is_public_when_edgar_releases_it(lake, put):
    accepted, released = utc("2024-02-01T18:05:00-05:00"), utc("2024-02-02T07:30:00-05:00")
    put("reports", release(accepted) | {"available_at": released, "release_rule": "form_and_clock"})
    put("av_earnings", reported())
    derived(lake)
    assert answer(lake, released - timedelta(microseconds=1)) == []
    [event] = answer(lake, released)
    assert (event["event_at"], event["available_at"], event["session"]) == (accepted, released, "after_close")
    assert (event["acceptance_rule"], event["release_rule"]) == ("offset", "form_and_clock")
    assert event["report_time"] == "post-market"


def filed(accepted, rule, at) -> dict:
    return release(accepted) | {
        "items": ["2.02"], "accepted_at": accepted, "acceptance_rule": rule, "acceptance_raw": "x", "available_at": at,
        "release_rule": "filing_date",
    }  # fmt: skip


def test_an_event_with_an_unproven_clock_has_no_session_until_proven(lake, put):
    early, late = utc("2024-02-01T08:00:00-05:00"), utc("2024-02-01T13:00:00-05:00")
    put("companies", {"cik": "0000320193", "ticker": "AAPL", "available_at": utc("2024-01-02T12:00:00-05:00")})
    put("sec_filings", filed(late, "later_reading", late))
    put("sec_filings", filed(early, "two_readings", early))
    put("names", {
        "cik": "0000320193", "kind": "ticker", "name": "AAPL", "all_names": ["AAPL"], "source": "dei",
        "statement": "x", "available_at": early - timedelta(days=30),
    })  # fmt: skip
    put("av_earnings", reported(at=late))
    put("call_transcripts", call())
    derived(lake)
    [before], [after] = answer(lake, OBSERVED - timedelta(seconds=1)), answer(lake, OBSERVED)
    assert (before["event_at"], before["session"], before["acceptance_rule"]) == (late, None, "later_reading")
    assert (after["event_at"], after["session"], after["acceptance_rule"]) == (early, "before_open", "two_readings")
    assert (after["reported_date"], after["call_start"]) == (date(2024, 2, 1), CALLED)


def test_filings_without_item_2_02_and_amendments_are_no_events(lake, put):
    put("reports", release(items=["Item 7.01: Regulation FD"]), release(number=2, form="8-K/A"))
    assert derived(lake).extracted == 0


def test_a_statement_shows_in_an_event_only_from_its_own_availability(lake, put):
    for dataset, row in SOURCES.items():
        put(dataset, row)
    derived(lake)
    [before] = answer(lake, ACCEPTED + timedelta(hours=2))
    [after] = answer(lake, call()["available_at"])
    assert (before["report_time"], before["call_start"], before["transcript_at"]) == ("post-market", None, None)
    assert (after["call_start"], after["transcript_at"]) == (call()["call_start"], call()["available_at"])
    assert (after["event_at"], after["available_at"]) == (ACCEPTED, call()["available_at"])


def test_a_statement_available_before_its_filing_shows_only_with_the_filing(lake, put):
    put("reports", release())
    put("yahoo_earnings", {
        "ticker": "AAPL", "first_stated": date(2024, 2, 1), "event_date": date(2024, 2, 1), "event_text": "2024-02-01",
        "reported_eps": 2.18,
        "available_at": ACCEPTED - timedelta(hours=3),
    })  # fmt: skip
    derived(lake)
    assert answer(lake, ACCEPTED - timedelta(microseconds=1)) == []
    assert answer(lake, ACCEPTED)[0]["yahoo_date"] == date(2024, 2, 1)


def test_a_statement_without_a_release_near_is_a_gap(lake, put):
    put("reports", release())
    put("av_earnings", reported(day=date(2023, 11, 2), at=utc("2023-11-03T00:00:00-04:00")))
    count = derived(lake)
    assert (count.extracted, count.published, count.gaps) == (2, 1, 1)


def test_deriving_again_publishes_nothing(lake, put):
    for dataset, row in SOURCES.items():
        put(dataset, row)
    derived(lake)
    assert derived(lake).published == 0


@pytest.mark.parametrize("order", list(permutations(SOURCES))[1::2], ids="-".join)
def test_the_order_in_which_sources_came_changes_nothing(tmp_path, order):
    lake = Lake(tmp_path)
    for dataset in order:
        put_rows(lake, dataset, SOURCES[dataset])
        derived(lake)
    reply, _ = events(lake.snapshot(), OBSERVED)
    with connect(OBSERVED, lake=lake, datasets=["earnings_events"]) as session:
        stored = session.sql("SELECT source, available_at FROM earnings_events_revisions ORDER BY ALL").rows()
    assert stored == sorted((row["source"], row["available_at"]) for row in reply)


MOMENTS = st.integers(0, 6 * 24 * 4).map(lambda quarter: ACCEPTED + timedelta(minutes=15 * quarter))


@settings(max_examples=10, deadline=None)
@given(
    releases=st.lists(MOMENTS, min_size=1, max_size=3, unique=True),
    statements=st.lists(st.tuples(MOMENTS, st.integers(-2, 6)), max_size=3, unique_by=lambda each: each[0]),
    calls=st.lists(MOMENTS, max_size=2, unique_by=lambda at: at.day),
    cut=MOMENTS,
)
def test_no_event_row_depends_on_data_that_became_available_later(tmp_path_factory, releases, statements, calls, cut):
    rows = [("reports", release(at, number)) for number, at in enumerate(releases)]
    for number, (at, day) in enumerate(statements):
        names = {"fiscal_date_ending": date(2023, 12, 31 - number)}
        rows.append(("av_earnings", reported(date(2024, 2, 1) + timedelta(days=day), at) | names))
    rows += [("call_transcripts", call(at - timedelta(hours=24), at) | {"fiscal_year": at.day}) for at in calls]
    whole, bare = Lake(tmp_path_factory.mktemp("whole")), Lake(tmp_path_factory.mktemp("bare"))
    for lake, remaining in ((whole, rows), (bare, [row for row in rows if row[1]["available_at"] <= cut])):
        for dataset in ("reports", "av_earnings", "call_transcripts"):
            for row in (row for name, row in remaining if name == dataset):
                put_rows(lake, dataset, row)
        lake.start()
    full, _ = events(whole.snapshot(), OBSERVED)
    assert [row for row in full if row["available_at"] <= cut] == events(bare.snapshot(), OBSERVED)[0]


@pytest.mark.parametrize(
    ("moment", "session"),
    [
        ("2024-02-01T09:29:59-05:00", "before_open"),
        ("2024-02-01T09:30:00-05:00", "during"),
        ("2024-02-01T15:59:59-05:00", "during"),
        ("2024-02-01T16:00:00-05:00", "after_close"),
        ("2024-07-03T12:59:59-04:00", "during"),
        ("2024-07-03T13:00:00-04:00", "after_close"),
        ("2025-01-09T10:00:00-05:00", "no_session"),
        ("2024-02-03T10:00:00-05:00", "no_session"),
        ("2024-02-02T02:00:00+00:00", "after_close"),
    ],
)
def test_the_session_of_an_event_follows_the_exchange_calendar(moment, session):
    assert when(utc(moment), utc(moment)) == session


def test_an_unscheduled_closing_is_not_known_before_the_exchange_fails_to_open(lake, put):
    early, opens = utc("2025-01-09T08:00:00-05:00"), utc("2025-01-09T09:30:00-05:00")
    put("reports", release(at=early))
    derived(lake)
    assert [event["session"] for event in answer(lake, opens - timedelta(microseconds=1))] == ["before_open"]
    assert [event["session"] for event in answer(lake, opens)] == ["no_session"]
    assert len(events(lake.snapshot(), opens - timedelta(microseconds=1))[0]) == 1


def revisions(lake):
    with connect(OBSERVED, lake=lake, datasets=["earnings_events"]) as session:
        return session.sql("FROM earnings_events_revisions").arrow()


def test_disagreements_between_sources_are_listed_and_fail_the_check_as_a_warning(lake, put):
    put("reports", release())
    put("av_earnings", reported(day=date(2024, 1, 31)))
    put("av_earnings", reported(time="pre-market"))
    put("call_transcripts", call(start=utc("2024-02-01T15:00:00-05:00")))
    derived(lake)
    result = disagreements(revisions(lake))
    assert [(each.about, each.source) for each in result] == [
        ("call_before_release", "call_transcripts"), ("day", "av_earnings"), ("session", "av_earnings"),
    ]  # fmt: skip
    check = sources_agree(revisions(lake))
    assert not check.passed
    assert check.severity == "warning"
    assert check.facts["disagreements"] == 3


def test_sources_that_agree_pass_the_check(lake, put):
    for dataset, row in SOURCES.items():
        put(dataset, row)
    derived(lake)
    assert sources_agree(revisions(lake)).passed


def test_every_row_carries_the_tag_of_the_source_that_dates_it(lake, put):
    for dataset, row in SOURCES.items():
        put(dataset, row)
    result, _ = events(lake.snapshot(), OBSERVED)
    tags = {row["source"]: row["available_at_source"] for row in result}
    assert tags["reports"] == "edgar_accepted"
    assert tags["call_transcripts"] == "provider_metadata"
    assert set(tags.values()) <= {DATASET.source_tag, *DATASET.other_tags}


def test_earnings_events_read_only_existing_datasets():
    from pitlake.datasets import all_datasets

    assert set(earnings_events.READS) <= set(all_datasets())
