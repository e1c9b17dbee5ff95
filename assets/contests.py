"""Contests: decide which of several records about the same thing keeps its row.

The functions are pure functions of staged rows and do not depend on the dataset.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

CONTENDER, RANK, SECOND_RANK = "_contender", "_rank", "_second_rank"
CONTEST_FIELDS = (pa.field(CONTENDER, pa.string()), pa.field(RANK, pa.int64()), pa.field(SECOND_RANK, pa.int64()))


class Settled(NamedTuple):
    """The decided contests of a day: the row indexes to drop, and for repeats of a winner's row, the winner's index."""

    losers: list[int]
    repeats: dict[int, int]


def contested_rows(table: pa.Table, group: Sequence[str]) -> list[int]:
    """Return the indexes of rows whose group has more than one contender, ascending. Nulls in a group are equal."""
    groups = list(zip(*(table[name].to_pylist() for name in group), strict=True))
    first: dict[tuple[Any, ...], str] = {}
    contested = {
        key
        for key, contender in zip(groups, table[CONTENDER].to_pylist(), strict=True)
        if first.setdefault(key, contender) != contender
    }
    return [index for index, key in enumerate(groups) if key in contested] if contested else []


def settle(
    rows: Iterable[tuple[int, dict[str, Any]]],
    group: Sequence[str],
    identity: Sequence[str],
    ignored: Collection[str] = frozenset({"evidence"}),
) -> Settled:
    """Decide contests among numbered rows: the highest rank wins its group, then the greater contender id.

    A loser's row is a repeat if it matches the winner's row of the same identity in all columns except the ignored
    ones, such as the ticker. All other rows of a loser are dropped.
    """
    groups: dict[tuple[Any, ...], list[tuple[int, dict[str, Any]]]] = {}
    for index, row in rows:
        groups.setdefault(_values(row, group), []).append((index, row))
    settled = Settled([], {})
    for members in groups.values():
        winner = max((row[RANK], row[SECOND_RANK], row[CONTENDER]) for _, row in members)[2]
        winning = {_values(row, identity): (index, row) for index, row in members if row[CONTENDER] == winner}
        for index, row in members:
            if row[CONTENDER] == winner:
                continue
            won_by = winning.get(_values(row, identity))
            if won_by is not None and _content(won_by[1], ignored) == _content(row, ignored):
                settled.repeats[index] = won_by[0]
            else:
                settled.losers.append(index)
    return settled


def _content(row: dict[str, Any], ignored: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not name.startswith("_") and name not in ignored}


def _values(row: dict[str, Any], columns: Sequence[str]) -> tuple[Any, ...]:
    return tuple(tuple(value) if isinstance(value, list) else value for value in map(row.__getitem__, columns))
