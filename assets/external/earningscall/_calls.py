"""Shared code of earningscall.biz: companies, the identity of a call, and when its text was public.

A call's text is not available at the start of the call, but a lag after the latest stated start, or when the provider
says that it published or wrote the text, if that is later. Pure.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from assets.extraction import Place, Record, RunFacts, dated, parsed
from assets.feeds import dating, fields
from assets.feeds.feed import Fetch, Scope, Unit, Whole
from assets.feeds.items import evidence_of, parsed_or_text
from pitlake.clock import NEW_YORK
from pitlake.datasets import _earnings as contract
from pitlake.errors import BadInput, Unparsable, Unreadable
from pitlake.times import stated
from resources.http.capture import Capture, Request

EVENTS = "events"
DEFAULT_EXCHANGE = "NASDAQ"
LAG_OPTION = "publication_lag_minutes"
# Starts in the list of calls have been hours too early.
LEAST_LAG_OF_LISTED = timedelta(hours=12)
# A call follows the 8-K of its release within days, but its stated day may be weeks too early.
AFTER_RELEASE, RELEASED_WITHIN = timedelta(days=4), 45
PUBLISHED = ("published_at", "publication_date")


def companies(scope: Scope) -> list[tuple[str, str]]:
    """Return (exchange, ticker) for tickers such as "NYSE:KO", or "KO" with the option `exchange`. Raises BadInput."""
    if not scope.tickers:
        raise BadInput("tickers", "no company is named", "name tickers such as NASDAQ:MSFT")
    default = scope.options.get("exchange", DEFAULT_EXCHANGE)
    return [(exchange or default, ticker) for exchange, _, ticker in (name.rpartition(":") for name in scope.tickers)]


def company_units(scope: Scope) -> Sequence[Unit]:
    return [Unit(f"{exchange}:{ticker}", scope) for exchange, ticker in companies(scope)]


def company(unit: Unit) -> str:
    """Return the ticker of a unit for a company or for a quarter."""
    return unit.name.split(":")[1]


def quarter_units(scope: Scope) -> Sequence[Unit]:
    """Return one unit per company and fiscal quarter in the option `quarters` ("2023Q1,2023Q2"). Raises BadInput."""
    lag(scope)
    spelled = [part.strip().upper() for part in scope.options.get("quarters", "").split(",") if part.strip()]
    if not spelled:
        raise BadInput("quarters", "no fiscal quarter is named", "give quarters such as 2023Q1,2023Q2")
    quarters = [_quarter(quarter) for quarter in spelled]
    return [
        Unit(f"{exchange}:{ticker}:{year}Q{quarter}", scope)
        for exchange, ticker in companies(scope)
        for year, quarter in quarters
    ]


def _quarter(spelled: str) -> tuple[int, int]:
    year, _, quarter = spelled.partition("Q")
    if not (year.isdigit() and len(year) == len("2023") and quarter in {"1", "2", "3", "4"}):
        raise BadInput("quarters", f"{spelled!r} is not a fiscal quarter", "give quarters such as 2023Q1")
    return int(year), int(quarter)


def lag(scope: Scope) -> timedelta:
    """Return the lag after a call's start: the option `publication_lag_minutes` or the setting. Raises BadInput."""
    return contract.publication_lag(scope.options.get(LAG_OPTION), LAG_OPTION)


def listed_lag(scope: Scope) -> timedelta:
    """Return the lag for a start that only the company's list states: `lag`, at least 12 hours. Raises BadInput."""
    return max(lag(scope), LEAST_LAG_OF_LISTED)


def named_call(unit: Unit) -> dict[str, Any]:
    """Return the requested call of a unit of `quarter_units`, as the provider's fields."""
    exchange, ticker, quarter = unit.name.split(":")
    year, number = _quarter(quarter)
    return {"exchange": exchange, "symbol": ticker, "year": year, "quarter": number}


def whole_call(unit: Unit, _captures: Sequence[Capture]) -> Whole:
    """Return the requested call of a unit of `quarter_units`."""
    call = named_call(unit)
    names = {"exchange": "exchange", "fiscal_year": "year", "fiscal_quarter": "quarter"}
    return Whole(call["symbol"], tuple((column, str(call[name]), str(call[name])) for column, name in names.items()))


def events_request(exchange: str, ticker: str) -> Request:
    """Return the request for a company's list of calls."""
    return Request(EVENTS, {"exchange": exchange, "symbol": ticker})


def collect_with_events(unit: Unit, fetch: Fetch, path: str, **more: Any) -> Iterator[Capture]:
    """Fetch the call's own answer and then the company's list of calls, which also states starts."""
    call = named_call(unit)
    yield fetch(Request(path, {**call, **more}))
    yield fetch(events_request(call["exchange"], call["symbol"]))


def is_answer(capture: Capture, path: str) -> bool:
    return capture.url.endswith(f"/{path}")


def events(capture: Capture) -> tuple[str | None, list[Any]]:
    """Return the company's name and its calls. Raises Unparsable."""
    body = capture.json()
    members = body.get("events") if isinstance(body, dict) else None
    if not isinstance(members, list):
        raise Unparsable(capture.evidence, "the answer has no list of events")
    name = body.get("company_name")
    return (name if isinstance(name, str) else None), members


def listed_starts(captures: Sequence[Capture], call: dict[str, Any]) -> list[Any]:
    """Return all starts that the company's list states for a call, as text. A list may contain a call twice."""
    quarter = call["year"], call["quarter"]
    return [
        event.get("conference_date")
        for capture in captures
        if is_answer(capture, EVENTS)
        for event in events(capture)[1]
        if isinstance(event, dict)
        and tuple(parsed_or_text(fields.whole, event.get(name)) for name in ("year", "quarter")) == quarter
    ]


def latest(spelled: Sequence[Any]) -> Any:
    """Return the latest of the stated starts, as text; None if there is none. Raises Unreadable."""
    return max(((at, text) for text in spelled if (at := instant(text)) is not None), default=(None, None))[1]


def instant(value: Any) -> datetime | None:
    """Return a start with its local offset; None when null or blank. Midnight, locally or in New York, is None too,
    because it means a day without a time. Raises Unreadable.
    """
    moment = _exact(value)
    return None if moment is None or _midnight_of(value, moment) else moment


def _exact(value: Any) -> datetime | None:
    text = fields.word(value)
    return None if text is None else dating.iso(text)


def _midnight_of(value: Any, moment: datetime) -> date | None:
    """Return the day that begins at this instant, in its own zone or in New York (the later one); None otherwise."""
    readings = stated(value), moment.astimezone(NEW_YORK)
    return max((reading.date() for reading in readings if reading.time() == time()), default=None)


def when_fetched(record: Record, run: RunFacts, *names: Any) -> Place:
    """Return the place of a record that is dated by its fetch."""
    return dated(evidence_of(run, record, *names), run.fetched_at or run.observed_at)


def when_published(record: Record, run: RunFacts) -> Place:
    """Return the place of a call's text.

    The text becomes available one lag after the latest of its stated starts, or at the end of a day that is stated
    without a time. Without a start, it becomes available some days after the 8-K of its release, or without that 8-K
    at the fetch. If the text was published or its file was written later, it is available from then.
    """
    evidence = evidence_of(run, record, record["exchange"], record["symbol"], f"{record['year']}Q{record['quarter']}")
    starts = (record.get("start"), *record["listed"])
    try:
        start = later(*starts)
        published = publication(record.get("published") or ())
        days = [day for start in starts if (at := _exact(start)) and (day := _midnight_of(start, at))]
    except Unreadable:
        return Place(evidence, reason="call_start is unreadable")
    fetched_at = run.fetched_at or run.observed_at
    if start:
        spoken = max([start, *map(dating.end_of_day, days)]) + record["lag"]
    else:
        spoken = _after_release(record["symbol"], days, run) or fetched_at
    return dated(evidence, max(filter(None, (spoken, published, record["written"]))))


def publication(texts: Sequence[Any]) -> datetime | None:
    """Return the latest of the stated publications; None if there is none. Raises Unreadable.

    Midnight means a day without a time, so the end of that day is used.
    """
    return max(filter(None, map(_publication, texts)), default=None)


def _publication(value: Any) -> datetime | None:
    moment = _exact(value)
    day = moment and _midnight_of(value, moment)
    return max(moment, dating.end_of_day(day)) if moment and day else moment


def _after_release(ticker: str, days: Sequence[date], run: RunFacts) -> datetime | None:
    """Return an instant at which a call's text was certainly public, or None.

    It follows from the last 8-K with item 2.02 soon after the stated day.
    """
    if not days or run.releases is None:
        return None
    around = (max(days) + timedelta(days=offset) for offset in range(RELEASED_WITHIN + 1))
    released = max((at for day in around if (at := run.releases(ticker, day))), default=None)
    return released and released + AFTER_RELEASE + contract.DEFAULT_LAG


def call_values(record: Record) -> dict[str, Any]:
    return parsed(
        {
            "exchange": record.get("exchange"),
            "ticker": record.get("symbol"),
            "fiscal_year": record.get("year"),
            "fiscal_quarter": record.get("quarter"),
        },
        {
            "exchange": fields.required_word,
            "ticker": fields.required_word,
            "fiscal_year": fields.whole,
            "fiscal_quarter": fields.whole,
        },
    )


def later(*texts: Any) -> datetime | None:
    """Return the later of the stated starts; None if there is none."""
    return max(filter(None, map(instant, texts)), default=None)


def written_by(capture: Capture) -> datetime | None:
    """Return when the provider had certainly written the answer's file; None without a header.

    For a future or unreadable header, this is the fetch, when the file existed.
    """
    header = capture.headers.get("last-modified")
    if header is None:
        return None
    try:
        return min(dating.rfc2822(header, dating.EVER), capture.fetched_at)
    except Unreadable:
        return capture.fetched_at


def modified(capture: Capture) -> datetime | None:
    """Return when the provider last wrote the answer's file, according to its header."""
    try:
        return dating.rfc2822(capture.headers.get("last-modified"))
    except Unreadable:
        return None
