"""The chain: every row of a journal is hashed with the one before it, so that what was changed later shows.

A row is judged by its own hash, by the next row's word of it, and by its instant: one that was altered, or written
back in time, is found without doubting the rows beside it.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import zip_longest
from typing import Literal, NamedTuple

Wrong = Literal["tampered", "back-dated", "lost", "forged"]


@dataclass(frozen=True, slots=True)
class Row:
    """One write. seq: from 1, without holes; written_at: microseconds since the epoch, strictly rising; kind: of the
    record, "files" of a session's; event: what was being decided; call_id, part, asked: the call that wrote it, which
    of its writes this is, and the hash of what was asked; cause: the transition it follows from, "" of none.
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
    asked: str
    cause: str
    prev: str = ""
    chain: str = ""


class Fault(NamedTuple):
    """What is wrong with a row: altered, written back in time, gone, or in the lake and not in the journal."""

    seq: int
    wrong: Wrong
    path: str = ""


def start(journal: str, clock: str) -> str:
    """What a journal's first row follows: its name and its clock."""
    return _hash([journal, clock])


def linked(row: Row, prev: str) -> Row:
    """The row with its place in the chain."""
    return replace(row, prev=prev, chain=_of(row, prev))


def judge(rows: Sequence[Row], before: Row | None, prev: str) -> tuple[list[Row], list[Fault]]:
    """The sound rows, and what is wrong with the others. rows: in order of seq; before: the sound row that precedes
    them, if one does; prev: its hash, or the journal's start.
    """
    faults = dict(_faults(rows, before, prev))
    return [row for row in rows if row.seq not in faults], sorted(faults.values())


def holds(row: Row) -> bool:
    """Whether a row is what its own hash says."""
    return _of(row, row.prev) == row.chain


def _faults(rows: Sequence[Row], before: Row | None, prev: str) -> Iterator[tuple[int, Fault]]:
    last, due = before.written_at if before else -1, before.seq + 1 if before else 1
    for row, after in zip_longest(rows, rows[1:]):
        yield from ((seq, Fault(seq, "lost")) for seq in range(due, row.seq))
        told = prev if row.seq == due else row.prev
        believed = after is not None and after.seq == row.seq + 1 and holds(after)
        if not holds(row) or row.prev != told or (believed and after is not None and after.prev != row.chain):
            yield row.seq, Fault(row.seq, "tampered", row.path)
        elif row.written_at <= last:
            yield row.seq, Fault(row.seq, "back-dated", row.path)
        else:
            last = row.written_at
        due = row.seq + 1
        prev = after.prev if after is not None and believed and after.seq == due else row.chain


def _of(row: Row, prev: str) -> str:
    return _hash([prev, *astuple(row)[:-2]])


def _hash(parts: Iterable[object]) -> str:
    return hashlib.sha256(json.dumps(list(parts), separators=(",", ":")).encode()).hexdigest()
