"""Random Expressions and books against limits: approved Expressions keep every limit by figures computed here.

`python -m tests.forge.test_limits --n 20000 --seed 0` tries 20,000 Expressions. The figures here are computed without
the product's code.
"""

import random
import re
import shutil
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from math import inf, isnan, nan
from pathlib import Path

import numpy as np
import pytest

from forge.agent.tools.write import WriteTool
from forge.core.clock import Simulated
from forge.core.config import Contract, Limits
from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.approvals import approve, change_held, pending
from forge.memory.cash import cash, open_account
from forge.memory.guardrails import Exposure, Guardrails, claimed
from forge.providers.base import At
from forge.records import KINDS, Constraints, Expression, Leg, Position, parse, render
from forge.tracking import risk
from forge.tracking.risk import guardrails
from pitlake.errors import BadInput
from tests.forge.limits import (
    FIRST,
    FUND,
    GAS,
    LAST,
    MARGIN,
    MULTIPLIER,
    NOW,
    OIL,
    QUOTED,
    RATE,
    STOCKS,
    UNKNOWN,
    VOLUMES,
    WORLD,
    YEARS,
    YIELDS,
    market,
)
from tests.forge.world import BOOK, FAST, NEW_VIEW, reviewed, wrote
from tests.tally import Tally

NAV, A_BATCH, BOOKS = 10_000_000.0, 20, 10
RULES = {
    "max_single_risk": "max_single_risk", "max_gross_exposure": "max_gross",
    "max_duration_contribution": "max_duration",
    "max_factor_concentration": "max_factor_conc", "max_single_name": "max_single_name", "max_net_exposure": "max_net",
    "max_total_loss": "max_total_loss", "max_days_of_volume": "max_days_of_volume", "max_margin": "max_margin",
}  # fmt: skip


def beta_of(name):
    start = max(FIRST.get(name, 0), 0)
    own, index = (WORLD[each][1][start : LAST + 1] for each in (name, "SPY"))
    mine, theirs = own[1:] / own[:-1] - 1, index[1:] / index[:-1] - 1
    return np.cov(mine, theirs)[0, 1] / np.var(theirs, ddof=1) if len(mine) >= 20 else 1.0


BETAS = {name: float(beta_of(name)) for name in VOLUMES}
SPOTS = {name: float(closes[LAST]) for name, (_, closes) in WORLD.items()}


def gap_of(name, side):
    opens, closes = WORLD[name]
    first = FIRST.get(name, 0) + 1
    moves = side * (1 - opens[first : LAST + 1] / closes[first - 1 : LAST])
    return max(0.0, float(moves.max()))


GAPS = {(name, side): gap_of(name, side) for name in WORLD for side in (1, -1)}


def number_in(text):
    try:
        return float(text)
    except ValueError:
        return None


def lost(name, size, stop):
    """Return a linear leg's loss at its stop after the worst gap. Without a stop, return its size if long, else inf."""
    spot, side = SPOTS[name], 1 if size > 0 else -1
    if stop is None:
        return abs(size) if side > 0 else inf
    level = min(stop, spot) if side > 0 else max(stop, spot)
    fill = level * (1 - side * GAPS[name, side])
    return max(0.0, side * (spot - fill) / spot * abs(size))


def lost_in_options(legs):
    """Return the loss of one underlying's legs at the worst price at expiry: zero, a strike, or far beyond."""
    spot = SPOTS[legs[0].instrument]

    def gained(at):
        total = 0.0
        for leg in legs:
            worth = {"call": max(at - leg.strike, 0), "put": max(leg.strike - at, 0), "linear": at}[leg.kind]
            paid = spot if leg.kind == "linear" else leg.premium
            total += leg.notional / spot * (worth - paid)
        return total

    far = 1e7
    if gained(2 * far) < gained(far) - 1e-3:
        return inf
    return max(0.0, -min(gained(at) for at in (0.0, *(leg.strike for leg in legs), far)))


def computed(trade):
    """Return a trade's loss, names, duration, factors and days of volume, or None if they cannot be computed."""
    side = {"long": 1, "short": -1}.get(trade.direction)
    if trade.notional is None:
        return None
    legs = trade.legs
    if side:
        legs = (Leg(instrument=trade.instrument, notional=side * abs(trade.notional), stop=trade.stop),)
    if not legs or any(leg.instrument not in WORLD for leg in legs):
        return None
    names, factors, duration, days = Counter(), Counter(), 0.0, []
    for leg in legs:
        size = leg.notional * (-1 if leg.kind == "put" else 1)
        names[leg.instrument] += size
        if leg.instrument in QUOTED:
            factors[QUOTED[leg.instrument]] += size
            years = YEARS / (1 + YIELDS[LAST] / 100) if leg.instrument == RATE else 0.0
            duration = None if duration is None else duration + size / 100 * years
        else:
            factors["equity"] += size * BETAS[leg.instrument]
            duration = None if leg.instrument == FUND else duration
            days.append(abs(leg.notional) / 100 * NAV / SPOTS[leg.instrument] / VOLUMES[leg.instrument])
    loss = 0.0
    for name in names:
        group = [leg for leg in legs if leg.instrument == name]
        if any(leg.kind != "linear" for leg in group):
            loss += lost_in_options(group)
        else:
            loss += sum(lost(name, leg.notional, number_in(leg.stop)) for leg in group)
    return {"loss": loss, "names": names, "duration": duration, "factors": factors, "days": max(days, default=None)}


def margin_of(trade):
    """Return the initial margin of a trade's futures, or NaN without their contract."""
    if trade.notional is None:
        return 0.0
    legs = trade.legs if trade.direction not in ("long", "short") else ()
    sizes = [(leg.instrument, abs(leg.notional)) for leg in legs]
    if trade.direction in ("long", "short"):
        sizes = [(trade.instrument, abs(trade.notional))]
    contracts = {OIL: MARGIN / (SPOTS[OIL] * MULTIPLIER), GAS: nan}
    return sum(size * contracts.get(name, 0.0) for name, size in sizes)


def stated(trade):
    """Return a trade's claimed figures, in the form of `computed`."""
    names = Counter()
    for leg in trade.legs:
        names[leg.instrument] += leg.notional * (-1 if leg.kind == "put" else 1)
    if not trade.legs and trade.notional is not None:
        names[trade.instrument] = abs(trade.notional) * (-1 if trade.direction == "short" else 1)
    entry, stop = number_in(trade.entry_details), number_in(trade.stop)
    losses = [trade.max_loss_pct] if trade.max_loss_pct else []
    if entry and stop and trade.notional is not None:
        losses.append(abs(entry - stop) / entry * abs(trade.notional))
    factors = trade.factor_exposures or None
    return {
        "loss": max(losses, default=None), "names": names if trade.notional else None,
        "duration": trade.duration_impact, "factors": factors, "days": None, "margin": None,
    }  # fmt: skip


def bigger(*numbers):
    return max((each for each in numbers if each is not None), key=abs, default=None)


def totals(positions):
    """Return the sums over positions, each a trade, of the larger of the claimed and computed figures."""
    sums = {"gross": 0.0, "net": 0.0, "loss": 0.0, "margin": 0.0, "names": Counter(), "factors": Counter()}
    for trade in positions:
        reply, result = stated(trade), computed(trade) or {"names": None, "loss": None, "factors": {}}
        names = result["names"] if result["names"] is not None else reply["names"]
        loss = bigger(reply["loss"], result["loss"])
        sums["gross"] += sum(map(abs, names.values()))
        sums["net"] += sum(names.values())
        sums["margin"] += margin_of(trade)
        if loss in (None, inf):
            loss = abs(trade.notional) if trade.direction == "long" else reply["loss"] or nan
        sums["loss"] += loss
        for name, size in names.items():
            sums["names"][name] += size
        for name in {*(reply["factors"] or {}), *result["factors"]}:
            sums["factors"][name] += bigger((reply["factors"] or {}).get(name), result["factors"].get(name))
    return sums


def figures(trade, positions, extra):
    """Return each rule's claimed and computed figures with the trade in the book, or None for a missing figure."""
    rest, reply, result = totals(positions), stated(trade), computed(trade)
    empty = dict.fromkeys(("loss", "names", "duration", "factors", "days", "margin"))
    result = (result or empty) | {"margin": margin_of(trade)}
    names = {*(reply["names"] or {}), *(result["names"] or {})}
    kinds = {*(reply["factors"] or {}), *(result["factors"] or {})}

    def of_names(item):
        if item["names"] is None:
            return dict.fromkeys(("max_gross_exposure", "max_single_name", "max_net_exposure"))
        sizes = item["names"]
        return {
            "max_gross_exposure": extra + rest["gross"] + sum(map(abs, sizes.values())),
            "max_single_name": max(abs(rest["names"][name] + sizes.get(name, 0.0)) for name in names),
            "max_net_exposure": abs(rest["net"] + sum(sizes.values())),
        }

    def of(each):
        loss, duration, exposures = each["loss"], each["duration"], each["factors"]
        parts = [abs(rest["factors"][kind] + (exposures or {}).get(kind, 0.0)) for kind in kinds]
        return of_names(each) | {
            "max_single_risk": loss,
            "max_total_loss": None if loss is None else rest["loss"] + loss,
            "max_duration_contribution": None if duration is None else abs(duration),
            "max_factor_concentration": None if exposures is None else max(parts, default=0.0),
            "max_days_of_volume": each["days"],
            "max_margin": rest["margin"] + each["margin"] if each["margin"] else None,
        }

    claims, computations = of(reply), of(result)
    return {rule: (claims[rule], computations[rule]) for rule in RULES}


def broken(trade, positions, extra, limits):
    """Return the rules that a trade breaks, the rules that rest on claims, and whether a figure is near its limit."""
    over, claims, near = set(), set(), False
    for rule, pair in figures(trade, positions, extra).items():
        existing, limit = [each for each in pair if each is not None], limits[RULES[rule]]
        if not existing:
            missing = rule in list(RULES)[:4]
            over |= {rule} if missing else set()
            continue
        over |= {rule} if max(existing) > limit else set()
        claims |= {rule} if pair[1] is None else set()
        near |= abs(max(existing) - limit) < 1e-6
        over |= {rule} if isnan(max(existing)) else set()
    return over, claims, near


class Desk:
    """One batch: a memory whose PM approves all permitted Expressions, and the expected book."""

    def __init__(self, memory, limits, seed, settings=None):
        self.memory, self.guard, self.rng, self.calls = memory, limits, random.Random(f"limits/{seed}"), 0
        self.settings, self.held, self.own = vars(settings or Limits()).copy(), {}, []
        self.extra, self.seen = 0.0, Counter()

    def turn(self, actor="agent"):
        clock = self.memory.journal.clock
        clock.move(clock.now() + timedelta(seconds=1))
        remembered = self.memory.hydrate(clock.now(), session=actor)
        return ForgeFS(self.memory, remembered, self.guard, actor=actor)

    def call(self):
        self.calls += 1
        return f"c{self.calls}"

    def pm_states_the_book(self):
        """State a book of the PM's own positions, whose gross exposure may exceed their sum."""
        names = self.rng.sample([*WORLD, UNKNOWN], self.rng.choice((0, 1, 1, 2, 3)))
        sizes = [self.rng.choice((-1, *[1] * 7)) * self.rng.uniform(1, 40) for _ in names]
        claims = [self.rng.choice(({}, {}, {"equity": self.rng.uniform(-5, 30)})) for _ in names]
        self.extra = self.rng.choice((0.0, 0.0, self.rng.uniform(0, 60)))
        rows = [
            Position(expression=name, notional=size, factor_exposures=claim)
            for name, size, claim in zip(names, sizes, claims, strict=True)
        ]
        factors = Counter()
        for claim in claims:
            factors.update(claim)
        book = replace(
            BOOK, gross=self.extra + sum(map(abs, sizes)), net=sum(sizes), duration=0.0, nav=NAV,
            positions=tuple(rows), factor_exposures=dict(factors),
        )  # fmt: skip
        wrote(self.turn("pm"), "/portfolio/state.md", book, self.call())
        self.own = [
            Expression(
                id=name, view_id="", category="thematic", instrument=name, status="active",
                direction="long" if size > 0 else "short", notional=abs(size), factor_exposures=claim,
            )
            for name, size, claim in zip(names, sizes, claims, strict=True)
        ]  # fmt: skip

    def pm_constrains(self):
        name = self.rng.choice(list(RULES.values()))
        limit = round(vars(Limits())[name] * self.rng.uniform(0.3, 1.0), 3)
        wrote(self.turn("pm"), "/portfolio/constraints.md", Constraints(id="constraints", **{name: limit}), self.call())
        self.settings = vars(Limits()) | {name: limit}

    def pm_closes(self):
        """Mark a position to be closed. It still counts, because it leaves the book at the end of a session."""
        if self.held:
            name = self.rng.choice(sorted(self.held))
            change_held(self.memory, name, "pm", self.guard, {"exit_reason": "done"})
            self.seen["marked to close"] += 1

    def leg(self, names, kind):
        name, sign = self.rng.choice(names), self.rng.choice((1, -1))
        spot = SPOTS.get(name, 100.0)
        side = 1 - sign * self.rng.uniform(0.02, 0.2)
        more = {"stop": f"{spot * side:.4f}" if self.rng.random() < 0.8 else ""}
        if kind == "option" and self.rng.random() < 0.85:
            more = {"kind": self.rng.choice(("call", "put")), "strike": round(spot * self.rng.uniform(0.8, 1.2), 3)}
            more["premium"] = round(spot * self.rng.uniform(0.005, 0.1), 4)
        return Leg(instrument=name, notional=round(sign * self.rng.uniform(0.5, 40), 3), **more)

    def drawn(self):
        rng = self.rng
        direction = rng.choice(("long", "long", "long", "short", "short", "spread", "option"))
        names = [*WORLD, UNKNOWN, UNKNOWN, FUND] if direction != "option" else [rng.choice(STOCKS), "BBB", "SPY"]
        name = rng.choice(names)
        spot, side = SPOTS.get(name, 100.0), -1 if direction == "short" else 1
        stop = rng.choice(("", *[f"{spot * (1 - side * rng.uniform(-0.05, 0.25)):.4f}"] * 4))
        legs = ()
        if direction in ("spread", "option") and rng.random() < 0.8:
            legs = tuple(self.leg(names, direction) for _ in range(rng.choice((1, 2, 2, 3))))
        entry = f"{spot:.4f}" if side * (spot - (number_in(stop) or 0)) > 0 and direction == "long" and stop else ""
        size = rng.choice((rng.uniform(0.5, 60), rng.uniform(0.5, 20), rng.uniform(0.5, 12), 150.0, 1e-3, -8.0))
        claims = ({"rates": rng.uniform(-20, 20)}, {"equity": rng.uniform(-5, 15)})
        return Expression(
            id="new", view_id="V-001", category="macro_regime", instrument=name, status="proposed", direction=direction,
            notional=rng.choice((size, size, size, size, size, None)), stop=stop, legs=legs,
            entry_details=rng.choice((entry, "")),
            max_loss_pct=rng.choice((None, 0.0, 0.1, 0.1, *[rng.uniform(0.1, 6)] * 4)),
            duration_impact=rng.choice((None, 0.0, 0.5, rng.uniform(-6, 6))),
            factor_exposures=rng.choice((None, {}, *claims, *claims)),
        )  # fmt: skip

    def tries(self):
        """Have the agent write an Expression, a reviewer pass it, and the PM approve it with or without confirming."""
        trade = self.drawn()
        positions = [*self.own, *self.held.values()]
        over, claims, near = broken(trade, positions, self.extra, self.settings)
        answer = WriteTool(self.turn()).execute("/memory/expressions/new.md", render(trade), call_id=self.call())
        if not answer.startswith("Written: "):
            self.seen["refused"] += 1
            rules = {*re.findall(r"^  \[\w+\] (\w+):", answer, re.MULTILINE)}
            assert near or rules == over or not answer.startswith("GUARDRAIL"), (
                f"{rules} are broken, not {over}: {trade}"
            )
            return
        assert near or not over, f"{over} are broken by what was written: {trade}"
        name = answer.splitlines()[0].rpartition("/")[2].removesuffix(".md")
        output = parse(KINDS["expressions"], self.turn().read_file(f"/memory/expressions/{name}.md"))
        reviewed(self.memory, output)
        confirmed = self.rng.random() < 0.6
        self.memory.journal.clock.move(self.memory.journal.clock.now() + timedelta(seconds=1))
        (waiting,) = [each for each in pending(self.memory, self.guard) if each.expression.id == name]
        refused = None
        try:
            approve(self.memory, name, waiting.sha256, "pm", self.guard, confirmed=confirmed)
        except BadInput as problem:
            refused = problem
        if refused:
            assert claims and not confirmed, f"{refused}: {trade}"  # noqa: PT018 - one condition
            self.seen["unconfirmed"] += 1
            return
        self.seen["approved above a limit"] += bool(over)
        assert confirmed or not claims, f"approved on claims alone, {claims}: {trade}"
        self.seen["approved"] += 1
        self.seen["approved by claims"] += bool(claims)
        self.seen[f"approved {trade.direction}"] += 1
        self.held[name] = replace(trade, id=name)


def tried(count, seed=0):
    """Try `count` Expressions, twenty in each book; return the counts of their outcomes."""
    seen = Counter()
    with tempfile.TemporaryDirectory(dir=FAST) as place:
        root = Path(place)
        lake = market(root / "lake")
        for batch in range(seed, seed + -(-count // A_BATCH)):
            with closing(Memory(root / "desk" / "forge", clock=Simulated("limits", NOW))) as memory:
                contracts = {"future:CL": Contract(multiplier=MULTIPLIER, margin=MARGIN)}
                open_account(memory, NAV, 0.0, contracts)
                entries = cash(memory.hydrate(memory.read_instant(memory.journal.clock.now())))
                limits = guardrails(Limits(), At(as_of=NOW, lake=lake), entries)
                desk = Desk(memory, limits, batch)
                desk.pm_states_the_book()
                wrote(desk.turn(), "/memory/views/new.md", NEW_VIEW, "view")
                for number in range(A_BATCH):
                    if desk.rng.random() < 0.1:
                        desk.rng.choice((desk.pm_constrains, desk.pm_closes))()
                    try:
                        desk.tries()
                    except AssertionError as problem:
                        raise AssertionError(f"book {batch}, try {number}: {problem}") from problem
                seen += desk.seen + Counter(tried=A_BATCH)
            shutil.rmtree(root / "desk")
    return seen


def test_nothing_is_approved_above_a_limit():
    seen = tried(600)
    assert seen["approved above a limit"] == 0
    assert min(seen[f"approved {kind}"] for kind in ("long", "short", "spread", "option")) > 0, seen
    assert min(seen["approved by claims"], seen["refused"], seen["unconfirmed"]) > 5, seen


@pytest.mark.parametrize(
    "name", ["claims alone count", "positions are not computed", "a gap is not counted", "no margin"]
)
def test_the_limits_campaign_detects_each_mutant(name, monkeypatch):
    mutants = {
        "claims alone count": (risk.Market, "compute", lambda self, trade, nav: Exposure()),
        "positions are not computed": (Guardrails, "counted", lambda self, trade, nav: claimed(trade)),
        "a gap is not counted": (risk, "overnight", lambda rows, side: 0.0),
        "no margin": (risk.Market, "margin", lambda self, legs, gaps: 0.0),
    }
    monkeypatch.setattr(*mutants[name])
    with pytest.raises(AssertionError):
        tried(400)


def share(seed, _folder):
    """Try the Expressions of some books."""
    seen = tried(BOOKS * A_BATCH, seed * BOOKS)
    return Tally(seen["tried"], counts=seen, failures=["approved above a limit"] * seen["approved above a limit"])
