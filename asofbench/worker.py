"""Asks the systems of one family every question, in a separate process and the environment they are installed in. The
core therefore imports only the standard library. Writes one JSON file per system. The output of a system during a
question goes into the reply's log.
"""

import argparse
import json
import os
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any

from asofbench.adapters.base import Adapter, Rows, Unable
from asofbench.generate import cases
from asofbench.large import NAME, Large, measured
from asofbench.model import NOW, Case, Question, Reply, read, told, written
from asofbench.remains import erased, words_of
from asofbench.systems import System, found

Entry = tuple[str, str, Question]


def main(arguments: list[str]) -> None:
    """Ask each named system about every world and class, or only the named ones."""
    parser = argparse.ArgumentParser(prog="asofbench.worker")
    parser.add_argument("--seed", required=True)
    parser.add_argument("--out", type=Path, required=True, help="an existing folder")
    parser.add_argument("--worlds", nargs="*", default=())
    parser.add_argument("--classes", nargs="*", default=())
    parser.add_argument("systems", nargs="+")
    options = parser.parse_args(arguments)
    for name in options.systems:
        started = time.monotonic()
        with output_kept() as log:
            apart = measured(found(name), Large(options.seed)) if NAME in options.classes else {}
            reply_list = list(replies(found(name), options.seed, options.worlds, log, options.classes))
        seconds = round(time.monotonic() - started, 1)
        replies_as_json = [[case, which, asdict(reply)] for case, which, reply in reply_list]
        content = {"seconds": seconds, "costs": log.costs, "large": apart, "replies": replies_as_json}
        (options.out / f"{slug(name)}.json").write_text(json.dumps(content, default=str))


def slug(name: str) -> str:
    """Return a system's name as a file name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def replies(
    system: System, seed: str, only: Sequence[str], log: "Log", classes: Sequence[str] = ()
) -> Iterator[tuple[str, str, Reply]]:
    """Yield all replies of one system: (case, asked | later | control | twin, reply)."""
    worlds: dict[str, list[Case]] = {}
    for case in cases(seed):
        if (not only or case.world in only) and (not classes or case.kind in classes):
            worlds.setdefault(case.world, []).append(case)
    for mine in worlds.values():
        yield from replies_about(system, mine, log)


def replies_about(system: System, mine: list[Case], log: "Log") -> Iterator[tuple[str, str, Reply]]:
    """Ask about one world twice: with its future at T, one instant later and now; and without its future at T."""
    ever = [row for case in mine for row in case.rows]
    plant = [row for case in mine for row in case.plant]
    there: list[Entry] = [(case.id, "asked", case.ask) for case in mine]
    there += [(case.id, "later", case.later) for case in mine]
    there += [(case.id, "control", case.control) for case in mine]
    yield from answers(system, [told(row) for row in (*ever, *plant)], there, log)
    yield from answers(system, [told(row) for row in ever], [(case.id, "twin", case.ask) for case in mine], log)


def answers(system: System, rows: Rows, questions: list[Entry], log: "Log") -> Iterator[tuple[str, str, Reply]]:
    """Load a fresh instance of the system and ask it. If loading fails, every question counts as refused."""
    kind = system.adapter_class()
    with tempfile.TemporaryDirectory(prefix="asofbench-") as folder:
        adapter: Adapter | None = None
        problem = ""
        try:
            with log.cost("load"):
                adapter = kind(Path(folder), system.options)
                adapter.load(sorted(rows, key=lambda row: str(row["loaded_at"])))
        except Exception:  # noqa: BLE001 - a refusal is whatever the system raises
            problem = f"could not load: {traceback.format_exc(limit=-2)}"
        now = written(datetime.now(timezone.utc))
        timed = [(case, which, _by_the_clock(question, now)) for case, which, question in questions]
        at, done = "", dict[Question, str]()
        log.costs["bytes"].append(sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()))
        for case, which, question in sorted(timed, key=_order):
            if problem or adapter is None:
                yield case, which, Reply(error=problem)
                continue
            with log.cost("question" if question.as_of == at else "instant"):
                reply = answer(adapter, question, log, rows, done)
            at = question.as_of
            yield case, which, reply
        log.beat()
        if adapter is not None:
            with suppress(Exception):
                adapter.close()


_CHANGING = ("retraction", "erasure", "hostile_session")


def _order(entry: Entry) -> tuple[int, str]:
    """By T, and after all others the questions that change the store; last of all the class that may damage it."""
    case, which, question = entry
    kind = case.partition("/")[0]
    is_changing = kind in _CHANGING and (which != "control" or kind == "hostile_session")
    return _CHANGING.index(kind) + 1 if is_changing else 0, question.as_of


def _by_the_clock(question: Question, now: str) -> Question:
    if question.as_of != NOW:
        return question
    spine = tuple((entity, item, now if at == NOW else at) for entity, item, at in question.spine)
    return replace(question, as_of=now, spine=spine, loaded_by=now if question.loaded_by else "")


def answer(adapter: Adapter, question: Question, log: "Log", rows: Rows, done: dict[Question, str]) -> Reply:
    """Ask one question, and capture the output meanwhile. rows: those that were loaded. done: what was withdrawn or
    erased before, and what is left of it in the files.
    """
    log.drop()
    change, files = Question(kind=question.kind, as_of="", statement=question.statement), ""
    try:
        if question.kind in ("retracted", "erased"):
            if change not in done:
                done[change] = changed(adapter, change, rows)
            question, files = replace(question, kind="rows", statement=""), done[change]
        result: Any = adapter.ask(question)
    except Unable:
        return Reply(able=False)
    except Exception as problem:  # noqa: BLE001 - a refusal is whatever the system raises
        return Reply(error=f"{type(problem).__name__}: {problem}", log=log.text(), files=files)
    return Reply(answer=result, log=log.text(), files=files)


def changed(adapter: Adapter, change: Question, rows: Rows) -> str:
    """Withdraw a delivery or erase an entity, and return the erased words that are still in the files."""
    if change.kind == "erased":
        return " ".join(sorted(erased(adapter, change.statement, words_of(change.statement, rows))))
    adapter.retract(read(change.statement))
    return ""


class Log:
    """Captures this process's standard output and error. costs: seconds of loads, of the first question at an instant
    and of further ones, and bytes on disk.
    """

    def __init__(self, file: IO[bytes], output: int) -> None:
        self._file, self._output, self._read = file, output, 0
        self.costs: dict[str, list[float]] = {"load": [], "instant": [], "question": [], "bytes": []}

    @contextmanager
    def cost(self, of: str) -> Iterator[None]:
        """Add the seconds of the block to the costs."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.costs[of].append(time.perf_counter() - begun)

    def beat(self) -> None:
        """Write a line to the real output: one more load has been asked about."""
        os.write(self._output, b"\n")

    def drop(self) -> None:
        """Clear the captured output."""
        self._read = os.fstat(self._file.fileno()).st_size

    def text(self) -> str:
        """Return the output since then."""
        sys.stdout.flush()
        sys.stderr.flush()
        end = os.fstat(self._file.fileno()).st_size
        return os.pread(self._file.fileno(), end - self._read, self._read).decode("utf-8", "replace")


@contextmanager
def output_kept() -> Iterator[Log]:
    """Redirect this process's output, including its libraries', to a file during the block."""
    sys.stdout.flush()
    sys.stderr.flush()
    before = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
        try:
            yield Log(file, before[0])
        finally:
            for descriptor, duplicate in zip((1, 2), before, strict=True):
                os.dup2(duplicate, descriptor)
                os.close(duplicate)


if __name__ == "__main__":
    main(sys.argv[1:])
