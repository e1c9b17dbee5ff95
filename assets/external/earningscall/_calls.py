"""What the datasets of earningscall.biz share: who is asked about, a call's identity, and when its text was public.

A call's start is never the availability of its text: that is the provider's publication time if it gives one
that is later, else the latest of the starts it states and a lag. Pure; called by the modules of this folder.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from assets.external import dating, fields
from assets.external.feed import Fetch, Scope, Unit
from assets.external.items import named, read_or_spelled
from assets.extraction import Place, Record, RunFacts, dated, parsed
from pitlake.datasets import _earnings as contract
from pitlake.errors import BadInput, Unparsable, Unreadable
from resources.http.capture import Capture, Request

EVENTS = "events"
DEFAULT_EXCHANGE = "NASDAQ"
DEFAULT_LAG_HOURS = 24
LONGEST_LAG_HOURS = 24 * 30
PUBLISHED = ("published_at", "publication_date")


def companies(scope: Scope) -> list[tuple[str, str]]:
    """(exchange, ticker) of each ticker, spelled "NYSE:KO" or "KO" with option `exchange`. Raises BadInput."""
    if not scope.tickers:
        raise BadInput("tickers", "no company is named", "name tickers such as NASDAQ:MSFT")
    default = scope.options.get("exchange", DEFAULT_EXCHANGE)
    return [(exchange or default, ticker) for exchange, _, ticker in (one.rpartition(":") for one in scope.tickers)]


def company_units(scope: Scope) -> Sequence[Unit]:
    """One unit a company."""
    return [Unit(f"{exchange}:{ticker}", scope) for exchange, ticker in companies(scope)]


def quarter_units(scope: Scope) -> Sequence[Unit]:
    """One unit a company and fiscal quarter of option `quarters`, such as "2023Q1,2023Q2". Raises BadInput."""
    lag(scope)
    spelled = [one.strip().upper() for one in scope.options.get("quarters", "").split(",") if one.strip()]
    if not spelled:
        raise BadInput("quarters", "no fiscal quarter is named", "give quarters such as 2023Q1,2023Q2")
    quarters = [_quarter(one) for one in spelled]
    return [
        Unit(f"{exchange}:{ticker}:{year}Q{quarter}", scope)
        for exchange, ticker in companies(scope)
        for year, quarter in quarters
    ]


def _quarter(spelled: str) -> tuple[int, int]:
    year, _, quarter = spelled.partition("Q")
    if not (year.isdigit() and len(year) == len("2023") and quarter in {"1", "2", "3", "4"}):
        raise BadInput("quarters", f"{spelled!r} is no fiscal quarter", "give quarters such as 2023Q1")
    return int(year), int(quarter)


def lag(scope: Scope) -> timedelta:
    """What is added to a call's start: option `lag_hours`, else a day. Raises BadInput."""
    stated = scope.options.get("lag_hours", str(DEFAULT_LAG_HOURS))
    if not (stated.isascii() and stated.isdigit()) or not 1 <= int(stated) <= LONGEST_LAG_HOURS:
        raise BadInput("lag_hours", "is no number of hours", f"give 1 to {LONGEST_LAG_HOURS}")
    return timedelta(hours=int(stated))


def named_call(unit: Unit) -> dict[str, Any]:
    """The identity a unit of `quarter_units` asks for, as the provider's fields."""
    exchange, ticker, quarter = unit.name.split(":")
    year, number = _quarter(quarter)
    return {"exchange": exchange, "symbol": ticker, "year": year, "quarter": number}


def events_request(exchange: str, ticker: str) -> Request:
    """The list of a company's calls."""
    return Request(EVENTS, {"exchange": exchange, "symbol": ticker})


def collect_with_events(unit: Unit, fetch: Fetch, path: str, **more: Any) -> Iterator[Capture]:
    """The call's own answer and then the company's list of calls, which states starts too."""
    call = named_call(unit)
    yield fetch(Request(path, {**call, **more}))
    yield fetch(events_request(call["exchange"], call["symbol"]))


def is_answer(capture: Capture, path: str) -> bool:
    """Whether a capture answers a request of this path."""
    return capture.url.endswith(f"/{path}")


def events(capture: Capture) -> tuple[str | None, list[Any]]:
    """The company's name and its calls. Raises Unparsable."""
    body = capture.json()
    listed = body.get("events") if isinstance(body, dict) else None
    if not isinstance(listed, list):
        raise Unparsable(capture.evidence, "the answer has no list of events")
    name = body.get("company_name")
    return (name if isinstance(name, str) else None), listed


def listed_starts(captures: Sequence[Capture], call: dict[str, Any]) -> list[Any]:
    """Every start the company's list states for a call, as it is spelled; a list may tell of one call twice."""
    wanted = call["year"], call["quarter"]
    return [
        event.get("conference_date")
        for capture in captures
        if is_answer(capture, EVENTS)
        for event in events(capture)[1]
        if isinstance(event, dict)
        and tuple(read_or_spelled(fields.whole, event.get(name)) for name in ("year", "quarter")) == wanted
    ]


def latest(spelled: Sequence[Any]) -> Any:
    """The latest of stated starts as it is spelled; None where there is none. Raises Unreadable."""
    return max(((at, one) for one in spelled if (at := instant(one)) is not None), default=(None, None))[1]


def instant(value: Any) -> datetime | None:
    """A start with its local offset; None when null or blank. Raises Unreadable."""
    stated = fields.word(value)
    return None if stated is None else dating.iso(stated)


def when_fetched(record: Record, run: RunFacts, *names: Any) -> Place:
    """The place of something that is as of the download."""
    return dated(named(run, record, *names), run.fetched_at or run.observed_at)


def when_published(record: Record, run: RunFacts) -> Place:
    """The place of a call's text: its publication, else the latest of its stated starts and the lag.

    A publication that is not after every start is none: what was said in the call can't have been there.
    """
    evidence = named(run, record, record["exchange"], record["symbol"], f"{record['year']}Q{record['quarter']}")
    try:
        starts = [start for start in map(instant, (record.get("start"), *record["listed"])) if start is not None]
        published = instant(record.get("published"))
    except Unreadable:
        return Place(evidence, reason="call_start is unreadable")
    if published is not None and all(start < published for start in starts):
        return dated(evidence, published)
    if not starts:
        return Place(evidence, reason=contract.NO_START.reason)
    return dated(evidence, max(starts) + record["lag"])


def call_values(record: Record) -> dict[str, Any]:
    """The columns that name a call."""
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


def later(*stated: Any) -> datetime | None:
    """The later of stated starts; None where there is none."""
    return max(filter(None, map(instant, stated)), default=None)


def modified(capture: Capture) -> datetime | None:
    """When the provider last wrote the answer's file, by its header."""
    try:
        return dating.rfc2822(capture.headers.get("last-modified"))
    except Unreadable:
        return None
