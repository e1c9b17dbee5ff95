"""Forge's part of the error tree. What a caller got wrong is a BadInput, as in the lake: one line, exit code 2.

BadInput (pitlake)
├── PathRefused         no path of Forge's files, or one this caller may not write
├── NotThere            nothing is at that path, as of the turn's instant
├── RecordUnreadable    a text is not the record its path promises; `line` says where
├── ContentRefused      a text the gate would refuse, or that can't be stored; `line` says where
├── Stale               a path changed since the caller read it
├── CallDiffers         a call id was used before, for something else
├── ApprovalNeeded      an Expression was written active; that takes the PM
├── PositionHeld        an agent wrote to an Expression that is held
└── GuardrailsBroken    an Expression breaks risk limits; `violations` says which
PitlakeError (pitlake)
├── ClocksMixed         a journal or a lake of one clock, opened with another
└── ClockBehind         the clock lies before the journal's newest write; nothing was written
"""

from collections.abc import Sequence

from pitlake.errors import BadInput, PitlakeError


class PathRefused(BadInput):
    """No path of Forge's files, or one this caller may not write."""


class NotThere(BadInput):
    """Nothing is at that path as of the turn's instant."""

    def __init__(self, path: str) -> None:
        super().__init__("path", f"nothing is at {path!r}", "list its folder with read")


class _AtLine(BadInput):
    """What is wrong in one line of a text. `line` counts from 1."""

    def __init__(self, line: int, problem: str, next_step: str = "") -> None:
        self.line = line
        super().__init__(f"line {line}", problem, next_step)


class RecordUnreadable(_AtLine):
    """A text is not the record its path promises."""


class ContentRefused(_AtLine):
    """A text the gate would refuse, or that can't be stored."""


class Stale(BadInput):
    """A path changed since the caller read it."""

    def __init__(self, path: str) -> None:
        super().__init__("path", f"{path} was changed since you read it", "start a new turn")


class CallDiffers(BadInput):
    """A call id was used before, for something else."""

    def __init__(self, call_id: str) -> None:
        super().__init__("call_id", f"{call_id!r} has written something else", "give each call an id of its own")


class ApprovalNeeded(BadInput):
    """An Expression was written active: the PM alone makes it that, by approving exactly what was reviewed."""

    def __init__(self, name: str) -> None:
        step = "write it as proposed, have it reviewed, and leave it to the PM"
        super().__init__("status", f"{name} becomes active by the PM's approval alone", step)


class PositionHeld(BadInput):
    """An agent wrote to an Expression that is held: the PM and code alone change it."""

    def __init__(self, name: str) -> None:
        step = f"propose the change as /memory/expressions/new.md with 'adjusts: {name}' and have it reviewed"
        super().__init__("path", f"{name} is held, so its terms, status and result are not an agent's to write", step)


class GuardrailsBroken(BadInput):
    """An Expression breaks risk limits."""

    def __init__(self, violations: Sequence[object]) -> None:
        self.violations = violations
        super().__init__("expression", "; ".join(map(str, violations)), "cut the risk, or write it as a draft")


class ClocksMixed(PitlakeError):
    """A journal or a lake of one clock, opened with another: what is live and what is simulated never mix."""

    def __init__(self, what: str, found: str, asked: str) -> None:
        super().__init__(f"{what} is of the clock {found!r}, not {asked!r}; give each clock a place of its own")


class ClockBehind(PitlakeError):
    """The clock lies before the journal's newest write."""

    def __init__(self, now: str, newest: str) -> None:
        super().__init__(f"the clock shows {now}, before the journal's newest write of {newest}; set the clock right")
