"""The demo's last minute: Forge decides as of two instants on the demo's vintages, is replayed, and is judged.

The model is a script. That shows the plumbing, and says so: what a real model would think of it is another matter.
"""

import asyncio
import re
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import cast

from rich.console import Console

from forge.agent import Agent
from forge.clock import Simulated
from forge.fs import ForgeFS
from forge.memory import Memory
from forge.model import Answer, Call, Request, Results
from forge.model.scripted import Scripted
from forge.providers.base import At
from forge.records import Scenario, Settles, View, render
from forge.tape import Mode, Tape
from forge.tracking.settlement import settle
from pitlake.clock import instant
from pitlake.lake.lake import Lake

INSTANTS = ("2014-05-29T08:29:59-04:00", "2014-05-29T08:30:01-04:00")
JUDGED = "2014-07-01T09:00:00-04:00"
QUESTION = "Did the economy shrink in the first quarter?"
QUARTER_BEFORE, CLOSE = 17_001.5, 10.0
VIEWS = "/memory/views/"
REPLAYS: tuple[tuple[Mode, str], ...] = (("strict", "from the tape alone"), ("live-tools", "the lake asked again"))
SHRINKS = View(
    id="new",
    scope="us_growth",
    category="macro_regime",
    confidence=0.5,
    status="draft",
    horizon="1m",
    settles=Settles(
        query="macro_series",
        params={"series": "GDP", "limit": 1},
        rule=f"value < {QUARTER_BEFORE}",
        by=date(2014, 6, 30),
    ),
)


def script(request: Request) -> Answer:
    """Fetch GDP and list the Views; write one, or the new confidence of the one there is; say so."""
    given = [one for told in request.messages if isinstance(told, Results) for one in told.returned]
    if not given:
        fetch = Call("fetch", {"source": "economic", "params": {"series": ["GDP"]}}, "1")
        return _calls(fetch, Call("read", {"path": VIEWS}, "2"))
    found, known = re.search(r"; value=([0-9.]+)", given[0].text), re.search(r"V-[0-9]+", given[1].text)
    if found is None or len(given) > 2:
        return Answer(given[-1].text if found else given[0].text)
    value = float(found[1])
    likely = 0.5 if value - QUARTER_BEFORE < CLOSE else 0.2
    scenarios = (Scenario(name="shrinks", probability=likely), Scenario(name="grows", probability=1 - likely))
    body = f"## SUMMARY\n\nThe newest estimate is {value:,.1f}, {value - QUARTER_BEFORE:+.1f} on the quarter before."
    name = known[0] if known else "new"
    text = render(replace(SHRINKS, id=name, status="active", confidence=likely, scenarios=scenarios, body=body))
    return _calls(Call("write", {"path": f"{VIEWS}{name}.md", "content": text}, "3"))


def _calls(*calls: Call) -> Answer:
    return Answer("", calls, "tools", "scripted")


def decide(home: Path, lake: Lake, out: Console) -> str:
    """Two decisions, their replays and what time said, a line each; the name of the last one.

    Raises Diverged where a replay differs.
    """
    clock = Simulated("demo", INSTANTS[0])
    with closing(Memory(home / "forge", clock=clock)) as memory:
        agent = Agent(memory, Tape(home / "forge-tape.sqlite"), lambda _: Scripted(script), lake.root)
        out.print(f"\nForge, as a script plays it (no model was asked): {QUESTION}", style="bold")
        made = []
        for at in INSTANTS:
            clock.move(at)
            made.append(asyncio.run(agent.ask(QUESTION, at)).decision)
            files = ForgeFS(memory, memory.hydrate(memory.standing(instant(at))))
            for row in filter(None, map(files.remembered.newest, files.remembered.paths(VIEWS))):
                view = cast("View", files.remembered.record(row))
                out.print(f"  as of {at}  {view.id} at {view.confidence:.0%}: {view.body.splitlines()[-1]}")
        steps = sum(len(agent.tape.steps(decision)) for decision in made)
        for mode, how in REPLAYS:
            for decision in made:
                asyncio.run(agent.replay(decision, mode))
            out.print(f"  replayed, {how}: {len(made)} decisions, {steps} steps, 0 differences")
        clock.move(JUDGED)
        for one in settle(memory, At(as_of=instant(JUDGED), lake=lake.root), lambda _: ()):
            said = one.status.replace("_", " ")
            out.print(f"  as of {JUDGED}  {one.view} {said}: {one.rule} by {one.by}, and it is {one.value}")
    return made[-1]
