"""The chain: every row of a journal contains the previous row's hash, so that later changes are detected.

A row is verified with its own hash, the next row's copy of that hash, and its instant. An altered or back-dated row is
therefore detected without rejecting its neighbours.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import zip_longest
from operator import attrgetter
from typing import Literal, NamedTuple

from pitlake.recorder import digest

FaultKind = Literal["tampered", "back-dated", "lost", "forged"]


@dataclass(frozen=True, slots=True)
class Row:
    """One write.

    seq: the number of the row, from 1 without gaps. written_at: microseconds since the epoch, strictly increasing.
    kind: the kind of the record, or "files". event: the event to be decided. call_id, part: the call of the write, and
    the number of the write in the call. request_hash: the hash of the call's request. cause: the transition that caused
    the write, or "".
    """

    seq: int
    written_at: int
    path: str
    kind: str
    content: str
    actor: str
    session: str
    event: str
    call_id: str
    part: int
    request_hash: str
    cause: str
    prev: str = ""
    chain: str = ""


class Fault(NamedTuple):
    """A fault of a row: it is altered, back-dated or lost, or is in the lake but not in the journal."""

    seq: int
    wrong: FaultKind
    path: str = ""


def start(journal: str, clock: str) -> str:
    """Return the hash that precedes a journal's first row: the hash of the journal's name and clock."""
    return digest([journal, clock])


def link(row: Row, prev: str) -> Row:
    return replace(row, prev=prev, chain=_row_hash(row, prev))


def judge(rows: Sequence[Row], before: Row | None, prev: str) -> tuple[list[Row], list[Fault]]:
    """Return the valid rows, and the faults of the others.

    rows: rows in order of seq. before: the valid row that precedes them, if any. prev: the hash of that row, or of the
    journal's start.
    """
    faults = dict[int, Fault]()
    last, due = (before.written_at, before.seq + 1) if before else (-1, 1)
    for row, after in zip_longest(rows, rows[1:]):
        faults |= {seq: Fault(seq, "lost") for seq in range(due, row.seq)}
        expected_prev = prev if row.seq == due else row.prev
        believed = after is not None and after.seq == row.seq + 1 and is_intact(after)
        if (
            not is_intact(row)
            or row.prev != expected_prev
            or (believed and after is not None and after.prev != row.chain)
        ):
            faults[row.seq] = Fault(row.seq, "tampered", row.path)
        elif row.written_at <= last:
            faults[row.seq] = Fault(row.seq, "back-dated", row.path)
        else:
            last = row.written_at
        due = row.seq + 1
        prev = after.prev if after is not None and believed and after.seq == due else row.chain
    return [row for row in rows if row.seq not in faults], sorted(faults.values())


def is_intact(row: Row) -> bool:
    """Return whether a row matches its own hash."""
    return _row_hash(row, row.prev) == row.chain


def _row_hash(row: Row, prev: str) -> str:
    return digest([prev, *_hashed_fields(row)])


_hashed_fields = attrgetter(*[field.name for field in fields(Row)][:-2])
