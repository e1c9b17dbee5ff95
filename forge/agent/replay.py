"""A read-only memory for replays. A recorded write returns its rows again, and any other write is refused."""

import copy
from collections.abc import Callable

from forge.memory import Journal, Memory, Row, WriteCall, Writing
from pitlake.errors import PitlakeError


class WouldWrite(PitlakeError):
    """A replay attempted a write that the decision did not make."""


class ReadOnly(Journal):
    """A journal that refuses new rows."""

    def __init__(self, journal: Journal) -> None:
        self.__dict__.update(journal.__dict__)

    def write(self, call: WriteCall, work: Callable[[Writing], None]) -> tuple[Row, ...]:
        """Return the rows that the call wrote. Raises WouldWrite, CallDiffers, and the errors of `work`."""

        def tried(writing: Writing) -> None:
            work(writing)
            raise WouldWrite(f"the call {call.call_id} wrote nothing when it was decided")

        return super().write(call, tried)


def read_only(memory: Memory) -> Memory:
    """Return the same memory with a read-only journal."""
    copied = copy.copy(memory)
    copied.journal = ReadOnly(memory.journal)
    return copied
