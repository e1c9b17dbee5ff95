"""Provider `analytics`: figures made of rows of the lake and of what the caller gives, by forge.analytics.

A figure became public with the newest of the rows it is made of, and cites them; one made of the caller's numbers alone
is of the turn's instant and cites nothing.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isinf
from typing import Any

from forge.analytics import options, rates, scenarios, sizing
from forge.providers.base import At, FetchResult, Params, Row, ask, chosen, gated
from pitlake.answers.envelope import clean_gap
from pitlake.clock import iso
from pitlake.errors import BadInput
from pitlake.questions import catalogue

_TENOR = re.compile(r"(\d+)([DWMY])", re.ASCII)
YEARS = {"D": 1 / 365, "W": 7 / 365, "M": 1 / 12, "Y": 1.0}
MOST_BRANCHES = 500
Figures = list[dict[str, Any]]


class Lacking(Exception):
    """The lake has not what a figure is made of; the gaps say what."""


class Inputs:
    """What the figures of one fetch are made of: rows of the lake, with their receipts and notes."""

    def __init__(self, at: At) -> None:
        self.at = at
        self.rows: list[Row] = []
        self.gaps: list[Row] = []
        self.receipts: tuple[Any, ...] = ()
        self.notes: tuple[str, ...] = ()

    def of(self, query: str, **values: Any) -> tuple[Row, ...]:
        """The rows of a named query; Lacking when there are none."""
        answer = ask(
            catalogue.get(query), {name: value for name, value in values.items() if value is not None}, self.at
        )
        self.gaps += answer["gaps"]
        self.receipts += answer["receipts"]
        self.notes = tuple(dict.fromkeys((*self.notes, *answer["notes"])))
        if not answer["rows"]:
            raise Lacking
        return tuple(answer["rows"])

    def use(self, rows: Sequence[Row]) -> None:
        """Take down which of them the figures are made of."""
        self.rows += rows

    def stamp(self) -> dict[str, Any]:
        """When figures of these inputs became public, by which source, and what they are taken from."""
        if not self.rows:
            return {"available_at": iso(self.at.as_of), "available_at_source": "provider_metadata"}
        newest = max(self.rows, key=lambda row: str(row["available_at"]))
        cited = dict.fromkeys(str(row["evidence"]) for row in self.rows if row.get("evidence"))
        tagged = {name: newest[name] for name in ("available_at", "available_at_source")}
        return {**tagged, "evidence": list(cited)}


def curve(values: dict[str, Any], inputs: Inputs) -> Figures:
    """Zero, discount, forward and par rates of a quoted curve."""
    rows = inputs.of(
        "quotes_latest", kind="curve", instruments=[_text(values, "instrument")], day=values.pop("day", None)
    )
    quoted = [row for row in rows if row["measure"] == "zero_rate" and row["unit"] == "percent"]
    if not quoted:
        inputs.gaps.append(clean_gap("no_data", "no quote of that curve is a zero_rate in percent"))
        raise Lacking
    inputs.use(quoted)
    made = rates.Curve.of((tenor(str(row["tenor"])), row["value"] / 100) for row in quoted)
    before, found = 0.0, []
    for years, zero in made.points:
        par = made.par(years) if years * 2 == round(years * 2) else None
        forward = made.forward(before, years)
        found.append({"years": years, "zero": zero, "discount": made.discount(years), "forward": forward, "par": par})
        before = years
    return found


def duration(values: dict[str, Any], inputs: Inputs) -> Figures:
    """A bond's price, durations, convexity and DV01."""
    if "series" in values:
        (row,) = inputs.of("macro_latest", series=[_text(values, "series")])[:1]
        inputs.use([row])
        yield_ = row["value"] / 100
    else:
        yield_ = _number(values, "yield")
    frequency = int(_number(values, "frequency", 2))
    made = rates.bond(_number(values, "coupon"), _number(values, "years"), yield_, frequency)
    return [{"yield": yield_, **asdict(made)}]


def option(values: dict[str, Any], inputs: Inputs) -> Figures:
    """A European option's value and greeks."""
    if "ticker" in values:
        (row,) = inputs.of("entity_latest_price", ticker=_text(values, "ticker"))[:1]
        inputs.use([row])
        spot = row["close"]
    else:
        spot = _number(values, "spot")
    strike, years, volatility = (_number(values, name) for name in ("strike", "years", "volatility"))
    rate, dividend = (_number(values, name, 0.0) for name in ("rate", "dividend"))
    kind: Any = _text(values, "kind")
    made = options.black_scholes(kind, spot, strike, years, volatility, rate, dividend)
    return [{"spot": spot, **asdict(made)}]


def payoff(values: dict[str, Any], _inputs: Inputs) -> Figures:
    """Best, worst and breakevens of legs at expiry; null where nothing bounds it."""
    legs = [_leg(one) for one in _list(values, "legs")]
    made = options.payoff(legs)
    bounds = {name: None if isinf(value) else value for name, value in (("most", made.most), ("least", made.least))}
    return [{**bounds, "breakevens": list(made.breakevens)}]


def scenario_tree(values: dict[str, Any], _inputs: Inputs) -> Figures:
    """Every path of a tree with its probability and value, then their mean."""
    made = scenarios.outlook(_branches(_list(values, "branches"), [MOST_BRANCHES]))
    paths = [{"path": name, "probability": chance, "value": value} for name, chance, value in made.paths]
    return [*paths, {"path": "mean", "probability": 1.0, "value": made.mean, "deviation": made.deviation}]


def z_score(values: dict[str, Any], inputs: Inputs) -> Figures:
    """How far the newest value is from those before."""
    if "series" in values:
        rows, column = inputs.of("macro_series", series=_text(values, "series")), "value"
    else:
        asked = {name: _text(values, name) for name in ("ticker", "start_date")}
        rows, column = inputs.of("entity_price_range", **asked), "close"
        rows = tuple(sorted(rows, key=lambda row: str(row["date"])))
    inputs.use(rows)
    window = int(_number(values, "window")) if "window" in values else None
    return [asdict(sizing.z_score([row[column] for row in rows], window))]


def kelly(values: dict[str, Any], _inputs: Inputs) -> Figures:
    """The share of capital to stake."""
    told = {"loss": _number(values, "loss", 1.0), "fraction": _number(values, "fraction", 1.0)}
    return [{"stake": sizing.kelly(_number(values, "probability"), _number(values, "win"), **told)}]


@dataclass(frozen=True)
class Operation:
    """A function that makes figures, and the parameters it takes, as an error names them."""

    figures: Callable[[dict[str, Any], Inputs], Figures]
    parameters: str


OPERATIONS: Mapping[str, Operation] = {
    "curve": Operation(curve, "instrument, day"),
    "duration": Operation(duration, "coupon, years, yield or series (percent), frequency"),
    "option": Operation(option, "kind, spot or ticker, strike, years, volatility, rate, dividend"),
    "payoff": Operation(payoff, "legs"),
    "scenario_tree": Operation(scenario_tree, "branches"),
    "zscore": Operation(z_score, "series, or ticker and start_date; window"),
    "kelly": Operation(kelly, "probability, win, loss, fraction"),
}


@dataclass(frozen=True)
class Analytics:
    """The provider."""

    name: str = "analytics"
    summary: str = "Curve, duration, option, payoff, scenario_tree, zscore, kelly: figures of rows and of your numbers."

    async def fetch(self, params: Params, at: At) -> FetchResult:
        """The figures of one operation. params: `op`, and what it takes. Raises BadInput for anything else."""
        return await asyncio.to_thread(self._fetched, params, at)

    def _fetched(self, params: Params, at: At) -> FetchResult:
        op, values = chosen(params, OPERATIONS)
        inputs = Inputs(at)
        figures: Figures = []
        try:
            figures = OPERATIONS[op].figures(values, inputs)
        except Lacking:
            values.clear()
        if values:
            allowed = f"it takes {OPERATIONS[op].parameters}"
            raise BadInput(next(iter(values)), f"{op} takes no such parameter", allowed)
        stamp = inputs.stamp() if figures else {}
        passed = gated([{**stamp, **row} for row in figures], inputs.gaps, (), at.as_of)
        read = {"receipts": inputs.receipts, "notes": inputs.notes}
        return FetchResult(source=self.name, label=f"{self.name} {op}", **(passed | read))


PROVIDER = Analytics()


def tenor(text: str) -> float:
    """The years of a tenor such as 6M or 10Y. Raises BadInput."""
    found = _TENOR.fullmatch(text.strip().upper())
    if not found:
        raise BadInput("tenor", f"{text!r} is not a tenor", "quote curves by tenors such as 6M or 10Y")
    return int(found[1]) * YEARS[found[2]]


def _number(values: dict[str, Any], name: str, otherwise: float | None = None) -> float:
    found = values.pop(name, otherwise)
    if isinstance(found, bool) or not isinstance(found, int | float) or not abs(found) < 1e15:
        raise BadInput(name, "is missing, or not a number", "give a number; rates and probabilities as fractions")
    return float(found)


def _text(values: dict[str, Any], name: str) -> str:
    found = values.pop(name, None)
    if not isinstance(found, str) or not found.strip():
        raise BadInput(name, "is missing, or not text", "give its name")
    return found


def _list(values: dict[str, Any], name: str) -> list[Any]:
    found = values.pop(name, None)
    if not isinstance(found, list | tuple) or not 0 < len(found) <= MOST_BRANCHES:
        raise BadInput(name, "is missing, or not a list", f"give 1 to {MOST_BRANCHES} objects")
    if not all(isinstance(one, Mapping) for one in found):
        raise BadInput(name, "holds what is not an object", "give objects with names and numbers")
    return [dict(one) for one in found]


def _leg(told: dict[str, Any]) -> options.Leg:
    kind: Any = _text(told, "kind")
    if kind not in ("call", "put", "underlying"):
        raise BadInput("kind", f"{kind!r} is not a leg", "choose call, put or underlying")
    numbers = (_number(told, "strike"), _number(told, "quantity"), _number(told, "premium", 0.0))
    _nothing_left(told)
    return options.Leg(kind, *numbers)


def _branches(told: Sequence[dict[str, Any]], left: list[int]) -> tuple[scenarios.Branch, ...]:
    """left: how many branches there may still be, all over the tree, which bounds its depth too."""
    found = []
    for one in told:
        left[0] -= 1
        if left[0] < 0:
            raise BadInput("branches", f"there are more than {MOST_BRANCHES}", "give a smaller tree")
        name, probability = _text(one, "name"), _number(one, "probability")
        value = _number(one, "value") if "value" in one else None
        below = _branches(_list(one, "branches"), left) if "branches" in one else ()
        _nothing_left(one)
        found.append(scenarios.Branch(name, probability, value, below))
    return tuple(found)


def _nothing_left(told: dict[str, Any]) -> None:
    if told:
        raise BadInput(str(next(iter(told))), "is not taken here", "leave it out")
