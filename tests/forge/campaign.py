"""Campaigns on memory. truth: each (path, T) reads the same from the lake, the journal, both, and a journal cut at T.
kills: a writer is killed at random steps and restarted. races: two sessions write one View. fuzz: `write` receives
hostile arguments. Run as a program, this module writes the memory of a folder and prints a line after each step.
"""

import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from forge.agent.tools.write import WriteTool
from forge.core.errors import Stale
from forge.fs import ForgeFS
from forge.memory import Memory
from forge.records import render
from pitlake.clock import from_micros
from tests.forge.world import BOOK, NEW_EXPRESSION, NEW_VIEW, cut, desk, history, now, shown, turn, wrote
from tests.tally import Tally

PAIRS, KILLS, RACES, CALLS = 2_000, 10, 100, 1_000  # per share
WRITES = 300
STEPS = 12


def compared(scratch: Path, pairs: int, seed: int = 0) -> list[str]:
    """Compare at least `pairs` pairs of a path and T; return the differences. Deterministic in `seed`."""
    rng, done, wrong = random.Random(f"truth/{seed}"), 0, []
    part, stamps = history(scratch / "part", WRITES, seed)
    unflushed = Memory(scratch / "nowhere", scratch / "part" / "journal.sqlite", part.journal.clock)
    for number in range(pairs):
        at = from_micros(rng.choice(stamps) + rng.choice((-1, 0, 0, 1)))
        event, session = rng.choice(("", "E")), f"s{rng.randrange(5)}"
        ended = cut(part, scratch / f"cut-{number}", int(at.timestamp() * 10**6))
        question = {"session": session, "event": event}
        answers = [shown(each.hydrate(at, **question)) for each in (ended, unflushed, part)]
        if number % 2:
            part.flush()
            answers.append(shown(part.hydrate(at, version=part.lake.head(), **question)))
        ended.close()
        paths = {path for answer in answers for path in answer} | {"/memory/views/V-001.md"}
        wrong += [f"{path} as of {at}" for path in paths if len({str(each.get(path)) for each in answers}) > 1]
        done += len(paths) * (len(answers) - 1)
        if done >= pairs:
            break
    return wrong


def steps(root: Path) -> Iterator[None]:
    """Yield after each step of a desk's work: views, expressions, closes, flushes. Runs use the same call ids."""
    memory = Memory(root / "forge")
    wrote(turn(memory, "pm", actor="pm"), "/portfolio/state.md", BOOK, "book")
    yield
    for number in range(STEPS):
        tool = WriteTool(turn(memory, f"s{number}"))
        tool.execute("/memory/views/new.md", render(replace(NEW_VIEW, body=f"step {number}")), call_id="view")
        yield
        fs = turn(memory, f"s{number}", at=now())
        name = next(row.path for row in memory.journal.rows() if row.session == f"s{number}")[-8:-3]
        existing = (row.path for row in memory.journal.rows() if (row.session, row.call_id) == (f"s{number}", "open"))
        path = next(existing, "") or wrote(
            fs,
            "/memory/expressions/new.md",
            replace(NEW_EXPRESSION, status="proposed", view_id=name, body=f"step {number}"),
            "open",
        )
        yield
        fs = turn(memory, f"s{number}", at=now(), actor="code")
        closed = replace(NEW_EXPRESSION, id=path[-8:-3], view_id=name, status="closed", body=f"step {number}")
        fs.write_file(path, render(closed), call_id="close")
        yield
        if number % 3 == 0:
            memory.flush()
            yield
    memory.flush()


def killed(root: Path, kills: int, seed: int = 0) -> list[str]:
    """Kill the desk's work `kills` times, then wait for its end. Return the faults in its memory."""
    rng = random.Random(f"kills/{seed}")
    for _ in range(kills):
        child = _child(root)
        for _ in range(rng.randrange(1, 3 * STEPS)):
            if not child.stdout or not child.stdout.readline():
                break
        time.sleep(rng.random() * 0.05)
        child.kill()
        child.wait()
        if child.stdout:
            child.stdout.close()
    last = _child(root)
    last.communicate()
    memory = Memory(root / "forge")
    rows = memory.journal.rows()
    wrong = [] if last.returncode == 0 else [f"the last run ended with {last.returncode}"]
    wrong += [f"{fault}" for fault in memory.audit()]
    counts = Counter(row.kind for row in rows)
    due = {"portfolio": 1, "views": STEPS, "expressions": 2 * STEPS, "outcomes": STEPS}
    wrong += [f"{kind}: {counts[kind]} rows, not {count}" for kind, count in due.items() if counts[kind] != count]
    at = now()
    with_lake = shown(memory.hydrate(at, version=memory.lake.head()))
    without = shown(Memory(root / "nowhere", root / "forge-journal.sqlite").hydrate(at))
    return wrong + ([] if with_lake == without else ["lake and journal differ"])


def _child(root: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.forge.campaign", str(root)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def raced(root: Path, races: int) -> list[str]:
    """Make two sessions read one View and write it at the same time. Return what went wrong."""
    memories = [Memory(root / "forge"), Memory(root / "forge")]
    wrote(turn(memories[0], "first"), "/memory/views/new.md", NEW_VIEW, "view")
    wrong = []
    for number in range(races):
        at = now()
        sides = [turn(memory, f"side {side}", at=at) for side, memory in enumerate(memories)]
        ended: list[str] = ["", ""]
        start = threading.Barrier(2)

        def race(side: int, fs: ForgeFS, number: int = number, ended: list[str] = ended, start: Any = start) -> None:
            start.wait()
            text = render(replace(NEW_VIEW, id="V-001", body=f"race {number} of {side}"))
            try:
                fs.write_file("/memory/views/V-001.md", text, call_id=f"race {number}")
                ended[side] = "won"
            except Stale:
                ended[side] = "lost"

        threads = [threading.Thread(target=race, args=(side, fs)) for side, fs in enumerate(sides)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        newest = turn(memories[0], at=now()).read_file("/memory/views/V-001.md")
        if sorted(ended) != ["lost", "won"] or f"race {number} of {ended.index('won')}" not in newest:
            wrong.append(f"race {number}: {ended}")
    count = len(memories[0].journal.rows())
    return wrong + ([] if count == races + 1 else [f"{count} rows of {races + 1}"])


def fuzzed(root: Path, count: int, seed: int = 0) -> list[str]:
    """Pass hostile arguments to `write`; return unexpected answers, and paths outside the writable folders."""
    rng, memory = random.Random(f"fuzz/{seed}"), Memory(root / "forge")
    tool, wrong = WriteTool(desk(memory)), []
    files = {path for path in root.rglob("*") if path.is_file()}
    for number in range(count):
        path = (
            rng.choice((None, 5, b"/memory/", [], {}, object(), True, float("nan")))
            if rng.random() < 0.1
            else (rng.choice(_ROOTS) + "/".join(rng.choice(_ODD) for _ in range(rng.randrange(1, 4))))
        )
        content = _hostile_content(rng)
        try:
            answer = tool.execute(path, content, call_id=f"{number}")
        except Exception as problem:  # noqa: BLE001 - any exception is a failure
            answer = problem
        if not isinstance(answer, str) or not answer.startswith(("Written: ", "Not written. ", "GUARDRAIL VIOLATIONS")):
            wrong.append(f"{path!r}, {str(content)[:80]!r}: {answer!r}")
    agents = [row.path for row in memory.journal.rows() if row.actor == "agent"]
    wrong += [f"wrote {path}" for path in agents if not path.startswith(("/memory/", "/session/s/", "/session/first/"))]
    fresh = {path for path in root.rglob("*") if path.is_file()} - files
    return wrong + [f"made {path}" for path in fresh if not path.name.startswith("forge-journal.sqlite")]


_ODD = (
    "..", ".", "", "\x00", "\ud800", "\u202e", "a" * 5000, "%2e%2e", "\\", "~", "new.md", "V-001.md", "É", "'; DROP",
    "-",
)  # fmt: skip
_ROOTS = (
    "/memory/", "/memory/views/", "/memory/expressions/", "/session/", "/skills/", "/portfolio/", "/", "", "/etc/",
)  # fmt: skip


def _hostile_content(rng: random.Random) -> Any:
    if rng.random() < 0.1:
        return rng.choice((None, 5, b"x", [], {}, object(), True))
    text = render(
        rng.choice((NEW_VIEW, replace(NEW_VIEW, id="V-001"), NEW_EXPRESSION, replace(NEW_EXPRESSION, id="E-001")))
    )
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(text) + 1)
        odd = rng.choice(
            (*_ODD, "\n", "---\n", ": ", '{"daily_return": 1}', "[" * 3000, "1e999", "NaN", "١", "\r", "\u2028")
        )
        text = text[:at] + odd + text[at + rng.randrange(20) :]
    return text


def truth(seed: int, folder: Path) -> Tally:
    """Compare memory as of random instants with a memory that ends there."""
    return Tally(PAIRS, failures=compared(folder, PAIRS, seed))


def kills(seed: int, folder: Path) -> Tally:
    """Kill a writer at random steps."""
    return Tally(KILLS, failures=killed(folder, KILLS, seed))


def races(_seed: int, folder: Path) -> Tally:
    """Make two sessions write one View at the same time."""
    return Tally(RACES, failures=raced(folder, RACES))


def fuzz(seed: int, folder: Path) -> Tally:
    """Pass hostile arguments to `write`."""
    return Tally(CALLS, failures=fuzzed(folder, CALLS, seed))


if __name__ == "__main__":
    for _ in steps(Path(sys.argv[1])):
        print("step", flush=True)
