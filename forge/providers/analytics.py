"""Provider `analytics`: figures computed by forge.analytics from rows of the lake and numbers of the caller.

A figure is public from the instant of its newest input row, and cites its rows. A figure computed only from the
caller's numbers has the turn's instant and cites nothing.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isinf
from typing import Any

from forge.analytics import options, rates, scenarios, sizing
from forge.providers.base import At, FetchResult, Params, Row, ask, parse_params, pass_gate
from pitlake.answers.envelope import clean_gap
from pitlake.clock import iso
from pitlake.errors import BadInput
from pitlake.questions import catalogue

_TENOR = re.compile(r"(\d+)([DWMY])", re.ASCII)
YEARS = {"D": 1 / 365, "W": 7 / 365, "M": 1 / 12, "Y": 1.0}
MOST_BRANCHES = 500
Figures = list[dict[str, Any]]


class InputsMissing(Exception):
    """The lake lacks the inputs of a figure; the gaps explain it."""


class Inputs:
    """The inputs of one fetch: rows of the lake, with their receipts and notes."""

    def __init__(self, at: At) -> None:
        self.at = at
        self.rows: list[Row] = []
        self.gaps: list[Row] = []
        self.receipts: tuple[Any, ...] = ()
        self.notes: tuple[str, ...] = ()

    def query(self, query: str, **values: Any) -> tuple[Row, ...]:
        """Return the rows of a named query. Raises InputsMissing if there are none."""
        answer = ask(
            catalogue.get(query), {name: value for name, value in values.items() if value is not None}, self.at
        )
        self.gaps += answer["gaps"]
        self.receipts += answer["receipts"]
        self.notes = tuple(dict.fromkeys((*self.notes, *answer["notes"])))
        if not answer["rows"]:
            raise InputsMissing
        return tuple(answer["rows"])

    def use(self, rows: Sequence[Row]) -> None:
        self.rows += rows

    def stamp(self) -> dict[str, Any]:
        """Return when the figures became public, the source of that date, and the evidence of their inputs."""
        if not self.rows:
            return {"available_at": iso(self.at.as_of), "available_at_source": "provider_metadata"}
        newest = max(self.rows, key=lambda row: str(row["available_at"]))
        cited = dict.fromkeys(str(row["evidence"]) for row in self.rows if row.get("evidence"))
        tagged = {name: newest[name] for name in ("available_at", "available_at_source")}
        return {**tagged, "evidence": list(cited)}


def curve(values: dict[str, Any], inputs: Inputs) -> Figures:
    """Zero, discount, forward and par rates of a quoted curve."""
    rows = inputs.query(
        "quotes_latest", kind="curve", instruments=[_text(values, "instrument")], day=values.pop("day", None)
    )
    quoted = [row for row in rows if row["measure"] == "zero_rate" and row["unit"] == "percent"]
    if not quoted:
        inputs.gaps.append(clean_gap("no_data", "no quote of that curve is a zero_rate in percent"))
        raise InputsMissing
    inputs.use(quoted)
    fitted = rates.Curve.of((tenor(str(row["tenor"])), row["value"] / 100) for row in quoted)
    before, figures = 0.0, []
    for years, zero in fitted.points:
        par = fitted.par(years) if years * 2 == round(years * 2) else None
        forward = fitted.forward(before, years)
        figures.append(
            {"years": years, "zero": zero, "discount": fitted.discount(years), "forward": forward, "par": par}
        )
        before = years
    return figures


def duration(values: dict[str, Any], inputs: Inputs) -> Figures:
    """A bond's price, durations, convexity and DV01."""
    if "series" in values:
        (row,) = inputs.query("macro_latest", series=[_text(values, "series")])[:1]
        inputs.use([row])
        yield_ = row["value"] / 100
    else:
        yield_ = _number(values, "yield")
    frequency = int(_number(values, "frequency", 2))
    bond = rates.bond(_number(values, "coupon"), _number(values, "years"), yield_, frequency)
    return [{"yield": yield_, **asdict(bond)}]


def option(values: dict[str, Any], inputs: Inputs) -> Figures:
    """A European option's value and greeks."""
    if "ticker" in values:
        (row,) = inputs.query("entity_latest_price", ticker=_text(values, "ticker"))[:1]
        inputs.use([row])
        spot = row["close"]
    else:
        spot = _number(values, "spot")
    strike, years, volatility = (_number(values, name) for name in ("strike", "years", "volatility"))
    rate, dividend = (_number(values, name, 0.0) for name in ("rate", "dividend"))
    kind: Any = _text(values, "kind")
    valuation = options.black_scholes(kind, spot, strike, years, volatility, rate, dividend)
    return [{"spot": spot, **asdict(valuation)}]


def payoff(values: dict[str, Any], _inputs: Inputs) -> Figures:
    """Best result, worst result and breakevens of legs at expiry; null for a result without a bound."""
    legs = []
    for fields in _list(values, "legs"):
        kind: Any = _text(fields, "kind")
        if kind not in ("call", "put", "underlying"):
            raise BadInput("kind", f"{kind!r} is not a leg", "choose call, put or underlying")
        numbers = (_number(fields, "strike"), _number(fields, "quantity"), _number(fields, "premium", 0.0))
        _refuse_rest(fields)
        legs.append(options.Leg(kind, *numbers))
    result = options.payoff(legs)
    bounds = {name: None if isinf(value) else value for name, value in (("most", result.most), ("least", result.least))}
    return [{**bounds, "breakevens": list(result.breakevens)}]


def scenario_tree(values: dict[str, Any], _inputs: Inputs) -> Figures:
    """Every path of a tree with its probability and value, then their mean."""
    outlook = scenarios.outlook(_branches(_list(values, "branches"), [MOST_BRANCHES]))
    paths = [{"path": name, "probability": chance, "value": value} for name, chance, value in outlook.paths]
    return [*paths, {"path": "mean", "probability": 1.0, "value": outlook.mean, "deviation": outlook.deviation}]


def z_score(values: dict[str, Any], inputs: Inputs) -> Figures:
    """The distance of the newest value from the values before it."""
    if "series" in values:
        rows, column = inputs.query("macro_series", series=_text(values, "series")), "value"
    else:
        params = {name: _text(values, name) for name in ("ticker", "start_date")}
        rows, column = inputs.query("entity_price_range", **params), "close"
        rows = tuple(sorted(rows, key=lambda row: str(row["date"])))
    inputs.use(rows)
    window = int(_number(values, "window")) if "window" in values else None
    return [asdict(sizing.z_score([row[column] for row in rows], window))]


def kelly(values: dict[str, Any], _inputs: Inputs) -> Figures:
    """The share of capital to stake."""
    limits = {"loss": _number(values, "loss", 1.0), "fraction": _number(values, "fraction", 1.0)}
    return [{"stake": sizing.kelly(_number(values, "probability"), _number(values, "win"), **limits)}]


@dataclass(frozen=True)
class Operation:
    """A function that computes figures, its parameters as shown in errors, and an example."""

    figures: Callable[[dict[str, Any], Inputs], Figures]
    parameters: str
    example: Params


OPERATIONS: Mapping[str, Operation] = {
    "curve": Operation(curve, "instrument, day", {"instrument": "USD"}),
    "duration": Operation(
        duration, "coupon, years, yield or series (percent), frequency", {"coupon": 0.04, "years": 10, "yield": 0.042}
    ),
    "option": Operation(
        option,
        "kind, spot or ticker, strike, years, volatility, rate, dividend",
        {"kind": "call", "spot": 100, "strike": 105, "years": 0.25, "volatility": 0.2},
    ),
    "payoff": Operation(
        payoff,
        "legs: kind, strike, quantity, premium",
        {"legs": [{"kind": "call", "strike": 105, "quantity": 1, "premium": 2.1}]},
    ),
    "scenario_tree": Operation(
        scenario_tree,
        "branches: name, probability, value, branches",
        {
            "branches": [
                {"name": "soft", "probability": 0.6, "value": 2.0},
                {"name": "hard", "probability": 0.4, "value": -1.0},
            ]
        },
    ),
    "zscore": Operation(z_score, "series, or ticker and start_date; window", {"series": "GDP"}),
    "kelly": Operation(kelly, "probability, win, loss, fraction", {"probability": 0.6, "win": 1.5}),
}


@dataclass(frozen=True)
class Analytics:
    """The provider `analytics`."""

    name: str = "analytics"
    summary: str = "Curve, duration, option, payoff, scenario_tree, zscore, kelly: figures of rows and given numbers."

    async def fetch(self, params: Params, at: At) -> FetchResult:
        """Return the figures of one operation. params: `op` and its parameters. Raises BadInput for other
        parameters.
        """

        def compute() -> FetchResult:
            op, values = parse_params(params, OPERATIONS)
            inputs = Inputs(at)
            figures: Figures = []
            try:
                figures = OPERATIONS[op].figures(values, inputs)
            except InputsMissing:
                values.clear()
            if values:
                allowed = f"it takes {OPERATIONS[op].parameters}"
                raise BadInput(next(iter(values)), f"{op} takes no such parameter", allowed)
            stamp = inputs.stamp() if figures else {}
            passed = pass_gate([{**stamp, **row} for row in figures], inputs.gaps, (), at.as_of)
            read = {"receipts": inputs.receipts, "notes": inputs.notes}
            return FetchResult(source=self.name, label=f"{self.name} {op}", **(passed | read))

        return await asyncio.to_thread(compute)


PROVIDER = Analytics()


def tenor(text: str) -> float:
    """Return the years of a tenor such as 6M or 10Y. Raises BadInput."""
    match = _TENOR.fullmatch(text.strip().upper())
    if not match:
        raise BadInput("tenor", f"{text!r} is not a tenor", "quote curves by tenors such as 6M or 10Y")
    return int(match[1]) * YEARS[match[2]]


def _number(values: dict[str, Any], name: str, otherwise: float | None = None) -> float:
    value = values.pop(name, otherwise)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
        raise BadInput(name, "is missing, or not a number", "give a number; rates and probabilities as fractions")
    return float(value)


def _text(values: dict[str, Any], name: str) -> str:
    value = values.pop(name, None)
    if not isinstance(value, str) or not value.strip():
        raise BadInput(name, "is missing, or not text", "give its name")
    return value


def _list(values: dict[str, Any], name: str) -> list[Any]:
    items = values.pop(name, None)
    if not isinstance(items, list | tuple) or not 0 < len(items) <= MOST_BRANCHES:
        raise BadInput(name, "is missing, or not a list", f"give 1 to {MOST_BRANCHES} objects")
    if not all(isinstance(item, Mapping) for item in items):
        raise BadInput(name, "contains a value that is not an object", "give objects with names and numbers")
    return [dict(item) for item in items]


def _branches(items: Sequence[dict[str, Any]], budget: list[int]) -> tuple[scenarios.Branch, ...]:
    """Parse branches. budget: the number of additional branches in the whole tree, which also limits its depth."""
    branches = []
    for item in items:
        budget[0] -= 1
        if budget[0] < 0:
            raise BadInput("branches", f"there are more than {MOST_BRANCHES}", "give a smaller tree")
        name, probability = _text(item, "name"), _number(item, "probability")
        value = _number(item, "value") if "value" in item else None
        below = _branches(_list(item, "branches"), budget) if "branches" in item else ()
        _refuse_rest(item)
        branches.append(scenarios.Branch(name, probability, value, below))
    return tuple(branches)


def _refuse_rest(fields: dict[str, Any]) -> None:
    if fields:
        raise BadInput(str(next(iter(fields))), "is not taken here", "leave it out")
