"""Walk-forward runs by a scripted model, on a lake full of canaries: `python -m tests.forge.walks --decisions 1000`.

Each article's title is a canary: it contains the instant at which the article became public. No decision may read an
article later than its T.
"""

import argparse
import os
import re
import signal
import sys
import tempfile
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

from forge.agent.prompt import undated
from forge.cli.walk import told as told_of
from forge.core.tape import WORK, Tape
from forge.model import Answer, Call
from forge.model.scripted import Scripted
from forge.records import Expression, Settles, render
from forge.walk.plan import Walk
from forge.walk.run import Ground, run, run_all
from pitlake.clock import instant, micros
from pitlake.exchange import session
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_providers import article, gdp
from tests.forge.world import NEW_VIEW

SINCE, UNTIL = date(2014, 5, 7), date(2014, 5, 9)
DAYS = Walk(name="days", since=SINCE, until=UNTIL)
KILLS = (6, 17)
"""The numbers of the answers before which a killed run's process dies."""
CANARY = re.compile(r"canary(\d+)")
TRADE = Expression(
    id="new", view_id="V-001", category="macro_regime", instrument="QBG", status="proposed", direction="long",
    max_loss_pct=1.0, notional=10.0, duration_impact=0.0, factor_exposures={"energy": 5.0}, target="102", stop="99",
)  # fmt: skip


def world(root, since=SINCE, until=UNTIL, cut=None, index=None):
    """Return the root of a lake with vintages, bars and three articles a day, one a microsecond after a trigger.

    index: closes of SPY by day.
    cut: the instant after which the lake has a different article instead of the usual rows.
    """
    lake, rows = Lake(root), {"news": [], "macro_observations": [], "prices": [], "companies": []}
    for number in range((until - since).days + 40):
        day = since - timedelta(days=10) + timedelta(days=number)
        midnight = datetime(day.year, day.month, day.day, tzinfo=timezone.utc)
        for place, after in enumerate((timedelta(hours=3), timedelta(hours=11, microseconds=1), timedelta(hours=22))):
            at = midnight + after
            rows["news"].append(article(f"{number}_{place}", f"canary{micros(at)} oil", at))
        if day.day % 3 == 0:
            rows["macro_observations"].append(gdp(str(day), 17000.0 + number))
        if content := session(day):
            price = 100.0 + number % 7
            reply = {"entity_kind": "company", "entity_id": "1", "symbol": "QBG", "date": day, "volume": 1e6}
            reply |= dict.fromkeys(("open", "high", "low", "close"), price)
            rows["prices"].append(reply | {"available_at": content.close})
            if index and day in index:
                fund = {"entity_kind": "index", "entity_id": "SPY", "symbol": "SPY"}
                closes = dict.fromkeys(("open", "high", "low", "close"), index[day])
                rows["prices"].append(reply | fund | closes | {"available_at": content.close})
    for dataset, reply in rows.items():
        remaining = [row for row in reply if cut is None or row["available_at"] <= cut]
        if cut and dataset == "news":
            remaining.append(article("other", f"canary{micros(cut) + 7} gas", cut + timedelta(microseconds=7)))
        if remaining:
            put_rows(lake, dataset, *remaining)
    return lake.root


def brain(request):
    """Answer as the scripted agent: read, forecast, propose a trade in the evening, and review it."""
    reply = [each for each in request.messages if not isinstance(each, str)]
    if request.role == "review":
        return Answer("VERDICT: approve")
    occasion, turn = undated(str(request.messages[0])), len(reply) // 2
    weekly = [("read", {"path": f"/memory/{path}"}) for path in ("outcomes/", "calibration/macro_regime.md")]
    plans = {"Morning": _morning, "End of": _evening, "Weekly": lambda _occasion: (weekly,)}
    steps = next(outcome for name, outcome in plans.items() if occasion.startswith(name))(occasion)
    if turn >= len(steps):
        return Answer(f"Done after {turn} steps: {str(request.messages[-1])[:40]}")
    return Answer("", tuple(Call(name, question, f"c{turn}") for name, question in steps[turn]), "tools", "s", 100, 10)


def _morning(occasion):
    day = date.fromisoformat(re.search(r"\d{4}-\d\d-\d\d", occasion)[0])
    judged = Settles(query="macro_series", params={"series": "GDP", "limit": 1}, rule="value > 17010", by=day)
    view = replace(NEW_VIEW, settles=judged, confidence=0.55 + day.day / 100)
    return (
        [("fetch", {"source": "news", "params": {"op": "latest", "ticker": "QBG"}})],
        [
            ("fetch", {"source": "economic", "params": {"op": "series", "series": "GDP"}}),
            ("read", {"path": "/session/context/ctx_001.md", "depth": "full"}),
        ],
        [("write", {"path": "/memory/views/new.md", "content": render(view)})],
    )


def _evening(_occasion):
    return (
        [("read", {"path": "/memory/views/"}), ("search", {"scope": "/memory/", "query": "growth"})],
        [("fetch", {"source": "market", "params": {"op": "price", "ticker": "QBG"}})],
        [("write", {"path": "/memory/expressions/new.md", "content": render(TRADE)})],
        [("review", {"output": "E-001", "focus": "risk"})],
    )


class Deadly:
    """A role's model whose process is killed once before each answer whose number is in `kills`."""

    def __init__(self, root, kills):
        self._root, self._kills, self.id = Path(root), kills, "scripted:1"

    async def ask(self, request):
        counted = self._root / "asked"
        number = int(counted.read_text()) + 1 if counted.exists() else 1
        counted.write_text(str(number))
        if number in self._kills:
            os.kill(os.getpid(), signal.SIGKILL)
        return brain(request)


def scripted(role):
    return Scripted(brain)


def transcript(place):
    """Return a run's requests and answers by decision, and the receipts of the work between decisions."""
    tape = Tape(Path(place) / "tape.sqlite")
    return {
        each: tape.receipt(each) if each.startswith(WORK) else [tuple(step) for step in tape.steps(each)]
        for each in tape.decisions()
    }


def canaries(place):
    """Return the number of decisions, the number of canaries that they read, and the canaries later than their T."""
    tape, seen, late = Tape(Path(place) / "tape.sqlite"), 0, []
    decisions = [each for each in tape.decisions() if not each.startswith(WORK)]
    for item in decisions:
        at = micros(instant(tape.inputs(item)["as_of"]))
        result = [int(stamp) for step in tape.steps(item) for stamp in CANARY.findall(step.request + step.answer)]
        seen, late = seen + len(result), late + [(item, stamp) for stamp in result if stamp > at]
    return len(decisions), seen, late


def of_canaries(expected):
    """Return a walk of at least this many decisions. A week has eleven, or fewer with holidays."""
    return Walk(name="canaries", since=UNTIL - timedelta(days=expected * 2 // 3 + 14), until=UNTIL)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--decisions", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--killed", type=Path, nargs=2, metavar=("FOLDER", "LAKE"), help="A few days, killed twice.")
    reply = parser.parse_args()
    if reply.killed:
        folder, lake = reply.killed
        run(DAYS, Ground(folder, lake, lambda role: Deadly(folder, KILLS)))
        return
    walk = of_canaries(reply.decisions)
    with tempfile.TemporaryDirectory(prefix="walks-") as folder:
        ground = Ground(Path(folder), world(Path(folder) / "lake", walk.since, walk.until), scripted)
        quarters = walk.split("quarter")
        run_all(quarters, ground, reply.jobs, told_of)
        result = [(count, seen, len(late)) for count, seen, late in (canaries(ground.place(each)) for each in quarters)]
    decisions, seen, late = (sum(counts) for counts in zip(*result, strict=True))
    print(f"{decisions} decisions read {seen} canaries, {late} of them from after their instant")
    sys.exit(late > 0 or decisions < reply.decisions or not seen)


if __name__ == "__main__":
    main()
