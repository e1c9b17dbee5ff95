"""earningscall.biz: a transcript is available only after a lag from the call's start, and a list as of its download."""

import json
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, timezone
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.external import feed
from assets.extraction import RunFacts
from assets.feeds.feed import Scope
from pitlake.clock import NEW_YORK
from pitlake.errors import BadInput
from tests.answers import FETCHED, Played, gaps, happened, rows
from tests.assets.external.test_feeds import CALL, START, STATED, answering, listed, quarters

TRANSCRIPTS, SLIDES = feed("call_transcripts"), feed("call_slides")
EVENTS, CALENDAR = feed("call_events"), feed("call_calendar")


def test_the_publication_lag_can_be_set_between_180_and_1440_minutes():
    [row] = rows(transcript({"conference_date": STATED}, publication_lag_minutes="360"))
    assert row.available_at == START + timedelta(hours=6)
    for lag in ("0", "60", "179", "1441", "-1", "soon"):
        with pytest.raises(BadInput, match=f"publication_lag_minutes: '{lag}' is out of range; give 180 to 1440 "):
            TRANSCRIPTS.units(quarters("2024Q1", publication_lag_minutes=lag))


def test_the_publication_lag_can_be_set_by_the_environment(monkeypatch):
    monkeypatch.setenv("PITLAKE_PUBLICATION_LAG_MINUTES", "240")
    [row] = rows(transcript({"conference_date": STATED}))
    assert row.available_at == START + timedelta(hours=4)


@dataclass(frozen=True)
class Filed:
    """The release times of a lake's 8-Ks with item 2.02, by day."""

    days: dict[date, datetime]

    def __call__(self, _ticker, day):
        return self.days.get(day)


DAY = date(2022, 1, 19)
RELEASED = datetime(2022, 1, 27, 21, 30, tzinfo=timezone.utc)
MIDNIGHTS = ["2022-01-19T00:00:00.000-08:00", "2022-01-19T05:00:00Z", "2022-01-19T00:00:00+00:00"]


@pytest.mark.parametrize("midnight", MIDNIGHTS)
def test_without_a_start_time_a_transcript_is_dated_by_the_last_release_soon_after(midnight):
    early, late = datetime(2022, 1, 20, 12, tzinfo=timezone.utc), datetime(2022, 4, 28, 20, tzinfo=timezone.utc)
    filed = Filed({DAY: early, RELEASED.date(): RELEASED, late.date(): late})
    [row] = rows(transcript({"conference_date": midnight}, releases=filed))
    assert row.available_at == RELEASED + timedelta(days=5)
    for other in (Filed({}), Filed({late.date(): late}), Filed({date(2022, 1, 5): early})):
        assert rows(transcript({"conference_date": midnight}, releases=other))[0].available_at == FETCHED
    assert rows(transcript({}, releases=filed))[0].available_at == FETCHED


UNREAD = ["Sun Oct  6 05:12:04 2024", "2024-10-06T05:12:04", "Sun, 06 Oct 2024 05:12:04 -0000", "yesterday", ""]


@pytest.mark.parametrize("feed", [TRANSCRIPTS, SLIDES], ids=lambda feed: feed.dataset.name)
@pytest.mark.parametrize("spelled", UNREAD)
def test_a_file_with_an_unreadable_modification_time_counts_from_its_fetch(feed, spelled):
    fetch = answering({"conference_date": STATED}, STATED)
    headed = lambda request: replace(fetch(request), headers={"last-modified": spelled})  # noqa: E731
    [row] = rows(happened(feed, quarters("2024Q1"), headed))
    assert (row.available_at, row.values["file_modified"]) == (FETCHED, None)
    before = lambda request: replace(headed(request), fetched_at=FETCHED - timedelta(days=1))  # noqa: E731
    assert rows(happened(feed, quarters("2024Q1"), before))[0].evidence == row.evidence


def test_speakers_are_named_and_blank_turns_left_out():
    [row] = rows(happened(TRANSCRIPTS, quarters("2024Q1"), Played(TRANSCRIPTS.provider).fetch))
    turns = json.loads(row.values["turns"])
    assert [(turn["name"], turn["title"]) for turn in turns] == [("An Operator", None), ("A. Chief", "CFO")]
    assert row.values["text"] == "Welcome to a call that we made up.\n\nThank you. These figures are our own."
    assert row.values["file_modified"] == datetime(2024, 10, 6, 5, 12, 4, tzinfo=timezone.utc)


def transcript(event, listing=None, releases=None, **options):
    """Return the outcomes of a transcript whose response contains this event."""
    scope = quarters("2024Q1", **options)
    return happened(TRANSCRIPTS, scope, answering(event, listing), releases=releases)


@pytest.mark.parametrize("spelled", [(2024, 1), ("2024", " 1")])
def test_the_later_start_of_a_call_listed_twice_counts(spelled):
    starts = "2024-02-08T09:00:00-05:00", "2024-02-01T09:00:00-05:00"
    for listing in (starts, starts[::-1]):
        entries = [listed(start, *spelled) for start in listing]
        [row] = transcript({}, [*entries, listed("2024-05-01T09:00:00-04:00", 2024, 2)])
        assert row.available_at == datetime(2024, 2, 9, 14, tzinfo=timezone.utc)
        assert (row.values["stated_start"], row.values["listed_start"]) == (starts[0], row.values["call_start"])
    outcomes = transcript({}, [listed(starts[0], *spelled), listed("soon", *spelled)])
    assert gaps(outcomes) == [("unverifiable", "call_start is unreadable")]


def test_slides_have_their_hash_and_size_and_wait_a_day_like_transcripts():
    played = Played(SLIDES.provider)
    [row] = rows(happened(SLIDES, quarters("2024Q1"), played.fetch))
    body = played.capture(played.asked[0]).body
    assert (row.values["sha256"], row.values["size"]) == (sha256(body).hexdigest(), len(body))
    assert row.available_at == datetime(2024, 2, 2, 22, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("feed", "scope"),
    [
        (EVENTS, Scope()),
        (CALENDAR, Scope()),
        (TRANSCRIPTS, Scope(tickers=("QACB",))),
        (TRANSCRIPTS, quarters("2024Q5")),
        (SLIDES, quarters("24Q1")),
    ],
    ids=["no ticker", "no day", "no exchange", "no such quarter", "no such year"],
)
def test_an_incomplete_or_invalid_scope_is_refused(feed, scope):
    with pytest.raises(BadInput):
        feed.units(scope)


INSTANTS = st.builds(datetime.combine, st.dates(date(2000, 1, 1), date(2040, 1, 1)), st.times())
ZONES = st.integers(-12, 14).map(lambda hours: timezone(timedelta(hours=hours)))


@given(st.lists(st.builds(lambda at, zone: at.replace(tzinfo=zone), INSTANTS, ZONES), min_size=1, max_size=2))
def test_a_transcript_is_never_public_before_its_call_plus_the_lag(starts):
    spelled = [start.isoformat() for start in starts]
    record = {**CALL, "start": spelled[0], "listed": spelled[1:], "lag": timedelta(hours=24), "written": None}
    at = TRANSCRIPTS.locate(record, RunFacts(observed_at=FETCHED)).available_at
    timed = [call for call in starts if call.time() != time() and call.astimezone(NEW_YORK).time() != time()]
    days = [day for day in starts if day not in timed]
    assert at == FETCHED if not timed else at >= max(timed) + timedelta(hours=24)
    assert not timed or days or at == max(timed) + timedelta(hours=24)
    if timed:
        assert [day for day in days if at < day + timedelta(hours=46)] == []  # a day in spring may have 23 hours
