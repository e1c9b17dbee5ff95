"""The class `thousand_instants`: 1,000 instants over 100,000 rows, with what they cost. A run has it only by name.

50 deliveries, a week apart, restate half of 4,000 records each. Around each of them 20 instants are asked about: its
own, a microsecond before and after, and 17 until the next one.
"""

import hashlib
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from asofbench.grading import CAUGHT, LEAK, REFUSED, WITHHELD
from asofbench.model import Dice, Question, read, written
from asofbench.systems import System

NAME = "thousand_instants"
SECONDS = 120
"""How long a system is asked. Of a slow one the costs are those of fewer instants."""
_START, _WEEK, _TICK = read("2023-01-02T21:00:00Z"), timedelta(days=7), timedelta(microseconds=1)


@dataclass(frozen=True)
class Large:
    """The rows and the questions from a seed. The number of rows is deliveries * entities * 2."""

    seed: str
    deliveries: int = 50
    entities: int = 1_000
    instants: int = 20

    @cached_property
    def _names(self) -> list[str]:
        return [Dice(self.seed).token(NAME, number).upper() for number in range(self.entities)]

    def came(self, delivery: int) -> datetime:
        """When a delivery arrived, and its rows became public."""
        return _START + delivery * _WEEK

    def row(self, delivery: int, entity: int, item: int) -> dict[str, Any]:
        """A record of four, as a delivery has it."""
        drawn = hashlib.sha256(f"{self.seed}/{NAME}/{delivery}/{entity}/{item}".encode()).hexdigest()
        at = written(self.came(delivery))
        return {
            "entity": self._names[entity], "item": f"figure {item}", "event": written(_START - _WEEK), "stated": at,
            "stamp": "instant", "loaded_at": at, "value": float(int(drawn[:6], 16)), "text": f"stated as {drawn[6:18]}",
        }  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """All rows in order of arrival: a delivery has two of the four records of each entity, the next the others."""
        return [
            self.row(delivery, entity, item)
            for delivery in range(self.deliveries)
            for entity in range(self.entities)
            for item in (delivery % 2, delivery % 2 + 2)
        ]

    def asked(self) -> Iterator[tuple[Question, dict[str, list[Any]], set[str]]]:
        """Yield each question, its right answer, and the entity's texts that become public later."""
        dice = Dice(self.seed, (NAME,))
        for delivery in range(self.deliveries):
            for number in range(self.instants):
                apart = (
                    (number - 1) * _TICK if number < 3 else timedelta(seconds=dice.number(1, 604_000, delivery, number))
                )
                at, entity = self.came(delivery) + apart, dice.number(0, self.entities - 1, "entity", delivery, number)
                newest = delivery - (number == 0)
                shown = self._rows_of(entity, range(max(0, newest - 1), newest + 1))
                truth = {row["item"]: [row["value"], row["text"]] for row in shown}
                later = {row["text"] for row in self._rows_of(entity, range(newest + 1, self.deliveries))}
                yield Question(kind="rows", as_of=written(at), entity=self._names[entity]), truth, later

    def as_lines(self) -> str:
        """Return the questions and the right answers as they are written to case.jsonl."""
        return "".join(
            json.dumps({"ask": question.as_json(), "truth": truth}, sort_keys=True) + "\n"
            for question, truth, _ in self.asked()
        )

    def _rows_of(self, entity: int, deliveries: range) -> list[dict[str, Any]]:
        return [self.row(each, entity, each % 2 + item) for each in deliveries for item in (0, 2)]


def measured(system: System, large: Large, seconds: float = SECONDS) -> dict[str, Any]:
    """Load the rows into a system and ask as many of the questions as `seconds` allow.

    Returns the verdicts, the number of rows, seconds of loading, milliseconds of each instant's question, and bytes.
    """
    rows = large.rows()
    with tempfile.TemporaryDirectory(prefix="asofbench-") as folder:
        begun = time.perf_counter()
        adapter = system.adapter_class()(Path(folder), system.options)
        adapter.load(rows)
        loading = time.perf_counter() - begun
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        verdicts, costs = Counter[str](), list[float]()
        until = time.perf_counter() + seconds
        for question, truth, later in sorted(large.asked(), key=_by_chance):
            begun = time.perf_counter()
            if begun > until:
                break
            try:
                answer = adapter.ask(question)
            except Exception:  # noqa: BLE001 - a refusal is whatever the system raises
                answer = None
            costs.append(1000 * (time.perf_counter() - begun))
            verdicts[_verdict(answer, truth, later)] += 1
        with suppress(Exception):
            adapter.close()
    ordered = sorted(costs)
    return {
        "rows": len(rows), "instants": len(costs), "verdicts": dict(verdicts), "load": loading, "bytes": size,
        "ms": median(costs), "p95": ordered[int(0.95 * (len(ordered) - 1))],
    }  # fmt: skip


def _by_chance(asked: tuple[Question, Any, Any]) -> bytes:
    """Order questions so that the first ones are a sample of all, and no instant is near the one before."""
    return hashlib.sha256(asked[0].as_of.encode()).digest()


def _verdict(answer: Any, truth: dict[str, list[Any]], later: set[str]) -> str:
    if answer is None:
        return REFUSED
    shown = {item: list(cells)[:2] for item, cells in answer.items()}
    if any(cells[1] in later for cells in shown.values()):
        return LEAK
    return CAUGHT if shown == truth else WITHHELD
