"""Bars as traded, from the lake's named queries: prices, the splits that prove their basis, and dividends.

The bars of a quoted instrument are made from its quotes, see `forge.tracking.quotes`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

from forge.memory.journal import digest
from forge.providers.base import At, ask
from forge.tracking.ledger import Prices
from forge.tracking.paths import Bar
from forge.tracking.quotes import Quoted, parse_quoted, quoted_bars
from pitlake.clock import new_york_day
from pitlake.exchange import session
from pitlake.questions import catalogue

PER_SHARE = "USD per share"


class NotFollowable(ValueError):
    """The lake lacks data that is needed to follow a position."""


@dataclass(frozen=True)
class Traded:
    """Prices of one security.

    bars: the bars by day. answer: SHA-256 of the lake's answers. version: the version of the lake.
    """

    bars: dict[date, Bar]
    answer: str
    version: int | None


def traded_bars(ticker: str, since: date, at: At) -> Traded:
    """Return the bars from a day on, as of an instant. Bars whose split basis is unknown are left out.

    ticker: of a security, or the name of a quoted instrument. Raises NotFollowable for a dividend in another currency,
    BadInput for an unknown ticker.
    """
    if quoted := parse_quoted(ticker):
        answer = _quotes(quoted, since, at)
        return Traded(quoted_bars(quoted, answer["rows"]), digest(answer["receipts"][0].result_sha256), at.version)
    queries: dict[str, dict[str, Any]] = {
        "entity_price_range": {"ticker": ticker, "start_date": str(since)},
        "bars_adjusted": {"ticker": ticker, "start_date": str(since - timedelta(days=14))},
        "entity_dividends": {"ticker": ticker},
    }
    answers = {name: ask(catalogue.get(name), values, at) for name, values in queries.items()}
    prices, adjusted, paid = (answers[name]["rows"] for name in queries)
    factors = {_day(row["date"]): row["split_factor"] for row in adjusted}
    splits = {
        later: factors[earlier] / factors[later]
        for earlier, later in pairwise(sorted(factors))
        if factors[earlier] and factors[later]
    }
    dividends = _dividends(paid, since)
    bars = {}
    for row in prices:
        day, prices_of_day = _day(row["date"]), {name: row[name] for name in ("open", "high", "low", "close")}
        if factors.get(day) and all(prices_of_day.values()):
            bars[day] = Bar(day=day, split=splits.get(day, 1.0), dividend=dividends.get(day, 0.0), **prices_of_day)
    return Traded(bars, digest(*(answer["receipts"][0].result_sha256 for answer in answers.values())), at.version)


def daily_prices(ticker: str, since: date, at: At) -> Prices:
    """Return closes, splits and dividends from two weeks before a day on, as of an instant.

    A split is dated by its execution day if its statement is known, otherwise by the first bar after it. Raises the
    errors of `traded_bars`.
    """
    if quoted := parse_quoted(ticker):
        rows = _quotes(quoted, since - timedelta(days=14), at)["rows"]
        return Prices({day: bar.close for day, bar in quoted_bars(quoted, rows).items()})
    start = str(since - timedelta(days=14))
    bars = ask(catalogue.get("bars_adjusted"), {"ticker": ticker, "start_date": start}, at)["rows"]
    split_rows = ask(catalogue.get("entity_splits"), {"ticker": ticker}, at)["rows"]
    paid = ask(catalogue.get("entity_dividends"), {"ticker": ticker}, at)["rows"]
    proven = {_day(row["date"]): row for row in bars if row["split_factor"] and row["close"]}
    executed = sorted(_day(row["execution_date"]) for row in split_rows)
    splits = {}
    for earlier, later in pairwise(sorted(proven)):
        ratio = proven[earlier]["split_factor"] / proven[later]["split_factor"]
        if ratio != 1:
            splits[max((day for day in executed if earlier < day <= later), default=later)] = ratio
    closes = {day: row["close"] * row["split_factor"] for day, row in proven.items()}
    return Prices(closes, splits, _dividends(paid, since))


def adjusted_bars(ticker: str, since: date, at: At) -> list[Mapping[str, Any]]:
    """Return date, open, close, volume and split_factor of each day, adjusted for splits, oldest first.

    close is None where the split basis is unknown, and volume for a quoted instrument. Raises BadInput for an unknown
    ticker.
    """
    if quoted := parse_quoted(ticker):
        bars = quoted_bars(quoted, _quotes(quoted, since, at)["rows"]).values()
        return [
            {"date": bar.day, "open": bar.open, "close": bar.close, "volume": None, "split_factor": 1.0} for bar in bars
        ]
    rows = ask(catalogue.get("bars_adjusted"), {"ticker": ticker, "start_date": str(since)}, at)["rows"]
    return [{**row, "date": _day(row["date"])} for row in rows]


def sessions(since: datetime, until: date, now: datetime) -> list[date]:
    """Return the sessions that opened at or after an instant, up to a day, and have closed."""
    first, last = new_york_day(since), min(until, new_york_day(now))
    days = (first + timedelta(days=number) for number in range((last - first).days + 1))
    return [day for day in days if (hours := session(day)) and hours.open >= since and hours.close <= now]


def _quotes(quoted: Quoted, since: date, at: At) -> dict[str, Any]:
    return ask(catalogue.get("quotes_range"), {**quoted._asdict(), "start_date": str(since)}, at)


def _dividends(rows: tuple[Any, ...], since: date) -> dict[date, float]:
    dividends: dict[date, float] = {}
    for row in rows:
        if row["ex_dividend_date"] is None or (day := _day(row["ex_dividend_date"])) < since:
            continue
        if row["cash_amount"] is None or row["unit"] != PER_SHARE:
            raise NotFollowable(f"the dividend of {day} is not in USD")
        dividends[day] = dividends.get(day, 0.0) + row["cash_amount"]
    return dividends


def _day(value: Any) -> date:
    return value if isinstance(value, date) else date.fromisoformat(str(value)[:10])
