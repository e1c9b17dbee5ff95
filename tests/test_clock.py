"""The clock: which values are instants, how instants are written, and New York's days around its clock changes."""

from datetime import date, datetime, timedelta, timezone, tzinfo
from itertools import pairwise
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pitlake import clock
from pitlake.errors import BadInput, BadInstant
from pitlake.gate.rules import FAULTS
from tests.every import every

UTC = timezone.utc
ZONES = st.sampled_from([UTC, clock.NEW_YORK, ZoneInfo("Asia/Tokyo"), ZoneInfo("Australia/Lord_Howe")])
MOMENTS = st.datetimes(datetime.fromisoformat("0002-01-01"), datetime.fromisoformat("9998-12-31"), timezones=ZONES)
SPRING, AUTUMN = date(2024, 3, 10), date(2024, 11, 3)


def fault_of(make):
    with pytest.raises(BadInstant) as caught:
        make()
    return caught.value.fault


@given(MOMENTS)
def test_an_instant_survives_being_written_and_read(moment):
    read = clock.instant(clock.iso(moment))
    assert read == moment.astimezone(UTC)
    assert read.tzinfo is UTC
    assert clock.from_micros(clock.micros(moment)) == read


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2024, 2, 15, 16, tzinfo=clock.NEW_YORK), "2024-02-15T21:00:00Z"),
        (datetime(2024, 2, 15, 21, 0, 0, 500, tzinfo=UTC), "2024-02-15T21:00:00.000500Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00Z"),
    ],
)
def test_an_instant_is_written_in_utc_with_a_z(moment, text):
    assert clock.iso(moment) == text


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2010-02-01 16:00 America/New_York", "2010-02-01T21:00:00Z"),
        ("2010-07-01T16:00:30 America/New_York", "2010-07-01T20:00:30Z"),
        ("2010-07-01T16:00:30.5 Asia/Tokyo", "2010-07-01T07:00:30.500000Z"),
        ("2010-07-01 16:00 UTC", "2010-07-01T16:00:00Z"),
        ("2024-11-03 00:59 America/New_York", "2024-11-03T04:59:00Z"),
        ("2024-11-03 02:00 America/New_York", "2024-11-03T07:00:00Z"),
    ],
)
def test_a_local_time_with_a_zone_name_is_converted_to_utc(text, utc):
    assert clock.iso(clock.instant(text)) == utc


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        ("", "empty"), (None, "empty"), (20240215, "empty"),
        ("2024-02-15", "date_only"), (date(2024, 2, 15), "date_only"),
        ("2024-02-15T16:00:00", "naive"), (datetime.fromisoformat("2024-02-15"), "naive"), (pd.NaT, "naive"),
        ("2024-02-30T16:00:00Z", "impossible"), ("2024-02-15 16:00:00Z", "not_iso"),
        ("2024-03-10 02:30 America/New_York", "impossible"), ("2024-11-03 01:30 America/New_York", "impossible"),
        ("2024-02-15 16:00 Mars/Olympus", "impossible"), ("2024-02-15 16:00 America", "impossible"),
        ("2024-02-15 25:00 UTC", "impossible"),
        ("2024-02-15 16:00 America/", "not_iso"), ("2024-02-15 16:00 ../UTC", "not_iso"),
        ("0001-01-01 00:00 Asia/Tokyo", "out_of_range"),
        ("2024-02-15T16:00:00.0000001Z", "too_precise"),
        (pd.Timestamp("2024-02-15T16:00:00.000000001Z"), "too_precise"),
        ("9999-12-31T23:59:59-05:00", "out_of_range"), (datetime.max.replace(tzinfo=clock.NEW_YORK), "out_of_range"),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), "out_of_range"),
        ("0001-01-01T04:56:01.999999Z", "out_of_range"), (datetime.min.replace(tzinfo=UTC), "out_of_range"),
    ],
)  # fmt: skip
def test_an_invalid_instant_is_refused_and_the_error_names_the_fault(bad, fault):
    assert fault in FAULTS
    assert fault_of(lambda: clock.instant(bad)) == fault


def test_every_accepted_instant_has_a_new_york_day():
    first = clock.instant("0001-01-01T04:56:02Z")
    assert clock.new_york_day(first) == date.min
    with pytest.raises(BadInput, match=r"^pit: before the year 1"):
        clock.instant(clock.iso(first - timedelta(microseconds=1)), "pit")


def test_an_error_names_the_field_and_what_to_type_but_shows_no_value():
    with pytest.raises(BadInput, match=r"^observed_at: a date without .*; give an ISO-8601 instant such as ") as caught:
        clock.instant("1987-10-19", "observed_at")
    assert "1987" not in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("use", [clock.iso, clock.micros, clock.new_york_day, clock.new_york_month])
def test_a_naive_datetime_is_never_taken_as_local_time(use):
    assert fault_of(lambda: use(datetime.fromisoformat("2024-02-15T16:00:00"))) == "naive"


def test_a_datetime_whose_zone_has_no_offset_is_naive():
    class Lost(tzinfo):
        def utcoffset(self, moment):
            return None

    moment = datetime.fromisoformat("2024-02-15T16:00:00").replace(tzinfo=Lost())
    assert fault_of(lambda: clock.instant(moment)) == "naive"


def test_microseconds_are_counted_from_the_unix_epoch():
    assert clock.micros(clock.instant("1970-01-01T00:00:00Z")) == 0
    assert clock.micros(clock.instant("2001-09-09T01:46:40.000001Z")) == 1_000_000_000_000_001
    assert clock.iso(clock.from_micros(-1)) == "1969-12-31T23:59:59.999999Z"


def test_a_pandas_timestamp_becomes_a_plain_datetime():
    read = clock.instant(pd.Timestamp("2024-02-15T16:00:00.000001", tz="America/New_York"))
    assert type(read) is datetime
    assert clock.iso(read) == "2024-02-15T21:00:00.000001Z"


def test_conversions_beyond_the_calendar_are_refused():
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert fault_of(lambda: clock.new_york_day(first)) == "out_of_range"
    assert clock.new_york_day(last) == date.max
    assert fault_of(lambda: clock.end_of_new_york_day(date.max)) == "out_of_range"
    assert fault_of(lambda: clock.from_micros(clock.micros(last) + 1)) == "out_of_range"


@given(st.dates(date(1, 1, 2), date(9999, 12, 30)))
@example(SPRING)
@example(AUTUMN)
def test_a_new_york_day_includes_its_start_and_excludes_its_end(day):
    start, end = clock.start_of_new_york_day(day), clock.end_of_new_york_day(day)
    tick = timedelta(microseconds=1)
    assert clock.new_york_day(start) == day == clock.new_york_day(end - tick)
    assert clock.new_york_day(end) == day + timedelta(days=1)
    assert clock.new_york_day(start - tick) == day - timedelta(days=1)


@pytest.mark.parametrize(("day", "hours"), [(SPRING, 23), (AUTUMN, 25), (date(2024, 7, 4), 24)])
def test_days_of_clock_changes_last_23_or_25_hours(day, hours):
    assert clock.end_of_new_york_day(day) - clock.start_of_new_york_day(day) == timedelta(hours=hours)


def test_the_hours_around_both_clock_changes_are_read_in_order():
    texts = [
        "2024-03-10T01:59:59.999999-05:00", "2024-03-10T03:00:00-04:00", "2024-11-03T01:30:00-04:00",
        "2024-11-03T01:30:00-05:00", "2024-11-03T02:00:00-05:00",
    ]  # fmt: skip
    moments = [clock.instant(text) for text in texts]
    assert moments == sorted(set(moments))
    assert [clock.new_york_day(moment) for moment in moments] == [SPRING, SPRING, AUTUMN, AUTUMN, AUTUMN]


def test_an_ambiguous_wall_clock_time_is_resolved_by_its_fold():
    first, second = (datetime(2024, 11, 3, 1, 30, tzinfo=clock.NEW_YORK, fold=fold) for fold in (0, 1))
    assert clock.instant(second) - clock.instant(first) == timedelta(hours=1)


def test_the_month_is_that_of_new_york_time():
    assert clock.new_york_month(clock.instant("2024-03-01T04:59:59Z")) == "2024-02"
    assert clock.new_york_month(clock.instant("2024-03-01T05:00:00Z")) == "2024-03"
    assert clock.new_york_month(clock.instant("0101-03-02T05:00:00Z")) == "0101-03"


def test_now_is_in_utc_and_never_goes_back():
    readings = [clock.now() for _ in range(3)]
    assert every(later >= earlier for earlier, later in pairwise(readings))
    assert {reading.tzinfo for reading in readings} == {UTC}


@pytest.mark.parametrize("spelled", [str, clock.instant], ids=["text", "datetime"])
def test_an_as_of_after_now_is_refused(monkeypatch, spelled):
    at = "2024-05-29T21:00:00.000001Z"
    monkeypatch.setattr(clock, "now", lambda: clock.instant(at))
    assert clock.past(spelled(at)) == clock.instant(at)
    with pytest.raises(BadInput, match=r"^pit: is in the future"):
        clock.past(spelled("2024-05-29T21:00:00.000002Z"), "pit")
    ahead = clock.instant("2024-05-29T21:00:00.5Z")
    assert clock.past(spelled(ahead.isoformat()), "pit", lambda: ahead) == ahead
    with pytest.raises(BadInput, match=r"^pit: is in the future"):
        clock.past(spelled("2024-05-29T21:00:00.500001Z"), "pit", lambda: ahead)
