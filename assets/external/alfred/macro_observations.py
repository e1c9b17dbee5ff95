"""Dataset `macro_observations`: every vintage of every observation of a FRED series, dated by its release.

There is one unit per series. ALFRED returns at most 2,000 vintages, so long series are requested in windows of
vintages. The first day of a later window repeats the end of the previous window and is left out. All functions except
`collect` are pure. options: clocks = calendar | none selects whether a release's time of day is used on days in its
calendar.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise
from typing import Any

from assets.external.alfred._calendar import public_at, rule
from assets.extraction import Place, Record, RunFacts, dated, parsed
from assets.feeds import fields
from assets.feeds.feed import Feed, Fetch, Scope, Unit, Whole, in_order, one_entity
from assets.feeds.items import TWICE, evidence_of, mark_repeats
from pitlake.datasets import _answers as answers
from pitlake.datasets import _figures as figures
from pitlake.datasets import macro_observations as contract
from pitlake.datasets.macro_observations import DATASET
from pitlake.errors import BadInput, RecordRefused, Unparsable, Unreadable
from resources.http.capture import Capture, Request
from resources.http.providers.alfred import PROVIDER

EARLIEST, LATEST = "1776-07-04", "9999-12-31"
WINDOW = 1000
PAGE, DATES_PAGE, MOST_PAGES = 100_000, 10_000, 1000
WITHDRAWN = "."
VINTAGES, OBSERVATIONS, RELEASE, DATES = (
    "series/vintagedates",
    "series/observations",
    "series/release",
    "release/dates",
)
CLOCKS = ("calendar", "none")
FIRST_DAY = date.fromisoformat(EARLIEST)


def units(scope: Scope) -> Sequence[Unit]:
    """Return one unit per series. Raises BadInput if no series is named, and for an unknown option."""
    if not scope.series:
        raise BadInput("series", "no series is named", "name FRED series such as GDP")
    if scope.options.get("clocks", CLOCKS[0]) not in CLOCKS:
        raise BadInput("options.clocks", "is unknown", f"choose one of {', '.join(CLOCKS)}")
    return [Unit(series, scope) for series in scope.series]


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """Fetch the series' vintages, its observations in windows of vintages, and the calendar of its release.

    The calendar is fetched last, because the observations are valid without it and are only dated later.
    """
    vintages = fetch(_ask(VINTAGES, series_id=unit.name, limit=DATES_PAGE))
    yield vintages
    for start, end in windows(_list_or_empty(vintages, "vintage_dates")):
        yield from _observations(unit.name, start, end, fetch)
    release = fetch(_ask(RELEASE, series_id=unit.name))
    yield release
    number = _release_of(release)
    if number is not None:
        yield fetch(
            _ask(
                DATES,
                release_id=number,
                realtime_start=EARLIEST,
                realtime_end=LATEST,
                include_release_dates_with_no_data=False,
                limit=DATES_PAGE,
            )
        )


def windows(vintages: Sequence[Any]) -> list[tuple[str, str]]:
    """Return real-time windows of at most WINDOW vintages. Each begins on the last vintage of the previous window."""
    cuts = [EARLIEST, *vintages[WINDOW - 1 : -1 : WINDOW], LATEST]
    return list(pairwise(cuts))


def _observations(series: str, start: str, end: str, fetch: Fetch) -> Iterator[Capture]:
    """Yield the pages of a window, up to the stated number of records or a short page."""
    params = {"series_id": series, "realtime_start": start, "realtime_end": end, "limit": PAGE}
    offset = 0
    for _ in range(MOST_PAGES):
        capture = fetch(_ask(OBSERVATIONS, **params, offset=offset or None))
        yield capture
        length, total = len(_list_or_empty(capture, "observations")), _stated_number(capture, "count")
        offset += length
        whole_page = max(1, min(PAGE, _stated_number(capture, "limit") or PAGE))
        if length < whole_page or not _in_place(capture) or (total is not None and offset >= total):
            return


def _stated_number(capture: Capture, name: str) -> int | None:
    """Return a number that an answer gives for its list (count, limit, offset); None if it is missing."""
    try:
        return fields.whole(_body(capture).get(name))
    except Unreadable:
        return None


def _in_place(capture: Capture) -> bool:
    """Return whether a page begins at the requested offset; otherwise it may repeat another page."""
    return _stated_number(capture, "offset") in (None, int(dict(capture.params).get("offset", 0)))


def _ask(path: str, **params: object) -> Request:
    return Request(path, {**params, "file_type": "json"})


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    """Yield the records of `_records`. Mark a record that contradicts an earlier record of the same vintage."""
    return mark_repeats(
        _records(unit, captures),
        lambda record: str((record.get("problem"), record.get("date"), record.get("realtime_start"))),
        lambda record: str(record.get("value")),
    )


def _records(unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    """Yield a record per observation and vintage, and one for each window with fewer observations than stated.

    Raises Unparsable for an answer without its list. If another list is missing, the observations are only dated later,
    so the error is raised at the end.
    """
    release = next((_release_of(capture) for capture in captures if _is(capture, RELEASE)), None)
    calendar = {
        _day(release_date.get("date"))
        for capture in captures
        if _is(capture, DATES)
        for release_date in _members(capture, "release_dates")
        if release_date.get("release_id") == release
    }
    released_on = frozenset(day for day in calendar if day is not None)
    if unit.scope.options.get("clocks") == CLOCKS[1]:
        released_on = frozenset()
    facts = {"series_id": unit.name, "release_id": release, "released_on": released_on}
    ends: set[str] = set()
    for capture in captures:
        if not _is(capture, OBSERVATIONS):
            continue
        params = dict(capture.params)
        carried = params.get("realtime_start") if params.get("realtime_start") in ends else None
        body = _body(capture)
        for row in _required_list(capture, "observations"):
            # A carried row repeats a row of the previous window, which has its own vintage.
            if carried is None or not isinstance(row, dict) or row.get("realtime_start") != carried:
                if not isinstance(row, dict) or not {"date", "value", "realtime_start"} <= row.keys():
                    yield {"problem": answers.OTHER_SHAPE.reason}, capture
                    continue
                began = body.get("realtime_start")
                is_clipped = row["realtime_start"] == began and began != EARLIEST
                yield {**row, **facts, "clipped": is_clipped}, capture
        ends.add(params.get("realtime_end", ""))
    yield from (({"problem": contract.FEWER.reason}, capture) for capture in _short(captures))
    for capture in captures:
        for path, name in ((VINTAGES, "vintage_dates"), (RELEASE, "releases"), (DATES, "release_dates")):
            if _is(capture, path):
                _required_list(capture, name)


def _short(captures: Sequence[Capture]) -> Iterator[Capture]:
    """Yield the last page of each window whose pages have fewer observations than stated."""
    pages: dict[str | None, list[Capture]] = {}
    for capture in captures:
        if _is(capture, OBSERVATIONS):
            pages.setdefault(dict(capture.params).get("realtime_start"), []).append(capture)
    for window in pages.values():
        met = sum(len(_list_or_empty(page, "observations")) for page in window if _in_place(page))
        if met < max(_stated_number(page, "count") or 0 for page in window):
            yield window[-1]


def whole(unit: Unit, captures: Sequence[Capture]) -> Whole | None:
    """Return the completely read part: every vintage of every observation, if all windows were read to their end."""
    pages = [capture for capture in captures if _is(capture, OBSERVATIONS)]
    read = {dict(page.params).get("realtime_start") for page in pages}
    starts = {start for start, _ in windows(_list_or_empty(captures[0], "vintage_dates"))} if captures else set()
    return Whole(unit.name) if read == starts and in_order(pages) and not any(_short(captures)) else None


def locate(record: Record, run: RunFacts) -> Place:
    """Return the release's clock time on the vintage's day if the calendar lists that day, else the day's end."""
    if "problem" in record:
        return Place(run.evidence, reason=record["problem"])
    evidence = evidence_of(run, record, record["series_id"], record["date"], record["realtime_start"])
    if TWICE in record:
        return Place(evidence, reason=figures.TOLD_TWICE.reason)
    vintage = _day(record["realtime_start"])
    if vintage is None or vintage.year == date.max.year:
        return Place(evidence, reason=contract.NO_VINTAGE.reason)
    if vintage <= FIRST_DAY or record["clipped"]:
        return Place(evidence, reason=contract.CLIPPED.reason)
    calendar = vintage, record["release_id"], record["released_on"]
    return dated(f"{evidence}&dated_by={rule(*calendar)}", public_at(*calendar))


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of one observation in one vintage."""
    withdrawn = record["value"] == WITHDRAWN
    row = parsed({"observation_date": record["date"], "value": None if withdrawn else record["value"]}, PARSERS)
    if row["observation_date"] is None:
        raise RecordRefused("observation_date is unreadable")
    if row["value"] is None and not withdrawn:
        raise RecordRefused("value is unreadable")
    return row | {
        "series_id": record["series_id"],
        "vintage_date": fields.day(record["realtime_start"]),
        "value_text": None if withdrawn else str(record["value"]).strip(),
        "withdrawn": withdrawn,
    }


PARSERS = {"observation_date": fields.day, "value": fields.number}


def _release_of(capture: Capture) -> int | None:
    number = next((release.get("id") for release in _members(capture, "releases")), None)
    return number if isinstance(number, int) else None


def _day(value: Any) -> date | None:
    try:
        return fields.day(value)
    except Unreadable:
        return None


def _members(capture: Capture, name: str) -> list[dict[str, Any]]:
    """Return the objects in a list; no objects if the answer has an unknown format."""
    return [member for member in _list_or_empty(capture, name) if isinstance(member, dict)]


def _list_or_empty(capture: Capture, name: str) -> list[Any]:
    """Return the list; empty for an unknown format, which `records` reports."""
    members = _body(capture).get(name)
    return members if isinstance(members, list) else []


def _required_list(capture: Capture, name: str) -> list[Any]:
    value = _body(capture).get(name)
    if not isinstance(value, list):
        raise Unparsable(capture.evidence, f"the answer has no list {name}")
    return value


def _body(capture: Capture) -> dict[str, Any]:
    body = capture.json()
    return body if isinstance(body, dict) else {}


def _is(capture: Capture, path: str) -> bool:
    return capture.url.endswith(f"/{path}")


FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(series=("GDP",)),
    units=units,
    entity_of=one_entity,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
    whole=whole,
)
