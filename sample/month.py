"""A month on the desk of the demo: a scripted agent and PM trade the bars of 2010 that the sample has for Apple.

One trade reaches its target, one its stop in the crash of 6 May, one is still held on the last day, and one is pending.
OWNH is an invented company that is halted and whose bars end on 18 May.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path

from forge.agent.agent import Agent
from forge.agent.prompt import undated
from forge.core.clock import Simulated
from forge.core.config import AccountSettings, Config
from forge.core.tape import Tape
from forge.demo.script import calls, reviewer
from forge.memory import Memory, approvals
from forge.memory.cash import open_account
from forge.model import Answer, Request, Results
from forge.model.scripted import Scripted
from forge.providers.base import At, moving_sessions
from forge.records import Expression, Record, Scenario, Settles, View, render
from forge.tracking.risk import guardrails
from forge.walk.pm import advance
from pitlake.clock import instant
from pitlake.lake.lake import Lake

RUN = "month"
SETTINGS = Config(account=AccountSettings(capital=1_000_000.0, costs_bp=2.0))
RESULTS, CRASH, AFTER = (
    "Apple reported after the close: what do we think, and how would we express it?",
    "Prices fell and rose by a tenth within minutes on Thursday: what do we hold, and what do we add?",
    "The month ends: which trade is next?",
)
APPROVE, FOLLOW = "approve", "follow"
OPENS, ENDS = "2010-04-21T08:00:00-04:00", "2010-05-21T17:00:00-04:00"
DAYS: Sequence[tuple[str, str]] = (
    ("2010-04-21T08:30:00-04:00", RESULTS),
    ("2010-04-21T09:00:00-04:00", APPROVE),
    ("2010-04-23T17:00:00-04:00", FOLLOW),
    ("2010-05-06T17:00:00-04:00", FOLLOW),
    ("2010-05-10T08:30:00-04:00", CRASH),
    ("2010-05-10T09:00:00-04:00", APPROVE),
    ("2010-05-21T16:30:00-04:00", FOLLOW),
    (ENDS, AFTER),
)
"""The events of the month: a question to the agent, the PM's approvals, or code's work after a session."""
VIEW = View(
    id="new",
    scope="apple_after_results",
    category="event_driven",
    confidence=0.65,
    status="active",
    horizon="2m",
    scenarios=(Scenario(name="higher", probability=0.65), Scenario(name="not higher", probability=0.35)),
    settles=Settles(
        query="entity_latest_price", params={"ticker": "AAPL"}, rule="close > 259.22", by=date(2010, 6, 30)
    ),
    body="## SUMMARY\n\nApple's sales rose by half in a year; a price does not take that in within a day.",
)
TRADE = Expression(
    id="new",
    view_id="V-001",
    category="event_driven",
    instrument="AAPL",
    status="proposed",
    direction="long",
    max_loss_pct=2.0,
    notional=15.0,
    duration_impact=0.0,
    factor_exposures={"equity": 15.0},
    target="270",
    stop="240",
    expires=date(2010, 6, 30),
    body="## SUMMARY\n\nShares, because no option pays for the wait.",
)
LATER = replace(TRADE, notional=10.0, factor_exposures={"equity": 10.0}, target="300")
HALTED = replace(
    TRADE,
    instrument="OWNH",
    notional=8.0,
    factor_exposures={"equity": 8.0},
    target="25",
    stop="18",
    body="## SUMMARY\n\nA supplier, invented, that the fall left cheap.",
)
HELD = replace(LATER, notional=12.0, factor_exposures={"equity": 12.0}, stop="225")
WAITING = replace(LATER, notional=5.0, factor_exposures={"equity": 5.0}, target="280", stop="228")
PLANS: Mapping[str, tuple[Sequence[Expression], Sequence[str], str]] = {
    RESULTS: ((TRADE, LATER), ("E-001", "E-002"), "V-001 is written. Two trades wait, for days and for weeks."),
    CRASH: ((HALTED, HELD), ("E-003", "E-004"), "V-001 stands. OWNH and a smaller position in Apple wait."),
    AFTER: ((WAITING,), ("E-005",), "V-001 stands. A further tranche waits for you."),
}
"""The trades that the agent proposes, the trades that it has reviewed, and its answer, by question."""


def play(home: Path, lake: Lake) -> None:
    """Play the month into a separate memory, and its decisions onto the demo's tape. home: the demo's folder."""
    tape, clock = Tape(home / "forge-tape.sqlite"), Simulated(RUN, OPENS)
    with closing(Memory(home / "forge", clock=clock)) as memory, moving_sessions():
        version = lake.head()
        agent = Agent(
            memory, tape, lambda role: Scripted(ROLES[role], role), lake.root, config=SETTINGS, version=version
        )
        open_account(memory, SETTINGS.account.capital, 0.0)
        for moment, event in DAYS:
            clock.move(moment)
            at = At(as_of=instant(moment), lake=lake.root, version=version)
            limits = guardrails(SETTINGS.guardrails, at)
            if event == FOLLOW:
                advance(memory, at, limits, lambda _: (), SETTINGS)
            elif event == APPROVE:
                for item in approvals.pending(memory, limits):
                    approvals.approve(memory, item.expression.id, item.sha256, "pm", limits, confirmed=True)
            else:
                asyncio.run(agent.ask(event, moment))


def _agent(request: Request) -> Answer:
    """Look at the prices, write the View once, propose the plan's trades and have them reviewed."""
    question = undated(str(request.messages[0]))
    trades, reviewed, answer = PLANS[question]
    params = {"op": "prices", "ticker": "AAPL", "start_date": "2010-04-15"}
    writes: list[tuple[str, Record]] = [("/memory/views/new.md", VIEW)] if question == RESULTS else []
    writes += [("/memory/expressions/new.md", trade) for trade in trades]
    steps: list[tuple[str, Mapping[str, object]]] = [("fetch", {"source": "market", "params": params})]
    steps += [("write", {"path": path, "content": render(record)}) for path, record in writes]
    steps += [("review", {"output": name, "focus": "loss against limits"}) for name in reviewed]
    done = sum(isinstance(message, Results) for message in request.messages)
    return calls(steps[done]) if done < len(steps) else Answer(answer)


ROLES = {"agent": _agent, "review": reviewer}
