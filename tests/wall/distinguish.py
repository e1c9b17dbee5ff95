"""The two-worlds test: an attack leaks when its answer holds a canary, or differs between worlds that differ after T.

It needs no list of what a leak looks like, so any statement can be thrown at it. Statements whose answers differ
between the worlds, and also between two runs in one of them (random numbers, clocks), are counted as noise and judged
by canaries alone.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tests.wall.worlds import CANARY, World, restored

FUTURES = (1, 2)


class Runner(Protocol):
    """Something that answers statements as of T over a world."""

    def run(self, sql: str) -> str:
        """The answer, or the error, as text."""

    def close(self) -> None:
        """Give everything back."""


OpenRunner = Callable[[World], Runner]
Aim = Callable[[World], Iterable[tuple[str, str]]]


@dataclass
class Finding:
    """What got through: `kind` is value, oracle or write."""

    kind: str
    name: str
    sql: str


@dataclass
class Report:
    """What a campaign found."""

    statements: int = 0
    answered: int = 0
    noisy: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def of(self, kind: str) -> list[Finding]:
        """The findings of one kind."""
        return [finding for finding in self.findings if finding.kind == kind]


def digest(root: Path) -> str:
    """One digest over every path, size and content below a folder."""
    total = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        total.update(f"{path.relative_to(root)}\0".encode())
        if path.is_file():
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def distinguish(root: Path, open_runner: OpenRunner, aim: Aim, *, a_session: int = 1) -> Report:
    """Run every (name, statement) of `aim` in both worlds, `a_session` statements a runner; where any answer differs,
    all of them once more in the first.
    """
    report = Report()
    first, other = (_run_all(root, future, open_runner, aim, report, a_session) for future in FUTURES)
    differ = any(_steady(answer) != _steady(other[name]) for name, answer in first.items())
    again = _run_all(root, FUTURES[0], open_runner, aim, report, a_session) if differ else first
    for name in first:
        _judge(report, name, first[name], again[name], other[name])
    report.statements = len(first)
    return report


def rebuilt(root: Path, future: int) -> tuple[World, str]:
    """A world in place of whatever was there, and its digest."""
    world = restored(root, future)
    return world, digest(root)


def _run_all(
    root: Path, future: int, open_runner: OpenRunner, aim: Aim, report: Report, a_session: int
) -> dict[str, str]:
    found: dict[str, str] = {}
    world, before = rebuilt(root, future)
    for batch in batched(list(aim(world)), a_session):
        runner = open_runner(world)
        try:
            found.update((name, f"{sql}\0{runner.run(sql)}") for name, sql in batch)
        finally:
            runner.close()
        if digest(root) != before:
            report.findings.append(Finding("write", batch[0][0], batch[0][1]))
            world, before = rebuilt(root, future)
    return found


def batched(items: list[tuple[str, str]], size: int) -> Iterator[list[tuple[str, str]]]:
    """Consecutive slices of a list."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _judge(report: Report, name: str, first: str, again: str, other: str) -> None:
    sql, answer = first.split("\0", 1)
    if not (again.startswith(f"{sql}\0") and other.startswith(f"{sql}\0")):
        raise AssertionError(f"{name} is not the same statement in every world")
    report.answered += not answer.startswith("error")
    if any(CANARY in text.split("\0", 1)[1].replace(sql, "") for text in (first, other)):
        report.findings.append(Finding("value", name, sql))
    if _steady(first) != _steady(again):
        report.noisy.append(name)
    elif _steady(first) != _steady(other):
        report.findings.append(Finding("oracle", name, sql))


def _steady(text: str) -> str:
    """Timings of plans and addresses in messages aside."""
    return re.sub(r"0x[0-9a-f]+|\d+\.\d+ ?m?s\b", "#", text)
