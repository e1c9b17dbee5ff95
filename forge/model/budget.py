"""Budgets of a run, a day and a backtest, in requests to models, tokens and dollars. Spending is counted on the tape.

Before each request, a budget is compared with the spending so far plus a lower bound of the request's tokens.
Sub-agents, reviewers and compaction share the run's budget. An exceeded budget is recorded as the model's answer, so
that a replay ends where the run ended.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from functools import partial
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

from forge.core.clock import LIVE
from forge.core.config import Budget, Config, Price
from forge.core.stops import stop_reason
from forge.core.tape import Tape, Used
from forge.model.messages import Answer, Model, Request
from forge.model.prices import MILLION, price
from pitlake.clock import from_micros, instant, now
from pitlake.recorder import canonical

Unit = Literal["calls", "tokens", "dollars"]
CHARACTERS_A_TOKEN = 4
AS_OF = "simulated:at-"
"""The prefix of the clock names of questions as of a past instant."""


class Spent(NamedTuple):
    """Spending. calls: requests to models. dollars: infinite if a price is unknown."""

    calls: int = 0
    tokens: int = 0
    dollars: float = 0.0

    def plus(self, other: "Spent") -> "Spent":
        return Spent(self.calls + other.calls, self.tokens + other.tokens, self.dollars + other.dollars)

    def describe(self) -> str:
        """Format the amounts as text."""
        dollars = f"${self.dollars:,.2f}" if self.dollars != float("inf") else "price unknown"
        return f"{self.calls:,} requests, {self.tokens:,} tokens, {dollars}"


@dataclass
class Meter:
    """Checks a run's budgets.

    at: the trigger's instant. In a backtest, a day's budget covers the decisions triggered on that day. clock: that of
    the decision's memory. Live decisions and questions as of a past instant share one budget per day, by the day on
    which their requests are sent. backtest: the tapes of all runs of the backtest.
    """

    tape: Tape
    decision: str
    at: datetime
    config: Config
    clock: str = ""
    backtest: tuple[Tape, ...] = ()
    _counted: list[Used] = field(default_factory=list)
    _seen: int = 0

    def over(self, models: Callable[[str], Model]) -> Callable[[str], Model]:
        """Return the same models, limited by the budgets."""
        return lambda role: Metered(models(role), self)

    def spent(self) -> tuple[Spent, Spent]:
        """Return the spending of the run and of the day to date."""
        day = day_of(self.at, self.config.schedules.timezone)
        newer, self._seen = self.tape.spent(*day, self._seen)
        self._counted += newer
        used = [*self._counted, *self.tape.unanswered(*day)]
        run = self.priced(row for row in used if row.decision == self.decision)
        if self.clock == LIVE or self.clock.startswith(AS_OF):
            used = self.tape.sent(*day_of(now(), self.config.schedules.timezone))
        return run, self.priced(used)

    def spent_in_backtest(self) -> Spent:
        """Return the spending of all runs of the backtest to date."""
        return _sum(total_spent(tape, self.config) for tape in self.backtest)

    def backtest_exceeded(self, more: Spent | None = None) -> str:
        """Return why a request that uses at least `more` (default: one call) exceeds the backtest's budget, or ""."""
        budget = self.config.budgets.backtest
        return _broken("backtest", budget, self.spent_in_backtest(), more or Spent(1)) if self.backtest else ""

    def exceeded(self, model: str, request: Request) -> str:
        """Return which budget the next request would exceed and how to raise it, or ""."""
        budgets, cost = self.config.budgets, self._price(model)
        if cost is None and any(budget.dollars is not None for budget in (budgets.run, budgets.day, budgets.backtest)):
            return (
                f"a budget in dollars is set but the price of {model} is unknown; give input and output, in dollars "
                f'per million tokens, in [prices."{model}"] in Forge\'s settings'
            )
        more, (run, day) = self.least(model, request), self.spent()
        own = _broken("run", budgets.run, run, more) or _broken("day", budgets.day, day, more)
        return own or self.backtest_exceeded(more)

    def least(self, model: str, request: Request) -> Spent:
        tokens = len(canonical(request.canonical())) // CHARACTERS_A_TOKEN
        cost = self._price(model)
        return Spent(1, tokens, tokens * cost.input / MILLION if cost else math.inf)

    def priced(self, rows: Iterable[Used]) -> Spent:
        """Return the spending of these rows, with dollars."""
        prices = ((row, self._price(row.model)) for row in rows)
        return _sum(
            Spent(
                row.calls,
                row.input + row.output,
                (row.input * cost.input + row.output * cost.output) / MILLION if cost else math.inf,
            )
            for row, cost in prices
        )

    def _price(self, model: str) -> Price | None:
        return price(model, self.config.prices)


@dataclass(frozen=True)
class Metered:
    """A model limited by budgets."""

    model: Model
    meter: Meter

    @property
    def id(self) -> str:
        return self.model.id

    async def ask(self, request: Request) -> Answer:
        """Return the model's answer.

        If a budget is exceeded or the PM has stopped the decision, return an answer that says so, without calling the
        model. Raises ModelFailed.
        """
        meter, least = self.meter, self.meter.least(self.id, request)
        if why := stop_reason(meter.tape, meter.decision):
            return Answer(why, finish="stopped")
        shared = meter.backtest[0] if meter.backtest else None
        check = partial(meter.exceeded, self.id, request)
        with meter.tape.requesting(meter.decision, self.id, least.tokens, check, shared) as sending:
            if sending.refused:
                return Answer(sending.refused, finish="budget")
            answer = await self.model.ask(request)
            sending.used = answer.input_tokens, answer.output_tokens
            return answer


def total_spent(tape: Tape, config: Config, decision: str = "") -> Spent:
    """Return the spending of everything on a tape, or of one decision."""
    ever = from_micros(0), instant("9999-12-30T00:00:00Z")
    rows = [*tape.spent(*ever)[0], *tape.unanswered(*ever)]
    return Meter(tape, "", from_micros(0), config).priced(row for row in rows if decision in ("", row.decision))


def day_of(at: datetime, zone: str) -> tuple[datetime, datetime]:
    """Return the start and end of an instant's day in a time zone."""
    local = at.astimezone(ZoneInfo(zone))
    first = datetime.combine(local.date(), time(), local.tzinfo)
    last = datetime.combine(local.date() + timedelta(days=1), time(), local.tzinfo)
    return instant(first), instant(last)


def _sum(parts: Iterable[Spent]) -> Spent:
    total = Spent()
    for part in parts:
        total = total.plus(part)
    return total


def _broken(scope: str, budget: Budget, spent: Spent, more: Spent) -> str:
    units: tuple[Unit, ...] = ("calls", "tokens", "dollars")
    for unit in units:
        limit, used, least = getattr(budget, unit), getattr(spent, unit), getattr(more, unit)
        if limit is not None and used + least > limit:
            used_text = f"{used:,.2f}" if unit == "dollars" else f"{used:,}"
            return (
                f"the {scope}'s budget of {limit:,} {unit} is reached: {used_text} spent, and the next request would "
                f"exceed it; raise {unit} in [budgets.{scope}] in Forge's settings and ask again"
            )
    return ""
