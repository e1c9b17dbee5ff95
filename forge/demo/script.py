"""What the story's models say: each role a function of what it was asked and of what its tools told it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import count
from typing import Literal

from forge.model import Answer, Call, Request, Results
from forge.records import Expression, Invalidation, Scenario, Settles, View, render

SERIES, QUARTER_BEFORE, CLOSE = "GDP", 17_001.5, 10.0
ASKED, REVISED, AGAIN = (
    "Did the economy grow in the first quarter, and how would you position for it?",
    "The figure was revised a second ago: what of V-001?",
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
Told = Sequence[Results]
Step = Callable[[Told], Answer]


def agent(request: Request) -> Answer:
    """The agent: the next step of its plan for the question."""
    told = [one for one in request.messages if isinstance(one, Results)]
    return PLANS[str(request.messages[0])][len(told)](told)


def analyst(request: Request) -> Answer:
    """An analyst. The first one on rates keeps to no form, whoever asks; the retry does."""
    task = str(request.messages[0])
    if "OBJECTIVE:\nrates" in task and "RETRY of" not in task:
        return Answer("Yields may rise, or fall.")
    told = [one for one in request.messages if isinstance(one, Results)]
    if not told:
        return _calls(("fetch", {"source": "economic", "params": {"series": [SERIES]}}))
    return Answer(f"### SUMMARY\n{_said(value_in(told))}")


def synthesist(request: Request) -> Answer:
    """The synthesis of what the analysts found."""
    found = re.findall(r"^The newest estimate is .*$", str(request.messages[0]), re.MULTILINE)
    return Answer(SYNTHESIS.format(found[0] if found else "The analysts say nothing of it."))


def reviewer(request: Request) -> Answer:
    """The reviewer: reads the book's limits, then approves what it was shown."""
    if len(request.messages) == 1:
        return _calls(("read", {"path": "/portfolio/state.md"}))
    return Answer(
        "The loss is cut to where the limits are kept, and the View is settled by a rule.\n\nVERDICT: approve"
    )


def value_in(told: Told) -> float | None:
    """The first value a tool told."""
    texts = (one.text for results in told for one in results.returned)
    found = next(filter(None, map(_VALUE.search, texts)), None)
    return float(found[1]) if found else None


def view(value: float, name: str = "new") -> str:
    """The View after a value: invalidated where the quarter did not grow."""
    over = value - QUARTER_BEFORE
    likely = 0.8 if over >= CLOSE else 0.5 if over >= 0 else 0.0
    status: Literal["active", "invalidated"] = "invalidated" if over < 0 else "active"
    scenarios = (Scenario(name="grew", probability=likely), Scenario(name="shrank", probability=1 - likely))
    body = f"## SUMMARY\n\n{_said(value)}"
    return render(replace(VIEW, id=name, status=status, confidence=likely, scenarios=scenarios, body=body))


def _said(value: float | None) -> str:
    if value is None:
        return "No estimate is known."
    return f"The newest estimate is {value:,.1f}, {value - QUARTER_BEFORE:+.1f} on the quarter before."


def _calls(*calls: tuple[str, Mapping[str, object]]) -> Answer:
    numbers = count(1)
    return Answer("", tuple(Call(name, dict(given), str(next(numbers))) for name, given in calls), "tools")


def _always(*calls: tuple[str, Mapping[str, object]]) -> Step:
    return lambda _told: _calls(*calls)


def _task(name: str, skill: str, **more: object) -> tuple[str, dict[str, object]]:
    return "dispatch", {"id": name, "skill": skill, "objective": f"{name}: what does the figure mean?", **more}


def _writes(path: str, text: Callable[[float], str]) -> Step:
    """A write of what follows from the value; without one, that it is missing."""

    def step(told: Told) -> Answer:
        value = value_in(told)
        return _calls(("write", {"path": path, "content": text(value)})) if value else Answer(_said(value))

    return step


def _ends(told: Told) -> Answer:
    return Answer(f"{_said(value_in(told))} {told[-1].returned[-1].text}")


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
