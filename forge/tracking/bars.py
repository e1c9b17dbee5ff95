"""Bars as traded for paths, from the lake's named queries: prices, the splits that prove their basis, dividends."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

from forge.memory.journal import digest
from forge.providers.base import At, ask
from forge.tracking.paths import Bar
from pitlake.clock import new_york_day
from pitlake.exchange import session
from pitlake.questions import catalogue

PER_SHARE = "USD per share"


class Untold(ValueError):
    """The lake can't say what became of a position."""


@dataclass(frozen=True)
class Traded:
    """bars: by day; answer: SHA-256 of what the lake answered; version: which was asked."""

    bars: dict[date, Bar]
    answer: str
    version: int | None


def traded(ticker: str, since: date, at: At) -> Traded:
    """What was traded from a day on, as of an instant. A bar whose basis no split proves is left out.

    Raises Untold for a dividend in another currency, BadInput for what is no ticker.
    """
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
        day, told = _day(row["date"]), {name: row[name] for name in ("open", "high", "low", "close")}
        if factors.get(day) and all(told.values()):
            bars[day] = Bar(day=day, split=splits.get(day, 1.0), dividend=dividends.get(day, 0.0), **told)
    return Traded(bars, digest(*(one["receipts"][0].result_sha256 for one in answers.values())), at.version)


def sessions(since: datetime, until: date, now: datetime) -> list[date]:
    """The sessions that opened at or after an instant, up to a day, and are over."""
    first, last = new_york_day(since), min(until, new_york_day(now))
    days = (first + timedelta(days=number) for number in range((last - first).days + 1))
    return [day for day in days if (held := session(day)) and held.open >= since and held.close <= now]


def _dividends(rows: tuple[Any, ...], since: date) -> dict[date, float]:
    made: dict[date, float] = {}
    for row in rows:
        if row["ex_dividend_date"] is None or (day := _day(row["ex_dividend_date"])) < since:
            continue
        if row["cash_amount"] is None or row["unit"] != PER_SHARE:
            raise Untold(f"the dividend of {day} is not in USD")
        made[day] = made.get(day, 0.0) + row["cash_amount"]
    return made


def _day(value: Any) -> date:
    return value if isinstance(value, date) else date.fromisoformat(str(value)[:10])
