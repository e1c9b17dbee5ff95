"""Bars from the quotes of a trading desk: futures, currencies, commodities and indices in a currency, and rates.

An instrument is named KIND:NAME or KIND:NAME:TENOR, such as `fx:EURUSD` or `future:CL:2024-12`; without a tenor it is
spot. The close of a day is the first available quote of settle, close, last and mid. Open, high and low are the close
unless they are quoted. The unit of the newest close, such as EUR per index point, names the currency of all quotes. A
rate in percent is followed as the price of a zero-coupon bond with its tenor that pays 100.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

from forge.core.currencies import SERIES, USD
from forge.tracking.paths import Bar
from pitlake.datasets.market_quotes import OUTRIGHT

PRICED, RATED = ("fx", "future", "commodity", "index"), "curve"
CLOSES = ("settle", "close", "last", "mid")
RATES = ("zero_rate", "par_rate")
SPOT = "spot"
_NAME = re.compile(rf"({'|'.join((*PRICED, RATED))}):([^:\s]+)(?::([^:\s]+))?")
_TENOR = re.compile(r"([0-9]+(?:\.[0-9]+)?)([YM])")
_MONTHS = {"Y": 12, "M": 1}


class Quoted(NamedTuple):
    """An instrument of market_quotes."""

    kind: str
    instrument: str
    tenor: str

    def __str__(self) -> str:
        return ":".join(self if self.tenor != SPOT else self[:2])


def parse_quoted(instrument: str) -> Quoted | None:
    """Parse the name of a quoted instrument; None for any other name."""
    match = _NAME.fullmatch(instrument)
    return Quoted(match[1], match[2], match[3] or SPOT) if match else None


def quoted_bars(quoted: Quoted, rows: Sequence[Mapping[str, Any]], currency: str = "") -> dict[date, Bar]:
    """Return bars from the quotes of one instrument, by day. Days without a close are left out.

    currency: the currency of the prices (default: the result of `currency_of`).
    """
    days, currency = defaultdict[date, dict[str, float]](dict), currency or currency_of(quoted, rows)
    for row in rows:
        if row["tenor"] == quoted.tenor and (price := _price(quoted, row, currency)) is not None:
            days[date.fromisoformat(str(row["quoted_on"])[:10])][row["measure"]] = price
    bars = dict[date, Bar]()
    for day, prices in days.items():
        close = next((prices[measure] for measure in (*CLOSES, *RATES) if measure in prices), None)
        if close is not None:
            first, high, low = (prices.get(measure, close) for measure in ("open", "high", "low"))
            bars[day] = Bar(day=day, open=first, high=max(high, first, close), low=min(low, first, close), close=close)
    return bars


def currency_of(quoted: Quoted, rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the currency of the newest close. It is USD if there is no close, and for currency pairs."""
    if quoted.kind == "fx":
        return USD
    closes = [row for row in rows if row["tenor"] == quoted.tenor and row["measure"] in CLOSES and _currency(row)]
    return max(((str(row["quoted_on"]), _currency(row)) for row in closes), default=("", USD))[1]


def years_of(quoted: Quoted) -> float | None:
    """Return the tenor of a rate in years; None for other instruments."""
    tenor = _TENOR.fullmatch(quoted.tenor) if quoted.kind == RATED else None
    return float(tenor[1]) * _MONTHS[tenor[2]] / 12 if tenor else None


def _currency(row: Mapping[str, Any]) -> str:
    currency = (row["unit"] or "").split(" ")[0].upper()
    return currency if row["point"] == OUTRIGHT and currency in (USD, *SERIES) else ""


def _price(quoted: Quoted, row: Mapping[str, Any], currency: str) -> float | None:
    """Return a quote as a price in a currency; None if it is not a price."""
    unit, value = (row["unit"] or "").lower(), row["value"]
    if row["point"] != OUTRIGHT:
        return None
    if quoted.kind != RATED:
        return value if _currency(row) == currency and value > 0 else None
    years = years_of(quoted)
    if years is None or unit != "percent" or row["measure"] not in RATES or value <= -100:
        return None
    return float(100 / (1 + value / 100) ** years)
