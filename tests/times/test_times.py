"""Each string means the same in Python and in SQL, and a midnight means a day where its column says so."""

import random
from datetime import date, datetime, timedelta, timezone
from importlib import resources

import pandas as pd
import pyarrow as pa
import pytest

from pitlake.clock import iso
from pitlake.errors import BadInput, Unreadable
from pitlake.gate.rules import InstantFault, parse_instant
from pitlake.lake.tables.query import calculator
from pitlake.times import (
    MixedMidnights,
    Unset,
    are_days,
    checked_form,
    read,
    read_column,
    stated,
    stated_instant,
    zone_named,
)
from pitlake.times.sql import ColumnForm, in_sql, part
from tests.times.cases import CLOCK_TIMES, DAYS, MIDNIGHTS, NEW_YORK, NO_ZONES, TOKYO, UNREADABLE, UNSET, UTC

READABLE = (*DAYS, *MIDNIGHTS, *CLOCK_TIMES)


def zone_of(case):
    return zone_named(case.zone) if case.zone else None


def read_by_sql(values, form, zone, kind="VARCHAR", own_zone=""):
    names = ("instant", "end", "is_unset", "lacks_zone")
    own = pa.table({"place": range(len(values)), "seen": values})
    with calculator(own=own) as connection:
        rows = in_sql("own", {"seen": ColumnForm(kind, form, zone, own_zone)})
        text = ", ".join(part(name, "seen") for name in names)
        rows_by_sql = connection.sql(f"SELECT {text} FROM {rows} ORDER BY place").fetchall()
    return [
        (None if lacks_zone else instant, None if lacks_zone else end, is_unset)
        for instant, end, is_unset, lacks_zone in rows_by_sql
    ]


def read_by_python(value, form, zone):
    try:
        reading = read(value, form, zone_named(zone) if zone else None)
    except Unset:
        return None, None, True
    except Unreadable:
        return None, None, False
    return reading.instant, reading.end, False


@pytest.mark.parametrize("case", READABLE, ids=str)
def test_a_time_is_read_as_its_latest_possible_instant(case):
    reading = read(case.spelled, case.form, zone_of(case))
    assert (iso(reading.instant), reading.end and iso(reading.end)) == (case.instant, case.end or None)
    assert reading.is_midnight == (case in MIDNIGHTS)


@pytest.mark.parametrize("case", UNSET, ids=str)
def test_placeholder_values_for_a_missing_time_are_unset(case):
    with pytest.raises(Unset):
        read(case.spelled, case.form, zone_of(case))


@pytest.mark.parametrize("case", UNREADABLE, ids=str)
def test_invalid_times_are_unreadable(case):
    with pytest.raises(Unreadable) as raised:
        read(case.spelled, case.form, zone_of(case))
    assert not isinstance(raised.value, Unset)


@pytest.mark.parametrize("case", [*READABLE, *UNSET, *UNREADABLE], ids=str)
def test_sql_reads_every_case_as_python_does(case):
    assert read_by_sql([case.spelled], case.form, case.zone) == [read_by_python(case.spelled, case.form, case.zone)]


@pytest.mark.parametrize("case", [*READABLE, *UNSET, *UNREADABLE], ids=str)
def test_the_strict_parser_agrees_on_every_text_it_accepts(case):
    """The reader of `as_of` and of the hooks accepts fewer formats, and reads none of them differently."""
    try:
        strict = parse_instant(case.spelled)
    except InstantFault:
        return
    assert case in (*UNSET, *NO_ZONES) or strict == read(case.spelled).instant


@pytest.mark.parametrize(
    ("text", "own", "instant"),
    [
        ("2024-02-15T00:00:00-05:00", "2024-02-15T00:00:00-05:00", "2024-02-15T05:00:00Z"),
        ("2024-02-15 16:00:00.5 Z", "2024-02-15T16:00:00.500000+00:00", "2024-02-15T16:00:00.500000Z"),
        ("2024-02-15T23:59:59.9999999+0900", "2024-02-16T00:00:00+09:00", "2024-02-15T15:00:00Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00+00:00", "1970-01-01T00:00:00Z"),
        ("2024-02-15T16:00:00", "2024-02-15T16:00:00", None),
        ("2024-02-15T16:00Z", None, None),
        ("20240215T160000Z", None, None),
        ("2024-02-15", None, None),
        ("9999-12-31T19:00:00Z", "9999-12-31T19:00:00+00:00", None),
        ("9998-12-31T19:00:00-05:00", "9998-12-31T19:00:00-05:00", None),
        (None, None, None),
    ],
)
def test_stated_instants_are_read_exactly_and_dates_alone_are_unreadable(text, own, instant):
    for reader, spell, expected in ((stated, datetime.isoformat, own), (stated_instant, iso, instant)):
        if expected:
            assert spell(reader(text)) == expected
        else:
            with pytest.raises(Unreadable):
                reader(text)


@pytest.mark.parametrize("form", ["%Y%m%d", "%Y%m%d %H:%M", "epoch"])
@pytest.mark.parametrize("value", [None, [1]])
def test_values_that_are_not_text_or_numbers_are_unreadable(value, form):
    with pytest.raises(Unreadable):
        read(value, form)


ZONES = ("", NEW_YORK, TOKYO, UTC, "America/Havana", "Asia/Kolkata", "Pacific/Kiritimati")


def random_text(rng):
    at = datetime.fromisoformat("1960-01-01") + timedelta(minutes=15 * rng.randrange(4 * 24 * 366 * 70))
    at = at.replace(hour=0, minute=0) if rng.random() < 0.4 else at
    text = f"{at:%Y-%m-%d}"
    if rng.random() < 0.2:
        return text
    fraction = rng.choice(("", "", ".0", ".000000", ".0000001", ".999999", f".{rng.randrange(10**9)}"))
    offset = rng.choice(("", "Z", "+00", " UTC", "-05:00", "-0400", "+05:30", "+14:00", "-10"))
    return text + rng.choice("T ") + f"{at:%H:%M}" + rng.choice(("", f":00{fraction}")) + offset


@pytest.mark.parametrize("zone", ZONES)
def test_sql_reads_random_texts_as_python_does(zone):
    rng = random.Random(zone)
    texts = [random_text(rng) for _ in range(400)]
    expected = [read_by_python(text, "iso", zone) for text in texts]
    assert read_by_sql(texts, "iso", zone) == expected
    assert sum(end is not None for _, end, _ in expected) > 100


@pytest.mark.parametrize("own", ["", NEW_YORK, TOKYO])
@pytest.mark.parametrize("zone", ZONES[1:])
def test_typed_columns_are_read_in_sql_like_their_values_in_python(zone, own):
    rng = random.Random(zone + own)
    moments = [
        datetime.fromisoformat("1960-01-01") + timedelta(minutes=30 * rng.randrange(48 * 366 * 70)) for _ in range(200)
    ]
    moments = [at.replace(hour=0, minute=0) if rng.random() < 0.5 else at for at in moments]
    if not own:
        assert read_by_sql(moments, "iso", zone, "TIMESTAMP") == [read_by_python(at, "iso", zone) for at in moments]
    aware = [at.replace(tzinfo=zone_named(own or UTC)) for at in moments]
    kind = "TIMESTAMP WITH TIME ZONE"
    assert read_by_sql(aware, "iso", zone, kind, own) == [read_by_python(at, "iso", zone) for at in aware]


def test_time_zones_agree_with_duckdb_for_every_zone_name():
    names = (resources.files("tzdata") / "zones").read_text().split()
    noons = [
        datetime(year, month, 15, 12, tzinfo=timezone.utc) for year in (1995, 2015, 2026) for month in range(1, 13)
    ]
    with calculator() as connection:
        walls = connection.execute(
            "SELECT name, list_transform($2::TIMESTAMPTZ[], lambda noon: timezone(name, noon)) FROM unnest($1) t(name)",
            [names, noons],
        ).fetchall()
    assert len(walls) > 500
    python = {name: [noon.astimezone(zone_named(name)).replace(tzinfo=None) for noon in noons] for name in names}
    assert dict(walls) == python


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "../tzdata/zones", "/etc/localtime", "America"])
def test_an_unknown_time_zone_raises_lookup_error(name):
    with pytest.raises(LookupError):
        zone_named(name)


def test_values_of_pandas_are_read():
    assert iso(read(pd.Timestamp("2024-02-15")).end) == "2024-02-16T05:00:00Z"
    assert iso(read(pd.Timestamp("2024-02-15", tz="UTC")).end) == "2024-02-16T05:00:00Z"
    assert iso(read(pd.Timestamp(1_708_012_800_000_000_001, tz="UTC")).instant) == "2024-02-15T16:00:00.000001Z"
    assert iso(read(pd.Period("2024Q1")).instant) == "2024-04-01T04:00:00Z"
    assert iso(read(pd.Period("2024-02-15 10:00", freq="h"), zone=zone_named(UTC)).instant) == "2024-02-15T11:00:00Z"
    assert iso(read(date(2024, 2, 15)).instant) == "2024-02-16T05:00:00Z"
    for value in (pd.NaT, None, True, 1.5, [1]):
        with pytest.raises(Unreadable):
            read(value)


def test_midnights_of_a_column_are_days_unless_mixed_with_clock_times():
    days = ["2024-02-15T00:00:00Z", "2024-02-16", None, "1970-01-01"]
    ends = [datetime(2024, 2, 16, 5, tzinfo=timezone.utc), datetime(2024, 2, 17, 5, tzinfo=timezone.utc), None, None]
    assert read_column(days) == ends
    mixed = ["2024-02-15T00:00:00Z", "2024-02-15T10:00:00Z"]
    with pytest.raises(MixedMidnights, match="1 midnights and 1 other clock times"):
        read_column(mixed)
    assert read_column(mixed, midnights="instants")[0] == datetime(2024, 2, 15, tzinfo=timezone.utc)
    assert read_column(mixed, midnights="end")[0] == ends[0]
    assert not are_days(0, 7)


@pytest.mark.parametrize(
    ("form", "what"),
    [
        *((form, "day, .* its last day") for form in ("%Y-%m", "%Y%m", "%b %Y", "%Y", "%m/%d", "%Y%d", "%H:%M")),
        *((f"%d.%m.%Y {hours}", "time of a day") for hours in ("%H", "%I:%M", "%H:%M %p", "%I %p", "%M %p")),
    ],
)
def test_a_time_format_that_leaves_the_day_or_hour_ambiguous_is_refused(form, what):
    """A month would be read as its first day, and an afternoon as the morning."""
    with pytest.raises(BadInput, match=f"time_format: .* has no {what}"):
        checked_form(form)


@pytest.mark.parametrize("form", ["iso", "rfc2822", "days", "", "%q", "%Y-%m-%d %z", "%c"])
def test_an_unknown_time_format_is_refused(form):
    with pytest.raises(BadInput, match=r"time_format: .* is not a time format; give epoch, "):
        checked_form(form)
