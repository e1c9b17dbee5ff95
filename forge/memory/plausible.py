"""Finds implausible combinations in a View or an Expression whose fields are each valid.

A View's question must read a column of its query, on a day that has not ended. A horizon that is a date must be in the
future. A stop must be on the losing side of entry and target.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from forge.records import Expression, Record, View
from forge.records.base import RecordFault
from forge.records.spelling import TOO_LARGE, after, price_in_32nds, read_number
from pitlake.clock import end_of_new_york_day, new_york_day
from pitlake.errors import BadInput
from pitlake.questions import catalogue

SIDES = {"long": 1, "short": -1}
TERMS = ("direction", "entry_details", "target", "stop", "notional", "max_loss_pct")
ENDED = frozenset({"closed", "rejected", "applied"})
_DAYS = re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b")
_OTHER_LEVELS = {
    "percentage": re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?\s*%"),
    "range": re.compile(r"\$?[0-9][0-9,.]*\s*(?:-|\N{EN DASH}|to)\s*\$?[0-9][0-9,.]*"),
}
LEVELS = ("entry_details", "target", "stop")
LEAST, YEARS = 0.01, 30
"""The smallest trade in percent of capital, and the maximum number of years until a question is judged."""
_PRICES = re.compile(r"\$?[0-9][0-9,.]*(?:-[0-9]{2}\+?)?(?![0-9]*\s*%)")


def implausible(record: Record, before: Record | None, as_of: datetime) -> Iterator[RecordFault]:
    """Yield the faults of a record. before: the record's previous version. as_of: the turn's instant."""
    if isinstance(record, View):
        yield from _question(record, before, as_of)
        for text in _DAYS.findall(record.horizon) if record.horizon != getattr(before, "horizon", None) else ():
            try:
                yield from _last_day(date.fromisoformat(text), as_of, "horizon")
            except ValueError:
                step = "give a date, or a duration such as 3m"
                yield RecordFault(("horizon",), f"{text} is not a calendar date", step)
    elif isinstance(record, Expression) and record.status not in ENDED:
        if record.expires and record.expires != getattr(before, "expires", None):
            yield from _last_day(record.expires, as_of, "expires")
        # Code may have raised a held position's stop above its entry.
        if not isinstance(before, Expression) or any(getattr(record, name) != getattr(before, name) for name in TERMS):
            yield from _levels(record)
            yield from _size(record)


def wrong_terms(position: Expression, terms: Mapping[str, object], as_of: datetime) -> Iterator[RecordFault]:
    """Yield the faults in new terms of a held position: a level that code can't follow, or a day that has ended."""
    follows = all(level_price(text) for text in (position.target, position.stop) if text)
    levels: dict[str, Any] = {name: str(terms[name]) for name in ("target", "stop") if name in terms}
    for name, text in levels.items():
        removes_target = name == "target" and not text
        if follows and text != getattr(position, name) and not removes_target and level_price(text) is None:
            yield RecordFault((name,), f"{text[:40]!r} is not a price above 0", "give a number such as 33.5")
            return
    last_day = terms.get("expires")
    if isinstance(last_day, date) and last_day != position.expires:
        yield from _last_day(last_day, as_of, "expires")
    if levels:
        yield from _levels(replace(position, adjusts=position.id, **levels))


def level_price(text: str) -> float | None:
    """Return a level in USD that code can follow, or None for any other text."""
    try:
        level = float(read_number(text, 0))
    except ValueError:
        return None
    return level if 0 < level < TOO_LARGE else None


def price(text: str) -> float | None:
    """Return the only price in a text, in decimals or 32nds, or None."""
    prices = _PRICES.findall(text)
    if len(prices) != 1:
        return None
    if (decimal := price_in_32nds(prices[0])) is not None:
        return decimal
    try:
        return float(read_number(prices[0].rstrip(".,"), 0))
    except ValueError:
        return None


def is_new_trade(trade: Expression, before: Record | None) -> bool:
    """Return whether a trade has to be followed by bars that were not needed before."""
    if trade.direction not in SIDES or trade.status in ENDED or trade.adjusts:
        return False
    return not isinstance(before, Expression) or any(
        getattr(trade, name) != getattr(before, name) for name in ("instrument", "direction")
    )


def _question(view: View, before: Record | None, as_of: datetime) -> Iterator[RecordFault]:
    if len(view.scenarios) == 1 and view.scenarios != getattr(before, "scenarios", None):
        yield RecordFault(
            ("scenarios",), "one scenario is not a distribution", "give what else may happen, and how likely"
        )
    settles = view.settles
    if settles is None or (isinstance(before, View) and before.settles == settles):
        return
    query = catalogue.find(settles.query)
    try:
        catalogue.get(settles.query).bind(settles.params)
    except BadInput as refused:
        yield RecordFault(("settles",), f"{refused.field}: {refused.problem}", refused.next_step)
    columns = [column.name for column in query.columns] if query else []
    if query and settles.column not in columns:
        problem = f"rule: {query.name} has no column {settles.column!r}"
        yield RecordFault(("settles",), problem, f"its columns are {', '.join(columns)}")
    if end_of_new_york_day(settles.by) <= as_of:
        problem = f"by: {settles.by} is past, and it is {new_york_day(as_of)} now"
        yield RecordFault(("settles",), problem, "give a later day")
    if settles.by > after(new_york_day(as_of), YEARS, "y"):
        yield RecordFault(("settles",), f"by: {settles.by} is more than {YEARS} years away", "give an earlier day")


def _last_day(day: date, as_of: datetime, field: str) -> Iterator[RecordFault]:
    if end_of_new_york_day(day) <= as_of:
        yield RecordFault((field,), f"{day} is past, and it is {new_york_day(as_of)} now", "give a later day")


def _size(trade: Expression) -> Iterator[RecordFault]:
    """Yield the faults in the size and the loss of a trade."""
    loss, size, is_long = trade.max_loss_pct, trade.notional, trade.direction == "long"
    if loss == 0:
        yield RecordFault(("max_loss_pct",), "0 is not a loss", "give the loss at the stop, in percent of capital")
    if size is None or trade.direction not in SIDES or trade.adjusts:
        return
    if is_long and size < 0:
        problem = f"{size:g} is negative, and the direction is long"
        yield RecordFault(("notional", "direction"), problem, "give a positive notional, or the direction short")
    elif abs(size) < LEAST:
        yield RecordFault(("notional",), f"{size:g} is less than {LEAST:g}", "it is in percent of capital: 5 is 5 %")
    elif is_long and loss is not None and loss > size:
        problem = f"{loss:g} is larger than the notional of {size:g}"
        yield RecordFault(("max_loss_pct", "notional"), problem, "a long trade can't lose more than its notional")
    if loss is None and not trade.stop and trade.status == "proposed":
        yield RecordFault(("stop", "max_loss_pct"), "neither a stop nor max_loss_pct is stated", "give one of them")


def _levels(trade: Expression) -> Iterator[RecordFault]:
    for name in LEVELS if trade.direction in SIDES else ():
        text = getattr(trade, name)
        for form, pattern in _OTHER_LEVELS.items():
            if pattern.fullmatch(text) and price_in_32nds(text) is None:
                yield RecordFault((name,), f"{text!r} is a {form}", "write one price in USD, such as 33.5")
                return
    target, stop = price(trade.target), price(trade.stop)
    if target is not None and target == stop:
        yield RecordFault(("stop", "target"), f"target and stop are equal ({trade.stop})", "give two levels")
        return
    side = SIDES.get(trade.direction)
    if side is None or stop is None:
        return
    where = "below" if side > 0 else "above"
    if target is not None and side * (target - stop) <= 0:
        problem = f"{trade.stop} is not {where} the target {trade.target}, as the stop of a {trade.direction} is"
        yield RecordFault(("stop", "target", "direction"), problem, "exchange them, or change the direction")
    entry = None if trade.adjusts else price(trade.entry_details)
    if not entry:
        return
    if side * (entry - stop) <= 0:
        problem = f"{trade.stop} is not {where} the entry {entry:g}, as the stop of a {trade.direction} is"
        yield RecordFault(("stop", "entry_details", "direction"), problem, f"give a stop {where} {entry:g}")
        return
    if target is not None and side * (target - entry) <= 0:
        problem = f"{trade.target} is on the losing side of the entry {entry:g}"
        yield RecordFault(
            ("target", "entry_details", "direction"), problem, "exchange target and stop, or the direction"
        )
