"""The two-worlds test: an attack leaks when its answer holds a canary, or differs between worlds that differ after T.

It needs no list of what a leak looks like, so any statement can be thrown at it. Statements whose answers differ
between the worlds, and also between two runs in one of them (random numbers, clocks), are counted as noise and judged
by canaries alone; so are the few that differ between the worlds once, but not in what they answer most often (how much
memory is in use, which one run in some hundred tells otherwise).
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.tally import Tally
from tests.wall.worlds import CANARY, Master, World, built, restored

FUTURES = (1, 2)
FEW = 5  # statements that differ may be an accident, more can't
RUNS = 9


class Runner(Protocol):
    """An object that answers statements as of T over a world."""

    def run(self, sql: str) -> str:
        """The answer, or the error, as text."""

    def close(self) -> None:
        """Release everything."""


NOISY = "judged by canaries alone: "
OpenRunner = Callable[[World], Runner]
Aim = Callable[[World], Iterable[tuple[str, str]]]


@dataclass
class Finding:
    """A successful attack: `kind` is value, oracle or write."""

    kind: str
    name: str
    sql: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.sql}"


class Report(Tally):
    """Statements that were compared, with the findings as failures; `counts` has those judged by canaries alone."""

    def of(self, kind: str) -> list[Finding]:
        """Return the findings of one kind."""
        return [finding for finding in self.failures if finding.kind == kind]

    @property
    def noisy(self) -> list[str]:
        """Return the names of statements whose answers differ by themselves, and so are judged by canaries alone."""
        return [name.removeprefix(NOISY) for name in self.counts]


def digest(root: Path) -> str:
    """One digest over every path, size and content below a folder."""
    total = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        total.update(f"{path.relative_to(root)}\0".encode())
        if path.is_file():
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def distinguish(
    root: Path, open_runner: OpenRunner, aim: Aim, *, a_session: int = 1, masters: Sequence[Master] = ()
) -> Report:
    """Run every (name, statement) of `aim` in both worlds, `a_session` statements a runner; where any answer differs,
    all of them once more in the first. masters: the worlds, by default the built-in ones.
    """
    report, masters = Report(), masters or [built(future) for future in FUTURES]
    first, other = (_run_all(root, master, open_runner, aim, report, a_session) for master in masters)
    differ = any(_steady(answer) != _steady(other[name]) for name, answer in first.items())
    again = _run_all(root, masters[0], open_runner, aim, report, a_session) if differ else first
    result = [name for name in first if _judged(report, name, first[name], again[name], other[name])]
    if 0 < len(result) <= FEW:
        usual = [_usual(root, master, open_runner, aim, report, a_session, set(result)) for master in masters]
        report.counts.update(f"{NOISY}{name}" for name in result if usual[0][name] == usual[1][name])
        result = [name for name in result if usual[0][name] != usual[1][name]]
    report.failures += [Finding("oracle", name, first[name].split("\0", 1)[0]) for name in result]
    report.compared = len(first)
    return report


def _usual(
    root: Path, master: Master, open_runner: OpenRunner, aim: Aim, report: Report, a_session: int, names: set[str]
) -> dict[str, str]:
    """What these statements answer most often in one world, asked in sessions with the same others before them."""

    def asked_again(world: World) -> Iterator[tuple[str, str]]:
        for batch in batched(list(aim(world)), a_session):
            if any(name in names for name, _ in batch):
                yield from batch

    runs = [_run_all(root, master, open_runner, asked_again, report, a_session) for _ in range(RUNS)]
    return {name: Counter(_steady(run[name]) for run in runs).most_common(1)[0][0] for name in names}


def rebuilt(root: Path, master: Master) -> tuple[World, str]:
    """Restore a world in place of whatever was there, and return its digest."""
    world = restored(root, master)
    return world, digest(root)


def _run_all(
    root: Path, master: Master, open_runner: OpenRunner, aim: Aim, report: Report, a_session: int
) -> dict[str, str]:
    result: dict[str, str] = {}
    world, before = rebuilt(root, master)
    for batch in batched(list(aim(world)), a_session):
        runner = open_runner(world)
        try:
            result.update((name, f"{sql}\0{runner.run(sql)}") for name, sql in batch)
        finally:
            runner.close()
        if digest(root) != before:
            report.failures.append(Finding("write", batch[0][0], batch[0][1]))
            world, before = rebuilt(root, master)
    return result


def batched(items: list[tuple[str, str]], size: int) -> Iterator[list[tuple[str, str]]]:
    """Consecutive slices of a list."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _judged(report: Report, name: str, first: str, again: str, other: str) -> bool:
    """Take note of what answers show. Whether the worlds differ, and two runs in one of them do not."""
    sql, answer = first.split("\0", 1)
    if not (again.startswith(f"{sql}\0") and other.startswith(f"{sql}\0")):
        raise AssertionError(f"{name} is not the same statement in every world")
    report.answered += not answer.startswith("error")
    if any(CANARY in text.split("\0", 1)[1].replace(sql, "") for text in (first, other)):
        report.failures.append(Finding("value", name, sql))
    if _steady(first) != _steady(again):
        report.counts[f"{NOISY}{name}"] += 1
        return False
    return _steady(first) != _steady(other)


def _steady(text: str) -> str:
    """Timings of plans and addresses in messages aside."""
    return re.sub(r"0x[0-9a-f]+|\d+\.\d+ ?m?s\b", "#", text)
