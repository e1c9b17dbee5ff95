"""Macroeconomic vintages: publication times, withdrawn values, and values that a request cannot prove."""

import json
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pitlake
from assets.external import feed
from assets.external.alfred._calendar import CLOCKS, public_at
from assets.external.alfred.macro_observations import EARLIEST, LATEST, windows
from assets.feeds.feed import Scope
from assets.feeds.runs import run_feed
from pitlake.clock import NEW_YORK, new_york_day
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from resources.http.capture import CaptureStore, Request
from resources.http.client import HttpClient
from tests.answers import Played, captured, gaps, happened, rows
from tests.every import every

FEED = feed("macro_observations")
PROVIDER = FEED.provider


def known(vintages, day: str, at: str) -> float | None:
    """Return an observation's value in the newest vintage that was public at an instant."""
    public = [row for row in vintages if row.values["observation_date"] == date.fromisoformat(day)]
    public = [row for row in public if row.available_at <= datetime.fromisoformat(at)]
    return max(public, key=lambda row: row.available_at).values["value"] if public else None


@pytest.fixture(scope="module")
def gdp():
    return happened(FEED, Scope(series=("GDP",)), Played(PROVIDER).fetch)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A lake with three series, replayed from captures, and the run's report."""
    lake, played = Lake(tmp_path_factory.mktemp("macro") / "lake"), Played(PROVIDER)
    scope = Scope(series=("GDP", "DEMOJOBS", "DEMO10Y"))
    happened(FEED, scope, played.fetch)
    store = CaptureStore.of(lake.root)
    played.keep(store)
    with HttpClient(PROVIDER, store, "replay") as client:
        report = run_feed(FEED, scope, client, lake, run_id="macro")
    return lake, report


def test_each_of_three_vintages_gives_its_own_value_as_of_its_time(gdp):
    days = ("2014-05-01", "2014-06-01", "2014-07-01")
    assert [known(rows(gdp), "2014-01-01", f"{day}T00:00:00-04:00") for day in days] == [17149.6, 17101.3, 17016.0]


def test_a_release_is_public_at_its_clock_time_and_not_before(gdp):
    assert known(rows(gdp), "2014-01-01", "2014-04-30T08:29:59.999999-04:00") is None
    assert known(rows(gdp), "2014-01-01", "2014-04-30T08:30:00-04:00") == 17149.6


def test_a_session_shows_a_value_only_from_its_release_on(published):
    lake, report = published
    counts = report.outcome.total
    assert (counts.extracted, counts.gaps) == (counts.published, 0)
    sql = "SELECT value FROM macro_observations WHERE series_id = 'GDP' AND observation_date = '2014-01-01'"
    for at, value in (("2014-04-30T08:29:59-04:00", []), ("2014-04-30T08:30:00-04:00", [17149.6])):
        with pitlake.connect(as_of=at, lake=lake.root, datasets=["macro_observations"]) as session:
            assert session.sql(sql).arrow()["value"].to_pylist() == value


def test_a_vintage_off_the_release_calendar_counts_at_the_end_of_its_day():
    outcomes = rows(happened(FEED, Scope(series=("DEMOJOBS",)), Played(PROVIDER).fetch))
    at = {row.values["vintage_date"].isoformat(): row.available_at.astimezone(NEW_YORK).isoformat() for row in outcomes}
    assert at["2024-02-02"] == "2024-02-02T08:30:00-05:00"
    assert at["2024-02-07"] == "2024-02-08T00:00:00-05:00"


def test_without_a_release_calendar_a_vintage_counts_at_day_end_and_there_is_a_gap():
    played = Played(PROVIDER)

    def fetch(request):
        if request.path == "release/dates":
            return captured(PROVIDER, request, b"{}")
        return played.fetch(request)

    outcomes = happened(FEED, Scope(series=("GDP",)), fetch)
    assert known(rows(outcomes), "2014-01-01", "2014-04-30T23:59:59-04:00") is None
    assert known(rows(outcomes), "2014-01-01", "2014-05-01T00:00:00-04:00") == 17149.6
    assert gaps(outcomes) == [("upstream_error", "the answer is unreadable")]


def test_a_withdrawn_value_is_a_row_marked_as_withdrawn():
    outcomes = rows(happened(FEED, Scope(series=("DEMO10Y",)), Played(PROVIDER).fetch))
    withdrawn = [row.values for row in outcomes if row.values["withdrawn"]]
    assert [value["vintage_date"].isoformat() for value in withdrawn] == ["2024-01-03", "2024-01-05"]
    assert {(value["value"], value["value_text"]) for value in withdrawn} == {(None, None)}


def observed(start: str, end: str, *observations: dict):
    ask = Request("series/observations", {"realtime_start": start, "realtime_end": end})
    body = {"realtime_start": start, "realtime_end": end, "observations": list(observations)}
    return captured(PROVIDER, ask, json.dumps(body).encode())


def parsed(*captures):
    served = iter(captures)
    return happened(replace(FEED, collect=lambda _unit, _fetch: served), Scope(series=("X",)), None)


ROW = {"realtime_start": "2015-01-05", "realtime_end": "9999-12-31", "date": "2014-10-01", "value": "1"}


def test_a_clipped_vintage_is_unverifiable():
    assert gaps(parsed(observed("2015-01-05", LATEST, ROW))) == [("unverifiable", "vintage is clipped by the request")]


def test_the_end_date_of_a_vintage_does_not_change_its_row():
    row, other = (
        rows(parsed(observed(EARLIEST, LATEST, {**ROW, "realtime_end": end})))[0] for end in ("2016-01-01", LATEST)
    )
    assert (row.values, row.available_at) == (other.values, other.available_at)


def test_a_value_carried_over_into_a_later_window_is_not_a_new_vintage():
    carried = {**ROW, "realtime_start": "2016-01-05"}
    later = observed("2016-01-05", LATEST, carried, {**carried, **NEWER})
    outcomes = parsed(observed(EARLIEST, "2016-01-05", ROW), later)
    assert [row.values["vintage_date"].isoformat() for row in rows(outcomes)] == ["2015-01-05", "2017-01-05"]
    assert gaps(outcomes) == []


NEWER = {"realtime_start": "2017-01-05"}


def paged(pages: list[dict]):
    """Return the outcomes of a series served in these pages (the last one repeats) and the requested offsets."""
    requests = []

    def fetch(request):
        if request.path != "series/observations":
            return captured(PROVIDER, request, b'{"vintage_dates": [], "releases": [], "release_dates": []}')
        requests.append(int(dict(request.query).get("offset", 0)))
        page = pages[min(len(requests), len(pages)) - 1]
        return captured(PROVIDER, request, json.dumps({"realtime_start": EARLIEST, **page}).encode())

    return happened(FEED, Scope(series=("X",)), fetch), requests


FIRST, SECOND, THIRD = ([{**ROW, "date": f"2014-0{month}-01"}] for month in (1, 4, 7))


@pytest.mark.parametrize(
    ("pages", "requested", "observations", "short"),
    [
        ([{"count": 3, "limit": 2, "observations": FIRST + SECOND}, {"count": 3, "observations": THIRD}], [0, 2], 3, 0),
        ([{"count": 3, "observations": FIRST}], [0], 1, 1),
        ([{"count": 3, "limit": 1, "observations": FIRST}, {"count": 3, "observations": []}], [0, 1], 1, 1),
        ([{"count": 3, "limit": 1, "offset": 0, "observations": FIRST}], [0, 1], 2, 1),
        ([{"count": 1, "limit": 1, "observations": FIRST}], [0], 1, 0),
        ([{"count": "some", "observations": FIRST}], [0], 1, 0),
    ],
    ids=["two pages", "a short page", "an empty page", "the same page again", "one whole page", "no count"],
)
def test_fewer_observations_than_the_stated_count_are_a_gap(pages, requested, observations, short):
    outcomes, offsets = paged(pages)
    assert (offsets, len(rows(outcomes))) == (requested, observations)
    assert gaps(outcomes) == [("upstream_error", "fewer observations than stated")] * short


def test_endless_paging_stops_after_1000_pages():
    _, offsets = paged([{"count": 10**9, "limit": 1, "observations": FIRST}])
    assert len(offsets) == 1000


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 1001, 2000, 2500])
def test_windows_cover_every_vintage_and_hold_at_most_1000(count):
    vintages = [(date(2000, 1, 1) + timedelta(days=day)).isoformat() for day in range(count)]
    cut = windows(vintages)
    assert (cut[0][0], cut[-1][1]) == (EARLIEST, LATEST)
    fresh = [[day for day in vintages if (start < day or start == EARLIEST) and day <= end] for start, end in cut]
    assert [day for days in fresh for day in days] == vintages
    assert every(len(days) <= 1000 for days in fresh)


@pytest.mark.parametrize(
    ("change", "gap"),
    [
        ({"value": "n/a"}, ("unverifiable", "value is unreadable")),
        ({"value": None}, ("unverifiable", "value is unreadable")),
        ({"date": "2014"}, ("unverifiable", "observation_date is unreadable")),
        ({"realtime_start": ""}, ("unverifiable", "vintage date is missing")),
        ({"realtime_start": "2031-01-01"}, ("pit_excluded", "not public yet")),
    ],
    ids=str,
)
def test_an_observation_that_is_incomplete_unreadable_or_in_the_future_is_a_gap(change, gap):
    assert gaps(parsed(observed(EARLIEST, LATEST, {**ROW, **change}))) == [gap]


def test_an_observation_without_its_value_field_is_a_gap():
    renamed = {name: value for name, value in ROW.items() if name != "value"} | {"val": "1"}
    assert gaps(parsed(observed(EARLIEST, LATEST, renamed, ROW))) == [("upstream_error", "item has an unknown format")]


def test_a_run_without_a_series_is_refused():
    with pytest.raises(BadInput, match="series"):
        FEED.units(Scope())


@given(st.dates(date(1930, 1, 1), date(2060, 1, 1)), st.sampled_from([*CLOCKS, 18, None]), st.booleans())
def test_a_vintage_is_never_early_and_is_late_by_at_most_a_day(vintage, release, on_calendar):
    at = public_at(vintage, release, {vintage} if on_calendar else ())
    morning = datetime(vintage.year, vintage.month, vintage.day, 8, 30, tzinfo=NEW_YORK).astimezone(timezone.utc)
    assert morning <= at <= morning + timedelta(hours=16, minutes=30)
    if not on_calendar or release not in CLOCKS:
        assert new_york_day(at - timedelta(microseconds=1)) == vintage
        assert new_york_day(at) == vintage + timedelta(days=1)


def test_a_release_clock_is_not_applied_to_days_before_1997():
    early = date(1996, 12, 31)
    assert new_york_day(public_at(early, 53, {early})) == date(1997, 1, 1)
    assert new_york_day(public_at(date(1997, 1, 2), 53, {date(1997, 1, 2)})) == date(1997, 1, 2)


PANEL = feed("macro_panels")


def test_a_panel_is_dated_by_its_file_and_blank_cells_are_skipped():
    outcomes = happened(PANEL, PANEL.example, Played(PANEL.provider).fetch)
    assert gaps(outcomes) == []
    assert {row.available_at.isoformat() for row in rows(outcomes)} == {"2024-01-02T19:42:10+00:00"}
    last = [row.values for row in rows(outcomes) if row.values["observation_date"] == date(2023, 11, 1)]
    assert [(value["series"], value["value"], value["transformation"]) for value in last] == [
        ("RPI", 19212.193, 5),
        ("S&P 500", 4460.06, 5),
    ]


SPELLINGS = (
    "{month}/1/{year}", "{month:02}/01/{year}", "01/{month:02}/{year}", "1.{month}.{year}", "{month:02}/28/{year}",
    "{year}-{month:02}-01", "{year}-{month:02}", "{year}-{month:02}-28", "{year}/{month}/1", "{year}{month:02}",
    "{year}{month:02}01", "{year}:{month:02}", "{year}M{month}", "{year}m{month:02}", "{month:02}/{year}",
    "{year}-{month:02}-01T00:00:00", "{month}/1/{year} 0:00", "{name}-{year}", "{name} {year}", "1-{name}-{year}",
)  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_months_of_a_panel_are_read_in_every_spelling(spelling):
    months = [date(year, month, 1) for year in (1959, 2023) for month in range(1, 13)]
    spelled = [spelling.format(year=day.year, month=day.month, name=f"{day:%b}") for day in months]
    body = "sasdate,RPI,INDPRO\nTransform:,5,5\n" + "".join(f'"{month}",1,2\n' for month in spelled)
    outcomes = happened(PANEL, Scope(series=("2024-01",)), lambda ask: captured(PANEL.provider, ask, body.encode()))
    assert gaps(outcomes) == []
    assert [row.values["observation_date"] for row in rows(outcomes)] == [day for day in months for _ in "xy"]


def test_an_observation_of_an_old_vintage_is_dated_by_that_vintage():
    old = ROW | {"realtime_start": "1947-01-20"}
    [row] = parsed(observed("1776-07-04", "9999-12-31", old))
    assert row.available_at == datetime(1947, 1, 21, 5, tzinfo=timezone.utc)


def test_a_release_clock_is_trusted_only_on_weekdays_with_data(gdp):
    saturday = date(2024, 1, 6)
    assert new_york_day(public_at(saturday, 53, {saturday})) == date(2024, 1, 7)
    played = Played(PROVIDER)
    happened(FEED, Scope(series=("GDP",)), played.fetch)
    [calendar] = [dict(request.query) for request in played.asked if request.path == "release/dates"]
    assert calendar["include_release_dates_with_no_data"] == "false"
    assert {row.evidence.rpartition("=")[2] for row in rows(gdp)} == {"release_clock"}


def test_with_release_clocks_off_a_vintage_counts_at_the_end_of_its_day():
    outcomes = rows(happened(FEED, Scope(series=("GDP",), options={"clocks": "none"}), Played(PROVIDER).fetch))
    assert known(outcomes, "2014-01-01", "2014-04-30T23:59:59-04:00") is None
    assert known(outcomes, "2014-01-01", "2014-05-01T00:00:00-04:00") == 17149.6
    with pytest.raises(BadInput, match="clocks"):
        FEED.units(Scope(series=("GDP",), options={"clocks": "mine"}))
