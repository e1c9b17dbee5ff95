"""Parses a question to an outside source from strings. Every error becomes a gap. No request is sent here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from pitlake import clock
from pitlake.clock import from_micros
from pitlake.errors import BadInput, BadInstant

DEFAULT_LIMIT, DEFAULT_PAGES, DEFAULT_TIMEOUT, DEFAULT_LOOKBACK = 50, 10, 20.0, 1440
_MOST_DIGITS = 18
LEAST_SECONDS = {"perplexity": 60.0}  # for a reasoning model
LISTS = ("tickers", "channels", "tags", "keywords", "themes", "search_domains")
THEMES: Mapping[str, tuple[str, ...]] = {
    "macro": ("fed", "fomc", "inflation", "cpi", "gdp", "payrolls", "jobs report", "treasury", "tariff", "recession"),
    "oil": ("oil", "crude", "wti", "brent", "opec", "natural gas", "gasoline"),
}


class NotAsked(Exception):
    """The question can't be answered. reason: the reason. kind: the type of the resulting gap."""

    def __init__(self, reason: str, *, kind: str = "bad_input") -> None:
        super().__init__(reason)
        self.kind, self.reason = kind, reason


@dataclass(frozen=True, kw_only=True)
class FetchQuestion:
    """A question. pit: the cut-off; None if it was omitted, which selects open mode. An unreadable cut-off is refused.

    known_by: the state of the lake that answers, None for the newest. texts: options of single sources (horizon, search
    filters), unchanged. live: whether the network may be used.
    """

    source: str
    op: str = ""
    pit: datetime | None = None
    known_by: datetime | None = None
    date_from: date | None = None
    date_to: date | None = None
    updated_since: datetime | None = None
    lookback_minutes: int = DEFAULT_LOOKBACK
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    symbol: str = ""
    queries: tuple[str, ...] = ()
    limit: int = DEFAULT_LIMIT
    max_pages: int = DEFAULT_PAGES
    timeout: float = DEFAULT_TIMEOUT
    input_file: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)
    live: bool = False

    def listed(self, name: str) -> tuple[str, ...]:
        """Return one of the comma-separated lists; empty if not given."""
        return self.lists.get(name, ())

    def summary(self) -> str:
        """Return the question in a few words, for gaps and metadata."""
        parts = (
            self.op,
            self.symbol,
            *self.queries,
            *(f"{name}={','.join(values)}" for name, values in self.lists.items()),
        )
        return " ".join(part for part in parts if part)


def read(options: Mapping[str, Any], words: Iterable[str] = ()) -> FetchQuestion:
    """Parse the flags and words (`EARNINGS symbol=AAPL`) of a command line. Raises NotAsked.

    options: strings by flag name with underscores; `query` is a list, `live` a boolean; None if not given.
    """
    flags = {name: value for name, value in options.items() if value not in (None, [], ())}
    pit: datetime | None = None
    if "pit" in flags:  # Unlike a missing cut-off, an empty or unreadable cut-off is refused.
        try:
            pit = clock.instant(str(flags.pop("pit")), "--pit")
        except BadInstant as fault:
            raise NotAsked(f"the cut-off is {fault.fault}; nothing is answered") from None
    known_by: datetime | None = None
    if "known_by" in flags:
        if "input_file" in flags:
            raise NotAsked("known_by reads the lake and input_file reads a file; give only one of them")
        known_by = clock.instant(str(flags.pop("known_by")), "--known-by")
    for word in words:
        name, equals, value = word.partition("=")
        if word.startswith("-"):
            raise NotAsked(f"there is no flag {name}")
        if not equals:
            if "op" in flags:
                raise NotAsked("more than one operation is named")
            flags["op"] = word
        elif name == "query":
            flags["query"] = [*flags.get("query", ()), value]
        elif name.isidentifier() and name not in flags and name not in ("source", "pit", "known_by", "live"):
            flags[name] = value
        else:
            raise NotAsked(f"{name} is not an option here, or is given twice")
    fields = FetchQuestion.__dataclass_fields__
    return FetchQuestion(
        source=str(flags.pop("source", "")).strip().lower(),
        op=str(flags.pop("op", "")).strip().lower(),
        pit=pit,
        known_by=known_by,
        date_from=_day(flags.pop("date_from", None), "date_from"),
        date_to=_day(flags.pop("date_to", None), "date_to"),
        updated_since=_epoch(flags.pop("updated_since", None)),
        lookback_minutes=_whole(flags.pop("lookback_minutes", DEFAULT_LOOKBACK), "lookback_minutes"),
        lists={
            name: tuple(dict.fromkeys(part.strip() for part in str(flags.pop(name)).split(",") if part.strip()))
            for name in LISTS
            if name in flags
        },
        symbol=str(flags.pop("symbol", "")).strip(),
        queries=tuple(query.strip() for query in flags.pop("query", ()) if query.strip()),
        limit=max(1, _whole(flags.pop("limit", DEFAULT_LIMIT), "limit", least=0)),
        max_pages=_whole(flags.pop("max_pages", DEFAULT_PAGES), "max_pages"),
        timeout=_seconds(flags.pop("timeout", DEFAULT_TIMEOUT)),
        input_file=str(flags.pop("input_file", "")),
        live=bool(flags.pop("live", False)),
        texts={name: str(value) for name, value in flags.items() if name not in fields},
    )


def patience(source: str, seconds: float) -> float:
    """Return the time limit of a source for the whole question: the given seconds, or more for slow sources."""
    return max(seconds, LEAST_SECONDS.get(source, 0.0))


def _day(text: Any, flag: str) -> date | None:
    try:
        return None if text is None else date.fromisoformat(str(text).strip())
    except ValueError:
        raise NotAsked(f"{flag} is {text!r}; give a date such as 2024-02-15") from None


def _whole(value: Any, flag: str, least: int = 1) -> int:
    text = str(value).strip()
    if not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS or int(text) < least:
        raise NotAsked(f"{flag} is {value!r}; give a whole number of at least {least}")
    return int(text)


def _seconds(value: Any) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 3600:
        raise NotAsked(f"timeout is {value!r}; give seconds above 0 and below 3600")
    return seconds


def _epoch(value: Any) -> datetime | None:
    if value is None:
        return None
    try:
        return from_micros(_whole(value, "updated_since", least=0) * 1_000_000)
    except BadInput:
        raise NotAsked(f"updated_since is {value!r}, too far from 1970; give Unix seconds such as 1704067200") from None
