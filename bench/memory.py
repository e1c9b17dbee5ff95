"""The cost of Forge's memory: an append against a publish of one row, and hydrating against opening a session. Appends
and publishes alternate on one disk. The hydrated records were published in batches.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from bench.figures import Figure, figure
from forge.datasets import MEMORY, contracts
from forge.memory import Memory, WriteCall, Writing
from forge.memory.flush import open_session, staged_table
from forge.memory.journal import Journal
from pitlake.lake.lake import Lake

APPENDS_A_ROUND = 10
FULL = {"rounds": 100, "records": 10_000}
TEXT = "# V-001\nscope: us_rates\n---\n\n" + "Growth slows as credit widens. " * 25


def run(rounds: int = 20, records: int = 10_000) -> list[Figure]:
    """Return both figures, each against its baseline."""
    with tempfile.TemporaryDirectory(prefix="forge-bench-") as scratch:
        return [_appends(Path(scratch) / "one", rounds), _hydrates(Path(scratch) / "all", records)]


def _appends(root: Path, rounds: int) -> Figure:
    memory, lake = Memory(root / "memory"), Lake(root / "rows")
    appends, publishes = [], []
    for number in range(rounds):
        for part in range(APPENDS_A_ROUND):
            call = WriteCall(actor="agent", session="bench", call_id=f"{number}/{part}")
            appends.append(_seconds(lambda call=call: memory.journal.append("/session/bench/a.md", TEXT, call)))
        publishes.append(_seconds(lambda: _publish(memory.journal, lake)))
    slowest, usual = statistics.quantiles(appends, n=20)[-1], statistics.median(publishes)
    return figure(
        "append to the journal, p95",
        slowest * 1e3,
        "ms",
        baseline=f"publish of one row, p50 {usual * 1e3:.0f} ms",
        ratio=slowest / usual,
        aim="≤ 0.05",
    )


def _publish(journal: Journal, lake: Lake) -> None:
    newest = journal.rows(journal.head()[0] - 1)
    with lake.stage(contracts()[MEMORY], f"row-{newest[0].seq}") as stage:
        stage.add(None, staged_table(newest, journal), extracted=1)
        assert lake.publish(stage).changed


def _hydrates(root: Path, records: int, rounds: int = 5) -> Figure:
    memory = Memory(root)

    def work(writing: Writing) -> None:
        for number in range(records):
            writing.put(f"/session/bench/{number}.md", f"{TEXT}{number}")

    memory.journal.write(WriteCall(actor="agent", session="bench", call_id="all"), work)
    memory.flush()
    hydrated, sessions = [], []
    for _ in range(rounds):
        at = datetime.now(timezone.utc)
        sessions.append(_seconds(lambda at=at: open_session(memory.lake, at).close()))
        hydrated.append(_seconds(lambda at=at: memory.hydrate(at, session="bench")))
    ours, opening = statistics.median(hydrated), statistics.median(sessions)
    return figure(
        f"hydrate {records:,} records",
        ours * 1e3,
        "ms",
        baseline=f"opening a session, {opening * 1e3:.0f} ms",
        ratio=ours / opening,
        aim="≤ 5",
    )


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
