"""The work of the campaign's processes on a toy lake, and the visible content of such a lake.

Processes are forked from a server that has imported everything but used nothing, so that they start immediately.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pitlake import clock
from pitlake.errors import PitlakeError
from pitlake.lake import Lake
from pitlake.lake.publishing.stage import STAGING, StagedGap
from pitlake.session.contracts import Catalogue
from tests.lake.world import TOY, Toy, gaps, publish, rows, utc
from tests.processes import kill_at
from tests.session.toylake import view_of
from tests.sessions import open_at

NOON, SEEN = utc("2024-03-05T12:00:00-05:00"), utc("2024-09-01T12:00:00-04:00")
CATALOGUE = Catalogue({TOY.name: TOY}, {TOY.name: view_of(TOY)})
AS_OF = tuple(utc(text) for text in ("2024-03-20T00:00:00Z", "2024-05-01T00:00:00Z", "2025-12-01T00:00:00Z"))
QUESTION = "SELECT key, text, available_at FROM toys_revisions ORDER BY ALL"
STUCK_SECONDS = 120.0
KILLED = -signal.SIGKILL

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__])


def day(lake: Lake, number: int) -> None:
    """Publish one day: a new row, a row that changes each day, and a gap."""
    toys = [Toy(f"own {number}", "x", NOON + timedelta(days=number % 60)), Toy("changing", str(number), NOON)]
    publish(lake, toys, _seen(number), {NOON.date(): [StagedGap("no_data", "no text", f"Toy:{number}")]})


def backfill(lake: Lake, number: int) -> None:
    """Publish many days in one run."""
    toys = [Toy(f"{number} of {offset}", "x" * 400, NOON + timedelta(days=offset)) for offset in range(90)]
    publish(lake, toys, _seen(number))


def compaction(lake: Lake, _number: int) -> None:
    """Compact every closed month."""
    lake.compact(TOY, before="2025-12")


def vacuuming(lake: Lake, _number: int) -> None:
    """Vacuum all but the newest version and what receipts need, after a compaction."""
    lake.compact(TOY, before="2025-12")
    lake.vacuum(timedelta(0), grace=timedelta(0), dry_run=False)


def receipt(lake: Lake, _number: int) -> None:
    """Keep the receipt of a question."""
    with _asking(lake, AS_OF[1]) as session:
        session.sql(QUESTION).keep(lake)


WORK: dict[str, Callable[[Lake, int], None]] = {
    work.__name__: work for work in (day, backfill, compaction, vacuuming, receipt)
}


def shown(root: str) -> dict[str, Any]:
    """Return the content of the newest version: stored rows and gaps, answers of sealed sessions, and leftovers."""
    lake, staging = Lake(root), Path(root) / STAGING
    answers = []
    for as_of in AS_OF:
        with _asking(lake, as_of) as session:
            answers.append(session.sql(QUESTION).arrow().to_pylist())
    remaining = sorted(map(str, gaps(lake)))
    return {
        "rows": [row._replace(observed_at=NOON) for row in rows(lake)],
        "twice": len(rows(lake)) - len({(row.key, row.text, row.available_at) for row in rows(lake)}),
        "gaps": remaining,
        "answers": answers,
        "staged": sorted(path.name for path in staging.iterdir()) if staging.is_dir() else [],
    }


def run(work: str, root: str, *arguments: Any, kill: "tuple[Any, ...] | float | None" = None) -> tuple[int, Any]:
    """Run a function of this module in a separate process; return its exit code and its result, or the error it raised.

    kill: the time in seconds after the start, or a call (owner, name, number of the call, "before" or "after").
    A process that does not end is killed, and TimeoutError is raised.
    """
    here, there = _context.Pipe(duplex=False)
    process = _context.Process(
        target=_child, args=(there, work, root, arguments, kill if isinstance(kill, tuple) else None)
    )
    process.start()
    there.close()
    reply: Any = None
    if isinstance(kill, float):
        process.join(kill)
        process.kill()
    try:
        if here.poll(STUCK_SECONDS):
            reply = here.recv()
    except EOFError:
        pass
    process.join(STUCK_SECONDS)
    if process.exitcode is None:
        process.kill()
        raise TimeoutError(f"{work} did not end")
    return process.exitcode, reply


def _child(reply: Any, work: str, root: str, arguments: tuple[Any, ...], kill: tuple[Any, ...] | None) -> None:
    if kill is not None:
        kill_at(*kill)
    try:
        result = WORK[work](Lake(root), *arguments) if work in WORK else globals()[work](root, *arguments)
    except PitlakeError as problem:
        result = problem
    reply.send(result)
    reply.close()
    os._exit(0)


def behind(root: str, number: int, seconds: float) -> None:
    """Run a day on a machine whose clock is behind."""
    now = clock.now
    clock.now = lambda: now() - timedelta(seconds=seconds)
    day(Lake(root), number)


def _seen(number: int) -> datetime:
    return SEEN + timedelta(hours=number)


def _asking(lake: Lake, as_of: datetime) -> Any:
    return open_at(lake.snapshot(), as_of, catalogue=CATALOGUE)
