"""What a replay writes: nothing. A call that wrote gets its rows again; any other finds out what it would have done."""

import copy
from collections.abc import Callable

from forge.memory import Journal, Memory, Row, WriteCall, Writing
from pitlake.errors import PitlakeError


class WouldWrite(PitlakeError):
    """A replay came to a write that the decision did not make."""


class ReadOnly(Journal):
    """A journal for replays."""

    def __init__(self, journal: Journal) -> None:
        self.__dict__.update(journal.__dict__)

    def write(self, call: WriteCall, work: Callable[[Writing], None]) -> tuple[Row, ...]:
        """The rows the call wrote once. Raises WouldWrite, CallDiffers, and what `work` raises."""

        def tried(writing: Writing) -> None:
            work(writing)
            raise WouldWrite(f"the call {call.call_id} wrote nothing when it was decided")

        return super().write(call, tried)


def read_only(memory: Memory) -> Memory:
    """The same memory, to which nothing can be added."""
    shown = copy.copy(memory)
    shown.journal = ReadOnly(memory.journal)
    return shown
