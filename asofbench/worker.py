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
from asofbench.model import NOW, Case, Question, Reply, told, written
from asofbench.systems import BY_NAME, System

Asked = tuple[str, str, Question]


def main(arguments: list[str]) -> None:
    """Ask each named system about every world, or only the named worlds."""
    parser = argparse.ArgumentParser(prog="asofbench.worker")
    parser.add_argument("--seed", required=True)
    parser.add_argument("--out", type=Path, required=True, help="an existing folder")
    parser.add_argument("--worlds", nargs="*", default=())
    parser.add_argument("systems", nargs="+")
    options = parser.parse_args(arguments)
    for name in options.systems:
        started = time.monotonic()
        with output_kept() as log:
            reply_list = list(replies(BY_NAME[name], options.seed, options.worlds, log))
        seconds = round(time.monotonic() - started, 1)
        content = {"seconds": seconds, "replies": [[case, which, asdict(reply)] for case, which, reply in reply_list]}
        (options.out / f"{slug(name)}.json").write_text(json.dumps(content, default=str))


def slug(name: str) -> str:
    """Return a system's name as a file name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def replies(system: System, seed: str, only: Sequence[str], log: "Log") -> Iterator[tuple[str, str, Reply]]:
    """Yield all replies of one system: (case, asked | later | control | twin, reply)."""
    for world, mine in by_world(cases(seed)).items():
        if not only or world in only:
            yield from asked_about(system, mine, log)


def by_world(case_list: list[Case]) -> dict[str, list[Case]]:
    """Return the cases by world."""
    worlds: dict[str, list[Case]] = {}
    for case in case_list:
        worlds.setdefault(case.world, []).append(case)
    return worlds


def asked_about(system: System, mine: list[Case], log: "Log") -> Iterator[tuple[str, str, Reply]]:
    """Ask about one world twice: with its future at T, one instant later and now; and without its future at T."""
    ever = [row for case in mine for row in case.rows]
    plant = [row for case in mine for row in case.plant]
    there: list[Asked] = [(case.id, "asked", case.ask) for case in mine]
    there += [(case.id, "later", case.later) for case in mine]
    there += [(case.id, "control", case.control) for case in mine]
    yield from answers(system, [told(row) for row in (*ever, *plant)], there, log)
    yield from answers(system, [told(row) for row in ever], [(case.id, "twin", case.ask) for case in mine], log)


def answers(system: System, rows: Rows, questions: list[Asked], log: "Log") -> Iterator[tuple[str, str, Reply]]:
    """Load a fresh instance of the system and ask it. If loading fails, every question counts as refused."""
    kind = system.adapter_class()
    with tempfile.TemporaryDirectory(prefix="asofbench-") as folder:
        adapter: Adapter | None = None
        problem = ""
        try:
            adapter = kind(Path(folder), system.options)
            adapter.load(sorted(rows, key=lambda row: str(row["loaded_at"])))
        except Exception:  # noqa: BLE001 - a refusal is whatever the system raises
            problem = f"could not load: {traceback.format_exc(limit=-2)}"
        now = written(datetime.now(timezone.utc))
        timed = [(case, which, _by_the_clock(question, now)) for case, which, question in questions]
        for case, which, question in sorted(timed, key=lambda entry: entry[2].as_of):
            yield case, which, Reply(error=problem) if problem or adapter is None else answer(adapter, question, log)
        if adapter is not None:
            with suppress(Exception):
                adapter.close()


def _by_the_clock(question: Question, now: str) -> Question:
    if question.as_of != NOW:
        return question
    spine = tuple((entity, item, now if at == NOW else at) for entity, item, at in question.spine)
    return replace(question, as_of=now, spine=spine)


def answer(adapter: Adapter, question: Question, log: "Log") -> Reply:
    """Ask one question, and capture the output meanwhile."""
    log.drop()
    try:
        result: Any = adapter.ask(question)
    except Unable:
        return Reply(able=False)
    except Exception as problem:  # noqa: BLE001 - a refusal is whatever the system raises
        return Reply(error=f"{type(problem).__name__}: {problem}", log=log.text())
    return Reply(answer=result, log=log.text())


class Log:
    """Captures this process's standard output and error."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._read = file, 0

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
            yield Log(file)
        finally:
            for descriptor, duplicate in zip((1, 2), before, strict=True):
                os.dup2(duplicate, descriptor)
                os.close(duplicate)


if __name__ == "__main__":
    main(sys.argv[1:])
