"""Attacks on sealed sessions over whole tables, which must not reach anything outside.

Outside are files and an environment variable with a canary, and a port that records its callers.
"""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq

import pitlake
from pitlake.errors import LimitExceeded, SessionLost
from pitlake.session import Limits, Session
from tests.wall import attacks, fuzz
from tests.wall.distinguish import Finding, Report, digest
from tests.wall.sealed import answer_text
from tests.wall.worlds import T, World

CANARY = "CANARYOUTSIDE"
NAME, LIMITS = "own", Limits(seconds=20.0)
STATEMENTS, EVERY, A_SESSION = 320, 8, 40
ROWS = pa.table({
    "evidence": ["a", "b", "c"],
    "available_at": pa.array([T, T, None], pa.timestamp("us", "UTC")),
    "value": [1.5, None, 3.0],
})  # fmt: skip


def attack(seed: int, scratch: Path, count: int = STATEMENTS, every: int = EVERY) -> Report:
    """Attack sessions over two tables. count: the number of generated statements. every: run one in `every` of the
    written attacks, and one in `10 * every` of the function calls.
    """
    outside = scratch / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text(CANARY)
    pq.write_table(pa.table({"evidence": [CANARY], "available_at": [T]}), outside / "secret.parquet")
    before, report = digest(outside), Report()
    os.environ["PITLAKE_CANARY"] = CANARY
    with listening() as (port, callers):
        question = [*statements(outside, port, seed, count, every)]
        for start in range(0, len(question), A_SESSION):
            ask(question[start : start + A_SESSION], report)
        report.failures += [Finding("call", f"port {port}", caller) for caller in callers]
    if digest(outside) != before:
        report.failures.append(Finding("write", str(outside), "one of these statements"))
    return report


def statements(outside: Path, port: int, seed: int, count: int, every: int) -> Iterator[tuple[str, str]]:
    """Yield written attacks, function calls and generated statements, all aimed at the files outside."""
    secret = str(outside / "secret.parquet")
    files = [SimpleNamespace(path=secret, lo=at, hi=at) for at in (T, T + timedelta(days=1))]
    world = World(outside, SimpleNamespace(files=lambda _: files))
    output = [(attack.name, attack.sql) for attack in attacks.load(world, NAME, port=port)]
    yield from output[seed % every :: every]
    yield from [*fuzz.called(world, NAME)][seed % (10 * every) :: 10 * every]
    paths = [secret, str(outside / "secret.txt"), str(outside / "new.parquet")]
    yield from fuzz.generated(world, count, seed * count, paths, {NAME: ROWS.column_names})


def ask(question: list[tuple[str, str]], report: Report) -> None:
    """Run statements in one session, reopened after a loss, and record those whose answer contains the canary."""
    session = opened()
    for name, sql in question:
        answer, error = answer_text(session, sql)
        report.compared += 1
        report.answered += error is None
        if CANARY in answer:
            report.failures.append(Finding("value", name, sql))
        if isinstance(error, SessionLost | LimitExceeded):
            session.close()
            session = opened()
    session.close()


def opened() -> Session:
    """Open a session over the tables in the statements."""
    return pitlake.sealed({NAME: ROWS, f"{NAME}_revisions": ROWS}, limits=LIMITS)


@contextmanager
def listening() -> Iterator[tuple[int, list[str]]]:
    """Listen on a local port, and yield it with the list of its callers."""
    callers: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, caller = server.accept()
                    connection.close()
                    callers.append(str(caller))

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1], callers
