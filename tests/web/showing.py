"""A desk for pictures: invented records of one spring about the demo's companies, dated by a clock of those days.

`python -m tests.web.showing axe LAKE AXE` checks the accessibility with axe-core, whose script is AXE.
`python -m tests.web.showing pictures LAKE FOLDER` saves a picture of each page, light and dark, on a desktop and on a
phone. If names of pages follow, it saves one picture of each of these pages, as for the README.
"""

import asyncio
import json
import os
import random
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from unittest import mock

from forge.core.tape import Tape
from forge.memory import Memory
from forge.records import (
    KINDS,
    Counterfactual,
    Expression,
    Invalidation,
    Mark,
    Outcome,
    Portfolio,
    Position,
    Proposal,
    Scenario,
    Settlement,
    Settles,
    View,
    parse,
)
from forge.tracking.calibration import measure_category
from forge.web import room
from pitlake.clock import instant, iso
from tests.forge.world import activated, reviewed, turn, wrote
from tests.web.chromium import DESKTOP, PHONE, browsing, served

T = instant("2024-05-29T21:00:00Z")
PAGES = {
    "time-machine": "/at?as_of=2010-01-26T14:30:00Z&ticker=AAPL",
    "company": f"/at?as_of={iso(T)}&ticker=QBRY",
    "companies": f"/companies?as_of={iso(T)}&q=a",
    "tables": f"/tables?as_of={iso(T)}",
    "table": f"/table?as_of={iso(T)}&dataset=prices&sort=-close",
    "row": f"/row?as_of={iso(T)}&dataset=macro_observations&k_series_id=GDP&k_observation_date=2014-01-01",
    "sql": f"/sql?as_of={iso(T)}&sql=FROM+news",
    "compare": f"/compare?as_of={iso(T)}&ticker=QBRY&with=2024-05-22T20:00:00Z",
    "history": f"/history?as_of={iso(T)}&ticker=QBRY&of=xbrl_facts.value_number&k_cik=0009800019"
    "&k_concept=us-gaap:Revenues&k_unit=iso4217:USD&k_period_type=duration&k_period_start=2024-01-29"
    "&k_period_end=2024-04-28&k_dimensions=&k_members=",
    "ask": f"/ask?as_of={iso(T)}&ticker=QBRY&question=filings",
    "unlock": "/unlock",
    "error": "/nowhere",
    "desk": "/desk",
    "approvals": "/desk/approvals",
    "view": "/desk/v/V-001",
    "expression": "/desk/e/E-001",
    "calibration": "/desk/calibration",
    "ledger": "/desk/ledger",
    "retrospective": "/desk/retrospective",
    "commands": "/desk/commands",
    "skills": "/desk/skills",
    "decision": "/desk/d/D-morning",
    "run": "/desk/d/D-live",
}
SHAPES = (("desktop", DESKTOP), ("phone", PHONE))
TALLEST = 6000
RUN_AXE = """
const done = arguments[0];
axe.run(document).then(told => done(told.violations.map(one => [one.impact, one.id, one.nodes[0].html])));
"""


class Days:
    """A clock that shows the instant to which it is set, and a microsecond more on each call."""

    def __init__(self, at):
        self.at = instant(at)

    def __call__(self):
        self.at += timedelta(microseconds=1)
        return self.at


@contextmanager
def shown(lake):
    """Serve the pages of a lake with this desk on the evening of its last day, and yield their address."""
    days = Days("2024-04-01T15:00:00Z")
    with (
        tempfile.TemporaryDirectory() as home,
        mock.patch("pitlake.clock.now", days),
        mock.patch.dict(os.environ, FORGE_LAKE=f"{home}/forge"),
        served(lake, (room,)) as base,
    ):
        remember(Memory(), days)
        days.at = T
        yield base


def remember(memory, days):
    """Write all records of the desk."""
    wrote(turn(memory, "pm", actor="pm"), "/portfolio/state.md", BOOK, "book")
    for scope, category, confidence in VIEWS:
        view = replace(VIEW, scope=scope, category=category, confidence=confidence)
        wrote(turn(memory), "/memory/views/new.md", view, scope)
    content = replace(TRADE, body="## SUMMARY\n\nThe market leader, held through its release.")
    wrote(turn(memory), "/memory/expressions/new.md", content, "held")
    activated(memory)
    for day, confidence in (("2024-04-19", 0.58), ("2024-05-03", 0.64), ("2024-05-23", 0.72)):
        days.at = instant(f"{day}T15:00:00Z")
        scope, category, _ = VIEWS[0]
        wrote(
            turn(memory), "/memory/views/V-001.md", replace(VIEW, id="V-001", scope=scope, confidence=confidence), day
        )
    days.at = instant("2024-05-28T12:30:00Z")
    _judged(memory)
    days.at = instant("2024-05-29T13:00:00Z")
    draft = replace(
        TRADE, instrument="QATW", direction="short", view_id="V-002", max_loss_pct=1.5, target="215", stop="250"
    )
    wrote(turn(memory), "/memory/expressions/new.md", draft, "draft")
    wrote(turn(memory), "/memory/expressions/new.md", replace(draft, instrument="QZP", max_loss_pct=4.8), "unreviewed")
    reviewed(memory, parse(KINDS["expressions"], turn(memory).read_file("/memory/expressions/E-002.md")))
    question = {
        "text": "Alert: QBRY filed an 8-K. Does V-001 stand?",
        "as_of": iso(days()),
        "clock": "live",
        "session": "s",
    }
    tape = Tape(f"{memory.lake.root}-tape.sqlite")
    tape.begin("D-live", question | {"trigger": "alert"})
    tape.begin("D-morning", question | {"text": MORNING, "trigger": "schedule"})
    reply = {"text": BRIEF, "calls": []}
    asyncio.run(tape.lane("D-morning").once("model", "", partial(_said, json.dumps(reply))))
    tape.add_receipt("D-morning", json.dumps(RECEIPT))
    lane = tape.lane("D-live")
    for step in STEPS:
        asyncio.run(lane.once("tool", step[:2], partial(_said, step[2])))
    memory.close()


def _judged(memory):
    code = turn(memory, "code", actor="code")
    chance, result = random.Random(5), []
    for number in range(240):
        message = round(chance.uniform(0.05, 0.95), 2)
        status = "came_true" if chance.random() < 0.15 + 0.7 * message else "failed"
        result.append(replace(SETTLED, id=f"S-{number + 1:03d}", probability=message, status=status))
    wrote(code, "/memory/calibration/macro_regime.md", measure_category("macro_regime", result), "measured")
    wrote(code, "/memory/counterfactuals/new.md", UNTAKEN, "untaken")
    wrote(code, "/memory/outcomes/new.md", CLOSED, "closed")
    wrote(code, "/memory/proposals/new.md", CHANGE, "change")


async def _said(text):
    return text


def windows(base, shapes=SHAPES, colours=(False, True)):
    """Yield the names of window and page, and the browser that shows it, for each page in each window."""
    for name, size in shapes:
        for dark in colours:
            with browsing(size, dark=dark) as browser:
                for page, address in PAGES.items():
                    browser.go(base + address)
                    yield f"{name}-{'dark' if dark else 'light'}", page, browser


def pictures(lake, folder, *only):
    """Save the pictures, and return the exit code."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    with shown(lake) as base:
        for window, page, browser in windows(base, SHAPES[:1] if only else SHAPES, (False,) if only else (False, True)):
            if not only:
                browser.picture(Path(folder) / f"{page}-{window}.png", TALLEST)
            elif page in only:
                browser.picture(Path(folder) / f"{page}.png", DESKTOP[1])
    return 0


def axe(lake, script):
    """Print axe-core's findings. Return 1 if any of them is serious."""
    serious, text = 0, Path(script).read_text()
    with shown(lake) as base:
        for window, page, browser in windows(base):
            browser.run(text + "; return 1")
            for impact, name, place in browser.run(RUN_AXE, waits=True):
                print(f"{window} {page}: {impact} {name}: {place}")
                serious += impact in ("serious", "critical")
    print(f"{len(PAGES)} pages, each light and dark, on a desktop and on a phone: {serious} serious faults")
    return 1 if serious else 0


T0 = datetime(2024, 4, 1, 15, tzinfo=timezone.utc)
BOOK = Portfolio(
    id="state",
    gross=142.0,
    net=38.0,
    duration=3.4,
    factor_exposures={"semis": 21.0, "rates": 12.0},
    positions=(Position(expression="E-001", notional=12.0, factor_exposures={"semis": 12.0}),),
)
VIEWS = (
    ("Data centre orders outrun supply through 2024", "thematic", 0.5),
    ("Credit costs of large banks rise", "macro_regime", 0.6),
    ("Term premium keeps falling", "relative_value", 0.61),
)
VIEW = View(
    id="new",
    scope="",
    category="thematic",
    confidence=0.5,
    status="active",
    horizon="6 months",
    scenarios=(Scenario(name="goes on", probability=0.55), Scenario(name="slows", probability=0.45)),
    settles=Settles(query="entity_latest_price", params={"ticker": "QBRY"}, rule="close > 1150", by=date(2024, 11, 30)),
    invalidation=(Invalidation(condition="Gross margin under 70 % in one quarter."),),
    body="## SUMMARY\n\nOrders outrun supply into the second half.",
)
TRADE = Expression(
    id="new",
    view_id="V-001",
    category="thematic",
    instrument="QBRY",
    status="proposed",
    direction="long",
    max_loss_pct=1.2,
    notional=12.0,
    duration_impact=0.0,
    factor_exposures={"semis": 6.0},
    entry_details="At the open.",
    target="1150",
    stop="780",
)
SETTLED = Settlement(
    id="S-001",
    view="V-001",
    category="macro_regime",
    probability=0.5,
    status="failed",
    by=date(2024, 4, 30),
    stated_at=T0,
    asked_as_of=T0,
    exposure="clean",
)
PATH = (0.0, 0.004, -0.006, -0.011, -0.009, -0.021, -0.018, -0.024)
UNTAKEN = Counterfactual(
    id="new",
    decision_type="rejected_expression",
    view="V-003",
    reason="crowded: three funds hold the same",
    reference_date=T0,
    entry_price=91.5,
    total_return=PATH[-1],
    marks=tuple(Mark(day=date(2024, 4, 2 + place), value=value) for place, value in enumerate(PATH)),
)
CLOSED = Outcome(id="new", view="V-002", expression="E-001", status="target", closed_at=T0, pnl=0.84)
CHANGE = Proposal(
    id="new",
    skill="view-validation",
    file="SKILL.md",
    author="agent",
    sha256="7c1e4b" + "0" * 58,
    links=("PK-021", "PK-024"),
    body="+ Ask what would have to be true for the opposite, after two downgrades in a row.",
)
MORNING = "Morning review — 2024-05-29.\nBudget: ~8 analyses."
BRIEF = "V-001 stands: the quarter was above its rule. E-002 is drafted from V-002 and waits for you."
RECEIPT = {"exposure": "clean", "market": 21, "memory": 3, "models": {"scripted-1": "2023-12-31"}, "end": "stop"}
RECEIPT |= {"prompt": "9b1c", "skills": "7e02", "journal": [31, "c41e"], "answer": "90ab"}
STEPS = (
    ("fetch", {"source": "news", "ticker": "QBRY"}, "3 rows, newest public since 28 May 2024 16:21"),
    ("read", {"path": "/memory/views/V-001.md", "depth": "full"}, "41 lines"),
    ("dispatch", {"id": "sa_growth", "skill": "view-validation"}, "queued"),
)

if __name__ == "__main__":
    sys.exit({"axe": axe, "pictures": pictures}[sys.argv[1]](*sys.argv[2:]))
