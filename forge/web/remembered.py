"""What the desk's pages show: the PM's live memory as of an instant, and the decisions on the tape by then."""

import json
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from forge.clock import LIVE, Simulated
from forge.guardrails import Guardrails, Measure
from forge.lineage import Edge, lineage
from forge.memory import Memory, Remembered
from forge.records import KINDS, Calibration, Constraints, Expression, Portfolio, Record, View
from forge.tape import Step, Tape
from pitlake.clock import instant, iso
from pitlake.errors import BadInput

_Kind = TypeVar("_Kind", bound=Record)


class Text(NamedTuple):
    """One writing of a record: when, and what it held."""

    at: datetime
    record: Any


class Begun(NamedTuple):
    """A decision on the tape. asked: its question; as_of: the instant it was decided as of; clock: of its memory."""

    name: str
    asked: str
    as_of: datetime
    clock: str
    ended: bool

    @property
    def live(self) -> bool:
        """Whether it was made on live memory."""
        return self.clock == LIVE


@dataclass(frozen=True)
class Day:
    """The desk as of an instant. memory: the live one."""

    at: datetime
    memory: Memory
    tape: Tape

    @classmethod
    def of(cls, at: datetime) -> "Day":
        """With the memory and the tape that this machine's settings name."""
        memory = Memory()
        return cls(at, memory, Tape(Path(f"{memory.lake.root}-tape.sqlite")))

    @cached_property
    def known(self) -> Remembered:
        """Memory as of the day."""
        return self.memory.hydrate(self.at)

    def texts(self, kind: str, name: str) -> list[Text]:
        """Every writing of a record by the day, oldest first. Raises BadInput where there was none."""
        path = KINDS[kind].path(name)
        rows = self.known.all(path) if KINDS[kind].names(name) else []
        if not rows:
            raise BadInput(kind, f"there was no {name[:20]!r} as of {iso(self.at)}", "the desk lists those there were")
        return [Text(self.known.written_at(row), self.known.record(row)) for row in rows]

    def all(self, kind: str) -> list[list[Text]]:
        """The writings of every record of a kind, those that were written last first."""
        folder = KINDS[kind].folder
        names = [path.removeprefix(folder).removesuffix(".md") for path in self.known.paths(folder)]
        found = [self.texts(kind, name) for name in names if KINDS[kind].names(name)]
        return sorted(found, key=lambda texts: texts[-1].at, reverse=True)

    def measures(self, expression: Expression) -> tuple[Measure, ...]:
        """An Expression beside each limit, in the book of the day."""
        book, limits = self._one("portfolio", Portfolio, "state"), self._one("constraints", Constraints, "constraints")
        return Guardrails().measure(expression, book, limits)

    def expressions_of(self, view: View) -> list[list[Text]]:
        """The Expressions of a View."""
        return [texts for texts in self.all("expressions") if texts[-1].record.view_id == view.id]

    def calibrations(self) -> list[Calibration]:
        """How forecasts came out, by category, where that was measured."""
        found = [texts[-1].record for texts in self.all("calibration")]
        return [one for one in found if isinstance(one, Calibration)]

    def decisions(self) -> list[Begun]:
        """The decisions by the day, the newest first: live ones as of when they were made."""
        found = [self._begun(name) for name in self.tape.decisions()]
        return [one for one in reversed(found) if one.as_of <= self.at]

    def decision(self, name: str) -> "Decision":
        """One of them. Raises BadInput where there was none."""
        begun = next((one for one in self.decisions() if one.name == name), None)
        if begun is None:
            raise BadInput("decision", f"there was none of that name as of {iso(self.at)}", "the desk lists them")
        kept = self.tape.receipt(name)
        edges = lineage(self.memory_of(begun), self.tape, name, self.at)
        return Decision(begun, json.loads(kept) if kept else None, self.tape.steps(name), edges)

    def memory_of(self, begun: Begun) -> Memory:
        """The memory a decision was made on: the live one, or a simulated one of its own."""
        if begun.live:
            return self.memory
        return Memory(clock=Simulated(begun.clock.partition(":")[2], begun.as_of))

    def close(self) -> None:
        """Let its connections go."""
        self.memory.close()

    def _begun(self, name: str) -> Begun:
        told = self.tape.begun(name)
        ended = self.tape.receipt(name) is not None
        return Begun(name, told["text"], instant(told["as_of"]), told["clock"], ended)

    def _one(self, kind: str, cls: type[_Kind], name: str) -> _Kind | None:
        row = self.known.newest(KINDS[kind].path(name))
        record = self.known.record(row) if row else None
        return record if isinstance(record, cls) else None


class Decision(NamedTuple):
    """A decision in full. receipt: as kept, None where it has not ended; steps: the tape's; edges: its lineage."""

    begun: Begun
    receipt: dict[str, Any] | None
    steps: list[Step]
    edges: list[Edge]
