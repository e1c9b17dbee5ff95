"""Bars as traded, from the lake's named queries: prices, the splits that prove their basis, and dividends.

The bars of a quoted instrument are made from its quotes, see `forge.tracking.quotes`.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

from forge.core.currencies import read_currency
from forge.memory.journal import digest
from forge.providers.base import At, ask
from forge.tracking.ledger import Prices
from forge.tracking.paths import Bar
from forge.tracking.quotes import Quoted, currency_of, parse_quoted, quoted_bars
from pitlake.clock import new_york_day
from pitlake.exchange import session
from pitlake.questions import catalogue

PER_SHARE = "USD per share"
LEAD = timedelta(days=14)


class NotFollowable(ValueError):
    """Code can't follow a position."""


@dataclass(frozen=True)
class Traded:
    """Prices of one security, as traded.

    bars: bars by day. prices: the closes, splits and dividends. unproven: the days on which an unrecorded split may
    have moved the price. gaps: descriptions of omitted data. answer: SHA-256 of the lake's answers. version: the lake's
    version. currency: the currency of the prices, "" for USD.
    """

    bars: dict[date, Bar]
    prices: Prices
    answer: str
    version: int | None
    unproven: frozenset[date] = frozenset()
    gaps: tuple[str, ...] = ()
    currency: str = ""


def traded_bars(ticker: str, since: date, at: At) -> Traded:
    """Return the bars from two weeks before a day on, as of an instant.

    A dividend that is not in USD is left out and reported in `gaps`. Splits and dividends apply from the first session
    on or after their day.

    ticker: a security's ticker, or the name of a quoted instrument. Raises BadInput for an unknown ticker.
    """
    start = since - LEAD
    if quoted := parse_quoted(ticker):
        answer = quotes_since(start, quoted, at)
        bars = quoted_bars(quoted, answer["rows"])
        closes = {day: bar.close for day, bar in bars.items()}
        currency = read_currency(currency_of(quoted, answer["rows"]))
        sha256 = digest(answer["receipts"][0].result_sha256)
        return Traded(bars, Prices(closes), sha256, at.version, currency=currency)
    queries: dict[str, dict[str, Any]] = {
        "entity_price_range": {"ticker": ticker, "start_date": str(start)},
        "bars_adjusted": {"ticker": ticker, "start_date": str(start)},
        "entity_splits": {"ticker": ticker},
        "entity_dividends": {"ticker": ticker},
    }
    answers = {name: ask(catalogue.get(name), values, at) for name, values in queries.items()}
    priced, adjusted, executed, paid = (answers[name]["rows"] for name in queries)
    bars = {
        _day(row["date"]): Bar(_day(row["date"]), row["open"], row["high"], row["low"], row["close"])
        for row in priced
        if all(row[name] for name in ("open", "high", "low", "close"))
    }
    splits, today = defaultdict[date, float](lambda: 1.0), new_york_day(at.as_of)
    for row in executed:
        if row["split_from"] and row["split_to"] and start <= (day := _day(row["execution_date"])) <= today:
            splits[_session_from(day)] *= row["split_to"] / row["split_from"]
    dividends, gaps = defaultdict[date, float](float), list[str]()
    for row in paid:
        if not row["ex_dividend_date"] or not since <= (day := _day(row["ex_dividend_date"])) <= today:
            continue
        if row["cash_amount"] is None or row["unit"] != PER_SHARE:
            gaps.append(f"the dividend of {day} is not in USD and is not counted")
        else:
            dividends[_session_from(day)] += row["cash_amount"]
    closes = {_day(row["date"]): row["close"] for row in priced if row["close"]}
    # A day is unproven if its split basis is proven and that of the day before is not.
    bases = [(_day(row["date"]), row["split_factor"] is not None) for row in adjusted]
    unproven = frozenset(day for (_, before), (day, proven) in pairwise(bases) if proven and not before)
    return Traded(
        bars,
        Prices(closes, dict(splits), dict(dividends)),
        digest(*(answer["receipts"][0].result_sha256 for answer in answers.values())),
        at.version,
        unproven,
        tuple(gaps),
    )


def adjusted_bars(ticker: str, since: date, at: At) -> list[Mapping[str, Any]]:
    """Return date, open, close, unit, volume and split_factor of each day, adjusted for splits, oldest first.

    close is None where the split basis is unknown, and volume for a quoted instrument. Raises BadInput for an unknown
    ticker.
    """
    if quoted := parse_quoted(ticker):
        rows = quotes_since(since, quoted, at)["rows"]
        same = {"unit": currency_of(quoted, rows), "volume": None, "split_factor": 1.0}
        bars = quoted_bars(quoted, rows).values()
        return [{"date": bar.day, "open": bar.open, "close": bar.close, **same} for bar in bars]
    rows = ask(catalogue.get("bars_adjusted"), {"ticker": ticker, "start_date": str(since)}, at)["rows"]
    return [{**row, "date": _day(row["date"])} for row in rows]


def sessions(since: datetime, until: date, now: datetime) -> list[date]:
    """Return the completed sessions that opened at or after an instant, up to a day."""
    first, last = new_york_day(since), min(until, new_york_day(now))
    days = (first + timedelta(days=number) for number in range((last - first).days + 1))
    return [day for day in days if (hours := session(day)) and hours.open >= since and hours.close <= now]


def days_text(days: Sequence[date]) -> str:
    """Return days as a phrase: the single day, or their number with the first and the last."""
    return f"on {days[0]}" if len(days) == 1 else f"on {len(days)} days, {days[0]} to {days[-1]}"


def quotes_since(since: date, quoted: Quoted, at: At) -> dict[str, Any]:
    """Return the lake's answer with the quotes of an instrument from a day on."""
    return ask(catalogue.get("quotes_range"), {**quoted._asdict(), "start_date": str(since)}, at)


def _session_from(day: date) -> date:
    """Return the first session on or after a day."""
    while session(day) is None:
        day += timedelta(days=1)
    return day


def _day(value: Any) -> date:
    return value if isinstance(value, date) else date.fromisoformat(str(value)[:10])
