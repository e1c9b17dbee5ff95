"""Budgets of a run and of a day, in requests to models, tokens and dollars. What is spent is counted on the tape.

A budget is looked at before each request, with what it takes at least; sub-agents, reviewers and compaction share the
run's. One that is reached is the model's answer, so that it is on the tape, and a replay ends where the run did.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

from forge.core.config import Budget, Config, Price
from forge.core.tape import Tape, Used, canonical
from forge.model.messages import Answer, Model, Request
from forge.model.prices import MILLION, price
from pitlake.clock import from_micros, instant

Unit = Literal["calls", "tokens", "dollars"]
CHARACTERS_A_TOKEN = 4


class Spent(NamedTuple):
    """calls: requests to models; dollars: infinite where a price is not known."""

    calls: int = 0
    tokens: int = 0
    dollars: float = 0.0

    def plus(self, other: "Spent") -> "Spent":
        """Both together."""
        return Spent(self.calls + other.calls, self.tokens + other.tokens, self.dollars + other.dollars)

    def told(self) -> str:
        """In words."""
        dollars = f"${self.dollars:,.2f}" if self.dollars != float("inf") else "at no known price"
        return f"{self.calls:,} requests, {self.tokens:,} tokens, {dollars}"


@dataclass
class Meter:
    """What a run may still spend. at: the trigger's instant, whose day counts."""

    tape: Tape
    decision: str
    at: datetime
    config: Config
    _told: list[Used] = field(default_factory=list)
    _seen: int = 0

    def over(self, models: Callable[[str], Model]) -> Callable[[str], Model]:
        """The same models, each asked within the budgets."""
        return lambda role: Metered(models(role), self)

    def spent(self) -> tuple[Spent, Spent]:
        """Of the run and of the day so far."""
        day = day_of(self.at, self.config.schedules.timezone)
        told, self._seen = self.tape.spent(*day, self._seen)
        self._told += told
        used = [*self._told, *self.tape.unanswered(*day)]
        return self.priced(one for one in used if one.decision == self.decision), self.priced(used)

    def reached(self, model: str, asked: Request) -> str:
        """Which budget the next request would break and how to raise it; "" where none."""
        budgets, cost = self.config.budgets, self._price(model)
        if cost is None and (budgets.run.dollars is not None or budgets.day.dollars is not None):
            return (
                f"a budget in dollars is set and the price of {model} is not known; give input and output, in dollars "
                f'per million tokens, below [prices."{model}"] in Forge\'s settings'
            )
        more, (run, day) = self.least(model, asked), self.spent()
        return _broken("run", budgets.run, run, more) or _broken("day", budgets.day, day, more)

    def least(self, model: str, asked: Request) -> Spent:
        """What a request takes at least."""
        tokens = len(canonical(asked.canonical())) // CHARACTERS_A_TOKEN
        cost = self._price(model)
        return Spent(1, tokens, tokens * cost.input / MILLION if cost else math.inf)

    def priced(self, told: Iterable[Used]) -> Spent:
        """What that took, in dollars too."""
        return _sum(Spent(one.calls, one.input + one.output, self._cost(one)) for one in told)

    def _cost(self, used: Used) -> float:
        cost = self._price(used.model)
        return (used.input * cost.input + used.output * cost.output) / MILLION if cost else math.inf

    def _price(self, model: str) -> Price | None:
        return price(model, self.config.prices)


@dataclass(frozen=True)
class Metered:
    """A model asked within budgets."""

    model: Model
    meter: Meter

    @property
    def id(self) -> str:
        """The model's."""
        return self.model.id

    async def ask(self, request: Request) -> Answer:
        """Its answer, or, unasked, which budget is reached. Raises ModelFailed."""
        if why := self.meter.reached(self.id, request):
            return Answer(why, finish="budget")
        least = self.meter.least(self.id, request)
        with self.meter.tape.requesting(self.meter.decision, self.id, least.tokens):
            return await self.model.ask(request)


def of_all(tape: Tape, config: Config, decision: str = "") -> Spent:
    """Of everything that is on a tape, or of one decision."""
    told, _ = tape.spent(from_micros(0), instant("9999-12-30T00:00:00Z"))
    return Meter(tape, "", from_micros(0), config).priced(one for one in told if decision in ("", one.decision))


def day_of(at: datetime, zone: str) -> tuple[datetime, datetime]:
    """The instants between which an instant's day lies, there."""
    local = at.astimezone(ZoneInfo(zone))
    first = datetime.combine(local.date(), time(), local.tzinfo)
    last = datetime.combine(local.date() + timedelta(days=1), time(), local.tzinfo)
    return instant(first), instant(last)


def _sum(told: Iterable[Spent]) -> Spent:
    made = Spent()
    for one in told:
        made = made.plus(one)
    return made


def _broken(scope: str, budget: Budget, spent: Spent, more: Spent) -> str:
    units: tuple[Unit, ...] = ("calls", "tokens", "dollars")
    for unit in units:
        limit, used, least = getattr(budget, unit), getattr(spent, unit), getattr(more, unit)
        if limit is not None and used + least > limit:
            told = f"{used:,.2f}" if unit == "dollars" else f"{used:,}"
            return (
                f"the {scope}'s budget of {limit:,} {unit} is reached: {told} are spent, and the next request would go "
                f"over it; raise {unit} below [budgets.{scope}] in Forge's settings and ask again"
            )
    return ""
