"""Trials: the returns of an idea, one per period, with their dates and frequency if known."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from math import isfinite, sqrt
from statistics import median
from typing import Any

from pitlake import clock
from pitlake.check.tables import answer_of, public_from
from pitlake.errors import BadInput
from pitlake.studies import overfitting
from pitlake.studies.ledger import LedgerRecord

PERIODS = {"hour": 1638, "day": 252, "week": 52, "month": 12, "quarter": 4, "year": 1}
"""The number of periods in a year of trading, by the frequency of returns."""
_DAYS = {"hour": (0, 0.2), "day": (0.8, 4), "week": (5, 9), "month": (26, 33), "quarter": (85, 97), "year": (350, 380)}
"""The median number of days between dated returns of each frequency."""
IN_SAMPLE, LATER, HOLDOUT = "in sample", "after the seal", "holdout"


@dataclass(frozen=True)
class Trial:
    """One trial. part: in sample, after the seal, or holdout. dates: the instants at which its returns were known."""

    label: str
    name: str
    part: str
    returns: tuple[float, ...]
    dates: tuple[datetime, ...] = ()
    frequency: str | None = None

    @classmethod
    def of(cls, record: LedgerRecord, label: str, part: str) -> "Trial":
        """Return the trial of a record."""
        facts = record.facts
        dates = tuple(clock.instant(text) for text in facts.get("dates") or ())
        return cls(label, facts["name"], part, tuple(facts["returns"]), dates, facts.get("frequency"))

    @property
    def periods(self) -> "tuple[datetime, ...] | int":
        """Return what trials compared period by period must share: the dates, or the number of periods."""
        return self.dates or len(self.returns)

    def to_dict(self) -> dict[str, Any]:
        """Return the trial's row of the report."""
        ratio = overfitting.sharpe_ratio(self.returns)
        return {
            "trial": self.label,
            "part": self.part,
            "periods": len(self.returns),
            "first": clock.iso(self.dates[0]) if self.dates else None,
            "last": clock.iso(self.dates[-1]) if self.dates else None,
            "frequency": self.frequency,
            "mean": sum(self.returns) / len(self.returns),
            "sharpe_ratio": ratio,
            "sharpe_ratio_per_year": ratio * sqrt(PERIODS[self.frequency]) if self.frequency else None,
        }


@dataclass(frozen=True)
class Returns:
    """Returns as a caller gives them: numbers, and the instants at which they were known, oldest first."""

    values: list[float]
    dates: list[datetime]
    frequency: str | None

    @classmethod
    def parse(cls, returns: Any, frequency: str | None) -> "Returns":
        """Read numbers, a series indexed by dates, a mapping of dates, or a table of dates and numbers.

        Raises BadInput.
        """
        if frequency is not None and frequency not in PERIODS:
            raise BadInput("frequency", f"{frequency!r} is not a frequency", f"choose one of {', '.join(PERIODS)}")
        one_each = "give a list or a series of one return for each period"
        is_plain = isinstance(returns, Iterable) and not isinstance(returns, str | bytes | Mapping)
        if is_plain and type(returns).__module__ == "builtins":
            returns = list(returns)
        try:
            columns = answer_of(returns).columns
        except BadInput:
            raise BadInput("returns", "are not a series", one_each) from None
        dated = [name for name, values in columns.items() if any(isinstance(value, date) for value in values)]
        numbers = [name for name in columns if name not in dated]
        if len(dated) > 1 or len(numbers) != 1:
            step = "give one series of returns, or a table of one column of dates and one of returns"
            raise BadInput("returns", f"have the columns {', '.join(columns)}", step)
        try:
            values = [float("nan") if value is None else float(value) for value in columns[numbers[0]]]
        except (TypeError, ValueError):
            raise BadInput("returns", "are not numbers", one_each) from None
        if not all(map(isfinite, values)):
            raise BadInput("returns", "have gaps or infinite values", "drop those periods first")
        if len(values) < overfitting.LEAST_PERIODS:
            step = f"give {overfitting.LEAST_PERIODS} or more, one for each period"
            raise BadInput("returns", f"are only {len(values)}", step)
        if not dated:
            return cls(values, [], frequency)
        return cls._dated(values, public_from(columns[dated[0]]), frequency)

    @classmethod
    def _dated(cls, values: list[float], dates: list[datetime | None], frequency: str | None) -> "Returns":
        known_dates = [moment for moment in dates if moment is not None]
        if len(known_dates) < len(dates) or len(set(known_dates)) < len(known_dates):
            raise BadInput("returns", "lack a date, or have a date twice", "give one return for each period")
        pairs = sorted(zip(known_dates, values, strict=True))
        days = median((later - earlier).total_seconds() / 86_400 for earlier, later in pairwise(sorted(known_dates)))
        by_dates = next((name for name, (least, most) in _DAYS.items() if least <= days <= most), None)
        if frequency is not None and by_dates not in (None, frequency):
            raise BadInput("frequency", f"is {frequency}, but the dates are one {by_dates} apart", "leave it out")
        return cls([value for _, value in pairs], [moment for moment, _ in pairs], frequency or by_dates)
