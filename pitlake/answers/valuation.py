"""Ratios of a panel, from line items and bars as they were known at the row's instant: margins, ROE, yield and P/E.

A ratio is null if an input is unknown, has a different period or currency, or is a divisor that is not positive. A
price and a figure per share have the same basis only if the price is not older and no split falls between them.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pitlake import clock

if TYPE_CHECKING:
    from pitlake.session import Result, Session

BARS = "prices_as_of_event"
DOLLARS, PER_SHARE = "iso4217:USD", "iso4217:USDshares"
SPLIT = "a split may fall between the price and the figure of its shares"
RECEIPTS = "a 20-F counts ordinary shares, and the price may be of depositary receipts"
UNKNOWN, PERIODS, UNITS, NEGATIVE = (
    "an input is unknown",
    "its inputs are of different periods",
    "its inputs are in different units",
    "it would divide by a number that is not positive",
)
Pair = tuple[str, datetime]


@dataclass(frozen=True)
class Ratio:
    """A quotient of line items. shares: the item whose share basis the price must have, if the ratio uses the price."""

    above: str
    below: str
    shares: str = ""

    @property
    def items(self) -> tuple[str, ...]:
        return tuple(name for name in (self.above, self.below) if name != "close")


RATIOS = {
    "gross_margin": Ratio("gross_profit_ttm", "revenue_ttm"),
    "operating_margin": Ratio("operating_income_ttm", "revenue_ttm"),
    "net_margin": Ratio("net_income_ttm", "revenue_ttm"),
    "roe": Ratio("net_income_ttm", "equity"),
    "fcf_yield": Ratio("free_cash_flow_ttm", "shares", "shares"),
    "pe": Ratio("close", "eps_diluted_ttm", "eps_diluted_ttm"),
}


def inputs(names: Collection[str]) -> tuple[list[str], bool]:
    """Return the line items that ratios need, and whether they need bars."""
    ratios = [RATIOS[name] for name in names if name in RATIOS]
    return [item for ratio in ratios for item in ratio.items], any(ratio.shares for ratio in ratios)


class Valuation:
    """The ratios of some pairs. facts, bars: the answers to the panel's queries for these pairs."""

    def __init__(self, pairs: Sequence[Pair], facts: "Result", bars: "Result | None") -> None:
        self._pairs = pairs
        self._facts = {(row["ticker"], row["at"], row["field"]): row for row in facts.arrow().to_pylist()}
        self._bars = {(row["ticker"], row["at"]): row for row in bars.arrow().to_pylist()} if bars else {}
        self.results: list[Result] = []
        self.reasons: Counter[str] = Counter()

    def columns(self, session: "Session", names: Collection[str]) -> dict[str, pa.Array]:
        """Return the values of ratios, each a column with one value per pair."""
        then = self._indexes(session, {RATIOS[name].shares for name in names} - {""})
        columns = {}
        for name in names:
            values = [self._value(RATIOS[name], pair, then) for pair in self._pairs]
            self.reasons.update(f"{name}: {reason}" for _, reason in values if reason)
            columns[name] = pa.array([value for value, _ in values], pa.float64())
        return columns

    def _indexes(self, session: "Session", items: Collection[str]) -> dict[tuple[str, datetime, str], float | None]:
        """Return the split index at the end of each period whose shares are compared with a price."""
        ends: dict[tuple[str, datetime, str], Pair] = {}
        for (ticker, moment, field), row in self._facts.items():
            if field in items and row["period_end"]:
                ciks = session.company(ticker, moment).ciks  # another company may have had the ticker in the period
                name = ciks[0] if len(ciks) == 1 else ticker
                ends[ticker, moment, field] = (name, clock.end_of_new_york_day(row["period_end"]))
        if not ends:
            return {}
        self.results.append(session.run(BARS, pairs=sorted({*ends.values()})))
        indexes = {(row["ticker"], row["at"]): row["split_index"] for row in self.results[-1].arrow().to_pylist()}
        return {row: indexes[pair] for row, pair in ends.items()}

    def _value(
        self, ratio: Ratio, pair: Pair, then: dict[tuple[str, datetime, str], float | None]
    ) -> tuple[float | None, str]:
        """Return a ratio, or None and the reason."""
        rows: list[dict[str, Any]] = [self._facts.get((*pair, item), {}) for item in ratio.items]
        bar = self._bars.get(pair, {})
        values: dict[str, Any] = {item: row.get("value") for item, row in zip(ratio.items, rows, strict=True)}
        values |= {"close": bar.get("close")} if ratio.shares else {}
        if None in values.values():
            return None, UNKNOWN
        if ratio.shares:
            units = {row["unit"] for row in rows} - {"shares"}
            if units != {PER_SHARE if ratio.above == "close" else DOLLARS}:
                return None, UNITS
            if any("20-F" in row["made_of"] for row in rows):
                return None, RECEIPTS
            day, index = self._facts[*pair, ratio.shares]["period_end"], bar.get("split_index")
            if index is None or then[*pair, ratio.shares] != index or bar["date"] < day:
                return None, SPLIT
            if rows[0]["period_end"] > day:
                return None, PERIODS
        elif len({row["unit"] for row in rows}) > 1:
            return None, UNITS
        elif len({row["period_end"] for row in rows}) > 1:
            return None, PERIODS
        below = values[ratio.below] * (values["close"] if ratio.below == "shares" else 1)
        return (values[ratio.above] / below, "") if below > 0 else (None, NEGATIVE)
