"""Forge's part of the error tree. A caller's mistake is a BadInput, as in the lake: one line, exit code 2.

BadInput (pitlake)
├── PathRefused         not a path of Forge's files, or one that this caller may not write
├── NotThere            nothing is at that path, as of the turn's instant
├── RecordUnreadable    a text is not a record of the kind that its path requires; `line` says where
├── ContentRefused      a text that the gate refuses or that can't be stored; `line` says where
├── Stale               a path changed since the caller read it
├── CallDiffers         a call id was used before with different content
├── ApprovalNeeded      an Expression was written as active, which only the PM can do
├── PositionHeld        an agent wrote to an Expression that is held
└── GuardrailsBroken    an Expression breaks risk limits; `lines` says which and why
PitlakeError (pitlake)
├── ClocksMixed         a journal or lake of one clock was opened with another
└── ClockBehind         the clock is before the journal's newest write; nothing was written
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pitlake.errors import BadInput, PitlakeError


class PathRefused(BadInput):
    """Not a path of Forge's files, or one that this caller may not write."""


class NotThere(BadInput):
    """Nothing is at that path as of the turn's instant."""

    def __init__(self, path: str) -> None:
        super().__init__("path", f"nothing is at {path!r}", "list its folder with read")


class _AtLine(BadInput):
    """A fault in one line of a text. `line` starts at 1."""

    def __init__(self, line: int, problem: str, next_step: str = "") -> None:
        self.line = line
        super().__init__(f"line {line}", problem, next_step)


class LineFault(NamedTuple):
    """The fault in one line of a record, and the text to write instead."""

    line: int
    problem: str
    next_step: str = ""

    def __str__(self) -> str:
        return f"line {self.line}: {self.problem}" + (f"; {self.next_step}" if self.next_step else "")


class RecordUnreadable(_AtLine):
    """A text is not a record of the kind that its path requires. others: the other faults, in the order of lines."""

    def __init__(self, line: int, problem: str, next_step: str = "", others: Sequence[LineFault] = ()) -> None:
        super().__init__(line, problem, "\n".join([next_step, *map(str, others)]) if others else next_step)

    @classmethod
    def all_of(cls, faults: Iterable[LineFault]) -> "RecordUnreadable":
        """Return one error that reports every fault."""
        first, *others = sorted(faults, key=lambda fault: fault.line)
        return cls(*first, others)


class ContentRefused(_AtLine):
    """A text that the gate refuses or that can't be stored."""


class Stale(BadInput):
    """A path changed since the caller read it."""

    def __init__(self, path: str) -> None:
        super().__init__("path", f"{path} was changed since you read it", "start a new turn")


class CallDiffers(BadInput):
    """A call id was used before with different content."""

    def __init__(self, call_id: str) -> None:
        super().__init__("call_id", f"{call_id!r} was already used for different content", "give each call its own id")


class ApprovalNeeded(BadInput):
    """An Expression was written as active; only the PM's approval of exactly the reviewed text activates it."""

    def __init__(self, name: str) -> None:
        step = "write it as proposed, have it reviewed, and leave it to the PM"
        super().__init__("status", f"{name} can only become active through the PM's approval", step)


class PositionHeld(BadInput):
    """An agent wrote to an Expression that is held. Only the PM and code may change it."""

    def __init__(self, name: str) -> None:
        step = f"propose the change as /memory/expressions/new.md with 'adjusts: {name}' and have it reviewed"
        super().__init__("path", f"{name} is held, so an agent may not write its terms, status and result", step)


class GuardrailsBroken(BadInput):
    """An Expression breaks risk limits."""

    def __init__(self, violations: Sequence[object], reasons: Sequence[str] = ()) -> None:
        self.lines = [*map(str, violations), *reasons]
        problem = "; ".join(self.lines)
        super().__init__("expression", problem, "cut the risk, or write it as a draft")


class ClocksMixed(PitlakeError):
    """A journal or lake of one clock was opened with another. Live and simulated records never mix."""

    def __init__(self, what: str, actual: str, expected: str) -> None:
        super().__init__(f"{what} belongs to the clock {actual!r}, not {expected!r}; use a separate folder per clock")


class ClockBehind(PitlakeError):
    """The clock is before the journal's newest write."""

    def __init__(self, now: str, newest: str) -> None:
        super().__init__(f"the clock shows {now}, before the journal's newest write at {newest}; correct the clock")
