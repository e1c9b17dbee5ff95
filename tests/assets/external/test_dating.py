"""Dating rules are never early, and late by at most their stated bound."""

import random
from datetime import date, datetime, time, timedelta, timezone
from email.utils import format_datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from assets.feeds import dating
from pitlake.errors import Unreadable

NEW_YORK = ZoneInfo("America/New_York")
UTC = timezone.utc
FIRST = datetime(1996, 1, 1, tzinfo=UTC)
SECONDS = int(timedelta(days=11_000).total_seconds())
N = 40_000


def acceptances():
    """Yield random acceptance times within EDGAR's hours and shortly after, with extra days around clock changes."""
    world = random.Random(4)
    shifts = [datetime(year, month, day, tzinfo=NEW_YORK) for year, month, day in
              ((2024, 3, 10), (2024, 11, 3), (2007, 3, 11), (2006, 10, 29), (1999, 4, 4))]  # fmt: skip
    for number in range(N):
        seconds = world.randrange(6 * 3600, 22 * 3600 + 1800)
        if number % 10:
            day = date(1996, 1, 1) + timedelta(days=world.randrange(11_000))
        else:
            day = world.choice(shifts).date() + timedelta(days=world.randrange(-1, 2))
        yield datetime.combine(day, time(), NEW_YORK) + timedelta(seconds=seconds)


def test_an_acceptance_is_never_early_and_is_late_by_at_most_its_bound():
    early = late = 0
    rules = set()
    for true in acceptances():
        exact = true.astimezone(UTC)
        for spelled in (f"{true:%Y-%m-%dT%H:%M:%S}.000Z", f"{exact:%Y-%m-%dT%H:%M:%S}.000Z"):
            dated = dating.edgar(spelled, "10-K")
            rules.add(dated.rule)
            bound = (
                timedelta(hours=24) + dating.DATE_ONLY_BOUND
                if dated.rule == dating.DATE_ONLY
                else dating.UNDECIDED_BOUND
            )
            early += dated.instant < exact
            late += dated.instant > exact + bound
    assert (early, late) == (0, 0)
    assert rules >= {dating.NEW_YORK_CLOCK, dating.UTC, dating.LATER}


def test_an_sgml_header_gives_the_exact_acceptance_at_any_hour():
    for true in islice(acceptances(), N // 5):
        dated = dating.edgar_header(f"{true:%Y%m%d%H%M%S}")
        assert dated.instant == true.astimezone(UTC)


def test_filings_by_the_commission_are_never_dated_early_at_any_hour():
    world = random.Random(7)
    for _ in range(5_000):
        exact = FIRST + timedelta(seconds=world.randrange(SECONDS))
        true = exact.astimezone(NEW_YORK)
        for spelled in (f"{true:%Y-%m-%dT%H:%M:%S}Z", f"{exact:%Y-%m-%dT%H:%M:%S}Z"):
            assert dating.edgar(spelled, "EFFECT").instant >= exact


def test_the_first_of_a_repeated_new_york_hour_is_dated_late_by_the_fold_bound():
    first = datetime(2024, 11, 3, 5, 30, tzinfo=UTC)
    instant = dating.new_york_clock(datetime.fromisoformat("2024-11-03T01:30:00"))
    assert instant - first == timedelta(hours=1) == dating.FOLD_BOUND


def test_other_dating_rules_are_never_early_and_never_later_than_their_bounds():
    world = random.Random(5)
    for _ in range(20_000):
        exact = FIRST + timedelta(seconds=world.randrange(SECONDS))
        offset = timezone(timedelta(minutes=world.randrange(-12 * 60, 14 * 60 + 1, 15)))
        assert dating.rfc2822(format_datetime(exact.astimezone(offset))) == exact
        assert dating.iso(exact.astimezone(offset).isoformat()) == exact
        local = exact.astimezone(NEW_YORK)
        assert timedelta() <= dating.new_york_clock(local.replace(tzinfo=None, fold=0)) - exact <= dating.FOLD_BOUND
        for spelled in (f"{local:%Y-%m-%d}", f"{local:%Y%m%d}"):
            assert timedelta() < dating.end_of_day_text(spelled) - exact <= dating.DATE_ONLY_BOUND


@pytest.mark.parametrize(
    ("spelled", "form", "instant", "rule"),
    [
        ("2024-02-23T08:05:41.000Z", "10-K", "2024-02-23T13:05:41", dating.NEW_YORK_CLOCK),
        ("2024-02-24T01:10:22.000Z", "4", "2024-02-24T01:10:22", dating.UTC),
        ("2024-02-22T21:15:03.000Z", "8-K", "2024-02-23T02:15:03", dating.LATER),
        ("2024-03-05T22:05:07.000Z", "8-K", "2024-03-06T03:05:07", dating.LATER),
        ("2024-03-05T22:35:07.000Z", "8-K", "2024-03-05T22:35:07", dating.UTC),
        ("2024-04-09T00:15:11.000Z", "EFFECT", "2024-04-09T04:15:11", dating.LATER),
        ("2002-03-12T00:00:00.000Z", "10-K405", "2002-03-13T05:00:00", dating.DATE_ONLY),
        ("2002-03-12T05:00:00.000Z", "10-K405", "2002-03-13T05:00:00", dating.DATE_ONLY),
        ("2024-02-22T16:15:03-05:00", "8-K", "2024-02-22T21:15:03", dating.OFFSET),
        ("2024-02-22T09:59:59.5Z", None, "2024-02-22T14:59:59.500000", dating.NEW_YORK_CLOCK),
    ],
)
def test_an_ambiguous_z_suffix_is_resolved_by_the_hour_and_the_form(spelled, form, instant, rule):
    assert dating.edgar(spelled, form) == (datetime.fromisoformat(instant).replace(tzinfo=UTC), rule)


@pytest.mark.parametrize(
    ("clock_time", "rule"),
    [
        ("02:59:59.999999", dating.UTC), ("03:00:00", dating.LATER), ("05:59:59.999999", dating.LATER),
        ("06:00:00", dating.NEW_YORK_CLOCK), ("09:59:59.999999", dating.NEW_YORK_CLOCK), ("10:00:00", dating.LATER),
        ("22:29:59.999999", dating.LATER), ("22:30:00", dating.UTC),
    ],
)  # fmt: skip
def test_the_hours_that_decide_the_clock_are_exact_to_the_microsecond(clock_time, rule):
    assert dating.edgar(f"2024-02-22T{clock_time}Z", "10-K").rule == rule


@pytest.mark.parametrize("text", ["1969-12-31", "1970-01-01", "19700101", "1959-12-30"])
def test_a_placeholder_date_of_an_unset_field_is_unreadable(text):
    with pytest.raises(Unreadable, match="no plausible date"):
        dating.end_of_day_text(text)


@pytest.mark.parametrize(
    "text", ["2024-W07-4", "2024W074", "2024-02-30", "20240230", "2024-2-3", " ", "", None, 20240215]
)
def test_an_iso_week_or_an_impossible_day_is_unreadable(text):
    with pytest.raises(Unreadable, match="no date"):
        dating.day(text)


@pytest.mark.parametrize(
    "form", ["EFFECT", "UPLOAD", "QUALIF", "CERT", "REVOKED", "DEREG", "ORDER", "NO ACT", "IRANNOTICE", " effect "]
)
@pytest.mark.parametrize("hour", [0, 2, 6, 9, 22, 23])
def test_the_hour_decides_no_clock_for_filings_by_the_commission(form, hour):
    spelled = datetime(2024, 4, 9, hour, 35, 11)  # noqa: DTZ001
    assert dating.edgar(f"{spelled}Z", form) == (spelled.replace(tzinfo=NEW_YORK).astimezone(UTC), dating.LATER)
    assert dating.edgar(f"{spelled}Z", "10-K").rule != dating.LATER


@pytest.mark.parametrize(
    "text",
    [
        *(None, "", "2024-02-22", "2024-02-30T10:00:00Z", "20240222161503", 5, "9999-12-31T23:59:59Z"),
        *("0001-01-01T02:00:00.000Z", "1970-01-01T00:00:00.000Z", "0001-01-01T00:00:00Z", "1992-12-31T16:00:00-05:00"),
    ],
)
def test_an_invalid_acceptance_time_is_unreadable(text):
    with pytest.raises(Unreadable):
        dating.edgar(text)


@pytest.mark.parametrize("text", ["2024022216150", "20240230161503", "00010101000000", "", None, "2024-02-22"])
def test_an_invalid_sgml_time_is_unreadable(text):
    with pytest.raises(Unreadable):
        dating.edgar_header(text)


@pytest.mark.parametrize("text", ["Thu, 01 Feb 2024 16:31:02", "Thu, 01 Feb 2024 16:31:02 -0000", "soon", None,
                                  f"Thu, 01 Feb 2024 16:31:02 +{10**20}"])  # fmt: skip
def test_an_rfc2822_date_without_an_offset_or_out_of_range_is_unreadable(text):
    with pytest.raises(Unreadable):
        dating.rfc2822(text)


@pytest.mark.parametrize(
    "text", ["9999-12-31", "2024-02-30", "24-01-01", "", None, 20240101, "0001-01-01", "1900-01-01", "1970-01-01"]
)
def test_an_invalid_day_is_unreadable(text):
    with pytest.raises(Unreadable):
        dating.end_of_day_text(text)


@pytest.mark.parametrize("year", [1, 1970, 1989])
def test_an_instant_before_the_web_is_unreadable_unless_older_instants_are_allowed(year):
    early = datetime(year, 1, 1, tzinfo=UTC)
    for reader, spelled in ((dating.iso, early.isoformat()), (dating.rfc2822, format_datetime(early))):
        with pytest.raises(Unreadable):
            reader(spelled)
        assert year == 1 or reader(spelled, dating.EVER) == early


def test_a_header_at_midnight_states_a_day_without_a_time():
    assert dating.edgar_header("20240215000000") == (datetime(2024, 2, 16, 5, tzinfo=UTC), dating.DATE_ONLY)
    assert dating.edgar_header("20240215000001") == (datetime(2024, 2, 15, 5, 0, 1, tzinfo=UTC), dating.SGML)


def test_days_back_to_1960_are_readable_and_earlier_days_are_not():
    assert dating.end_of_day_text("1962-02-06") == datetime(1962, 2, 7, 5, tzinfo=UTC)
    assert dating.end_of_day_text("1960-01-01") == datetime(1960, 1, 2, 5, tzinfo=UTC)
    with pytest.raises(Unreadable):
        dating.end_of_day_text("1959-12-30")


def test_an_ambiguous_or_nonexistent_new_york_time_is_read_as_the_later_instant():
    assert dating.new_york_clock(datetime.fromisoformat("2024-11-03T01:30")).hour == 6
    assert dating.new_york_clock(datetime.fromisoformat("2024-03-10T02:30")) == datetime(2024, 3, 10, 7, 30, tzinfo=UTC)
    assert dating.new_york_at(date(2024, 3, 8), time(8, 30)) == datetime(2024, 3, 8, 13, 30, tzinfo=UTC)


def test_a_claimed_instant_is_trusted_only_from_the_first_year_of_its_kind():
    for since, year in ((dating.ONLINE, 1990), (dating.FILED, 1993), (dating.LISTED, 1960)):
        first = datetime(year, 1, 1, tzinfo=UTC)
        assert dating.believed(first, since) == first
        with pytest.raises(Unreadable):
            dating.believed(first - timedelta(microseconds=1), since)


def test_an_instant_in_the_year_9999_is_unreadable():
    for claimed in (datetime(9999, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC)):
        with pytest.raises(Unreadable):
            dating.new_york_clock(claimed.replace(tzinfo=None))
        with pytest.raises(Unreadable):
            dating.believed(claimed)
