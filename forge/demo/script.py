"""Scripted answers for the demo's models: each role is a function of its request and its tools' results."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import count
from typing import Literal

from forge.agent.prompt import undated
from forge.model import Answer, Call, Request, Results
from forge.records import Expression, Invalidation, Scenario, Settles, View, render

SERIES, QUARTER_BEFORE, CLOSE = "GDP", 17_089.6, 20.0
ASKED, REVISED, AGAIN = (
    "Did the economy grow in the first quarter, and how would you position for it?",
    "The figure was revised a second ago: what does this mean for V-001?",
    "The figure was revised again: does V-001 still hold?",
)
VIEW = View(
    id="new",
    scope="us_growth",
    category="macro_regime",
    confidence=0.5,
    status="draft",
    horizon="1m",
    settles=Settles(
        query="macro_series",
        params={"series": SERIES, "limit": 1},
        rule=f"value >= {QUARTER_BEFORE}",
        by=date(2014, 6, 30),
    ),
    invalidation=(Invalidation(condition=f"the first quarter's GDP is below {QUARTER_BEFORE:,}"),),
)
BONDS = Expression(
    id="new",
    view_id="V-001",
    category="macro_regime",
    instrument="ten-year note futures",
    status="proposed",
    direction="short",
    max_loss_pct=8.0,
    notional=20.0,
    duration_impact=-1.5,
    factor_exposures={"rates": -10.0},
    body="## SUMMARY\n\nGrowth holds, so yields rise.",
)
SMALL = replace(
    BONDS,
    instrument="small companies' index futures",
    direction="long",
    max_loss_pct=2.0,
    duration_impact=0.0,
    factor_exposures={"equity": 10.0},
    body="## SUMMARY\n\nGrowth holds, so small companies gain.",
)
SYNTHESIS = """\
### SUMMARY
{}

### VIEW UPDATES
none

### EXPRESSION IMPLICATIONS
none

### OPEN QUESTIONS
How far the next revision goes.

### NEXT ACTIONS
Write the View; propose an Expression within the limits.
"""
_VALUE = re.compile(r"; value=([0-9.]+)")
ToolResults = Sequence[Results]
Step = Callable[[ToolResults], Answer]


def agent(request: Request) -> Answer:
    """Return the agent's next step in its plan for the question."""
    results = [message for message in request.messages if isinstance(message, Results)]
    return PLANS[undated(str(request.messages[0]))][len(results)](results)


def analyst(request: Request) -> Answer:
    """Answer as an analyst. The first answer about rates breaks its contract; the retry does not."""
    task = str(request.messages[0])
    if "OBJECTIVE:\nrates" in task and "RETRY of" not in task:
        return Answer("Yields may rise, or fall.")
    results = [message for message in request.messages if isinstance(message, Results)]
    if not results:
        return calls(("fetch", {"source": "economic", "params": {"series": [SERIES]}}))
    return Answer(f"### SUMMARY\n{_sentence(value_in(results))}")


def synthesist(request: Request) -> Answer:
    """Return the synthesis of the analysts' results."""
    estimates = re.findall(r"^The newest estimate is .*$", str(request.messages[0]), re.MULTILINE)
    return Answer(SYNTHESIS.format(estimates[0] if estimates else "The analysts do not mention it."))


def reviewer(request: Request) -> Answer:
    """Answer as the reviewer: read the book's limits, then approve."""
    if len(request.messages) == 1:
        return calls(("read", {"path": "/portfolio/state.md"}))
    return Answer("The loss is within the limits, and the View is settled by a rule.\n\nVERDICT: approve")


def value_in(results: ToolResults) -> float | None:
    """Return the first value in the tools' results."""
    texts = (result.text for message in results for result in message.returned)
    match = next(filter(None, map(_VALUE.search, texts)), None)
    return float(match[1]) if match else None


def view(value: float, name: str = "new") -> str:
    """Return the View that follows from a value: invalidated if the quarter did not grow."""
    over = value - QUARTER_BEFORE
    likely = 0.8 if over >= CLOSE else 0.5 if over >= 0 else 0.0
    status: Literal["active", "invalidated"] = "invalidated" if over < 0 else "active"
    scenarios = (Scenario(name="grew", probability=likely), Scenario(name="shrank", probability=1 - likely))
    body = f"## SUMMARY\n\n{_sentence(value)}"
    return render(replace(VIEW, id=name, status=status, confidence=likely, scenarios=scenarios, body=body))


def _sentence(value: float | None) -> str:
    if value is None:
        return "No estimate is known."
    return f"The newest estimate is {value:,.1f}, {value - QUARTER_BEFORE:+.1f} on the quarter before."


def calls(*tool_calls: tuple[str, Mapping[str, object]]) -> Answer:
    """Return a step that calls these tools."""
    numbers = count(1)
    return Answer("", tuple(Call(name, dict(arguments), str(next(numbers))) for name, arguments in tool_calls), "tools")


def _always(*tool_calls: tuple[str, Mapping[str, object]]) -> Step:
    return lambda _told: calls(*tool_calls)


def _task(name: str, skill: str, **more: object) -> tuple[str, dict[str, object]]:
    return "dispatch", {"id": name, "skill": skill, "objective": f"{name}: what does the figure mean?", **more}


def _writes(path: str, text: Callable[[float], str]) -> Step:
    """Return a write that follows from the value; without a value, an answer that the value is missing."""

    def step(results: ToolResults) -> Answer:
        value = value_in(results)
        return calls(("write", {"path": path, "content": text(value)})) if value else Answer(_sentence(value))

    return step


def _ends(results: ToolResults) -> Answer:
    return Answer(f"{_sentence(value_in(results))} {results[-1].returned[-1].text}")


_FETCH = ("fetch", {"source": "economic", "params": {"series": [SERIES]}})
_VIEW, _EXPRESSION = "/memory/views/{}.md", "/memory/expressions/new.md"
PLANS: Mapping[str, Sequence[Step]] = {
    ASKED: (
        _always(_FETCH),
        _always(_task("growth", "event-analysis"), _task("rates", "rv-analysis")),
        _always(("collect", {"target": "all"})),
        _always(("dispatch", {"id": "rates-2", "retry_of": "rates", "notes": "Keep to the form."})),
        _always(("collect", {"target": "rates-2"})),
        _always(_task("synthesis", "portfolio-synthesis", depends_on=["growth", "rates-2"])),
        _always(("collect", {"target": "synthesis"})),
        _writes(_VIEW.format("new"), view),
        _always(("write", {"path": _EXPRESSION, "content": render(BONDS)})),
        _always(("write", {"path": _EXPRESSION, "content": render(replace(BONDS, max_loss_pct=2.0))})),
        _always(("review", {"output": "E-001", "focus": "loss against limits"})),
        _always(("write", {"path": _EXPRESSION, "content": render(SMALL)})),
        _ends,
    ),
    **{
        question: (
            _always(_FETCH, ("read", {"path": _VIEW.format("V-001"), "depth": "full"})),
            _writes(_VIEW.format("V-001"), lambda value: view(value, "V-001")),
            _ends,
        )
        for question in (REVISED, AGAIN)
    },
}
ROLES = {"agent": agent, "subagent": analyst, "synthesis": synthesist, "review": reviewer}
