"""The two-worlds test: an attack leaks if its answer contains a canary, or differs in worlds that differ only after T.

It needs no list of what leaks look like, so it can judge any statement. A statement whose answer also differs between
two runs in the same world (random numbers, clocks) counts as noise and is judged by canaries alone. The same holds
for a few statements whose most frequent answers are equal in both worlds although two single answers differed (the
memory in use, which differs in about one run in a hundred).
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
FEW = 5  # up to so many statements may differ by accident
RUNS = 9


class Runner(Protocol):
    """An object that answers statements as of T over a world."""

    def run(self, sql: str) -> str:
        """Return the answer or the error as text."""

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
    """A tally of statements whose failures are the findings; `counts` has the statements judged by canaries alone."""

    def of(self, kind: str) -> list[Finding]:
        """Return the findings of one kind."""
        return [finding for finding in self.failures if finding.kind == kind]

    @property
    def noisy(self) -> list[str]:
        """Return the names of the statements whose answers vary between runs; they are judged by canaries alone."""
        return [name.removeprefix(NOISY) for name in self.counts]


def digest(root: Path) -> str:
    """Return one digest of all paths and contents below a folder."""
    total = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        total.update(f"{path.relative_to(root)}\0".encode())
        if path.is_file():
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def distinguish(
    root: Path, open_runner: OpenRunner, aim: Aim, *, a_session: int = 1, masters: Sequence[Master] = ()
) -> Report:
    """Run every (name, statement) of `aim` in both worlds, `a_session` statements per runner. If any answer differs,
    run all of them again in the first world. masters: the worlds, by default the built-in ones.
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
    """Return the most frequent answer to each statement in a world, after the same earlier statements per session."""

    def asked_again(world: World) -> Iterator[tuple[str, str]]:
        for batch in batched(list(aim(world)), a_session):
            if any(name in names for name, _ in batch):
                yield from batch

    runs = [_run_all(root, master, open_runner, asked_again, report, a_session) for _ in range(RUNS)]
    return {name: Counter(_steady(run[name]) for run in runs).most_common(1)[0][0] for name in names}


def rebuilt(root: Path, master: Master) -> tuple[World, str]:
    """Restore a world, replacing anything there, and return it with its digest."""
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
    """Yield consecutive slices of a list."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _judged(report: Report, name: str, first: str, again: str, other: str) -> bool:
    """Record canaries and noise. Return whether the worlds differ while two runs in the same world do not."""
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
    """Replace the timings in plans and the addresses in messages."""
    return re.sub(r"0x[0-9a-f]+|\d+\.\d+ ?m?s\b", "#", text)
