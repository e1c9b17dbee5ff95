"""The first difference of two results, column by column. Rows are matched by their dates and names, not by position."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import compress
from typing import Any

from pitlake.check.tables import Answer

ABSENT = "no such row"
RELATIVE, ABSOLUTE = 1e-9, 1e-12
"""The largest difference of floats that count as equal: sums of the same rows in another order differ slightly."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Difference:
    """A difference in one column: the first row, both values, and the number of rows that differ."""

    column: str
    row: Row
    left: Any
    right: Any
    count: int


def differences(left: Answer, right: Answer, *, time: str | None = None) -> dict[str, Difference]:
    """Return the first difference of each column. time: the column that dates the rows, which gives the order."""
    if left.columns == right.columns:
        return {}
    left_rows, right_rows = _rows(left), _rows(right)
    names = list(dict.fromkeys([*left.columns, *right.columns]))
    key = _key((left, left_rows), (right, right_rows), names, time)
    pairs, left_only, right_only = _matched(left_rows, right_rows, key)
    differing_rows: dict[str, list[tuple[Row, Any, Any]]] = defaultdict(list)
    for first, second in pairs:
        for name in names:
            if not same(first.get(name), second.get(name)):
                differing_rows[name].append((_named(first, key), first.get(name), second.get(name)))
    for name, row, first_value, second_value in _unmatched(left_only, right_only, key, names, time):
        differing_rows[name].append((row, first_value, second_value))
    return {
        name: Difference(name, *min(cases, key=lambda case: _order(case[0])), len(cases))
        for name, cases in differing_rows.items()
    }


def past(left: Answer, right: Answer, time: str | None, until: datetime | None) -> tuple[Answer, Answer]:
    """Return both answers with the rows that are compared: all, or those dated at or before `until`."""
    since = max(_first(left, time), _first(right, time))  # Panels of the last n rows may begin at different rows.
    return _past(left, time, since, until), _past(right, time, since, until)


def same(first: Any, second: Any) -> bool:
    """Return whether two values are equal, except for the order in which floats were added."""
    if isinstance(first, float | int) and isinstance(second, float | int):
        return first == second or math.isclose(first, second, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(first[name], second[name]) for name in first)
    return bool(type(first) is type(second) and first == second)


def _first(answer: Answer, time: str | None) -> datetime:
    moments = {moment for moment in answer.known_from(time) if moment is not None}
    return min(moments, default=datetime.min.replace(tzinfo=timezone.utc))


def _past(answer: Answer, time: str | None, since: datetime, until: datetime | None) -> Answer:
    if until is None or time not in answer.columns:
        return answer
    is_past = [moment is not None and since <= moment <= until for moment in answer.known_from(time)]
    return replace(answer, columns={name: list(compress(each, is_past)) for name, each in answer.columns.items()})


def _rows(answer: Answer) -> list[Row]:
    return [dict(zip(answer.columns, values, strict=True)) for values in zip(*answer.columns.values(), strict=True)]


def _key(
    left: tuple[Answer, list[Row]], right: tuple[Answer, list[Row]], names: Sequence[str], time: str | None
) -> tuple[str, ...]:
    """Return the fewest columns that identify a row in both results: the index, the date, then others in order."""
    index = [name for name in dict.fromkeys((*left[0].index, *right[0].index)) if name in names]
    key = list(dict.fromkeys([*([time] if time else []), *index]))
    both = (left[1], right[1])
    candidates = []
    for name in (name for name in names if name not in key):
        values = [row.get(name) for rows in both for row in rows]
        names_rows = any(value is not None for value in values) and not any(
            isinstance(value, float | list | dict | bool) for value in values
        )
        if names_rows:
            candidates.append(name)
    candidates.sort(key=lambda name: any(isinstance(row.get(name), int) for rows in both for row in rows))
    for name in candidates:
        counts = (Counter(_identity(row, key) for row in rows) for rows in both if len(rows) > 1)
        if all(key and max(count.values()) == 1 for count in counts):
            break
        key.append(name)
    return tuple(key)


def _identity(row: Row, key: Sequence[str]) -> tuple[str, ...]:
    return tuple(repr(row.get(name)) for name in key)


def _matched(
    left: Sequence[Row], right: Sequence[Row], key: Sequence[str]
) -> tuple[list[tuple[Row, Row]], list[Row], list[Row]]:
    """Return the pairs of rows with the same key, in order if several have it, and the rows without a match."""
    waiting: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in sorted(right, key=_order):
        waiting[_identity(row, key)].append(row)
    pairs, alone = [], []
    for row in sorted(left, key=_order):
        partners = waiting[_identity(row, key)]
        if partners:
            pairs.append((row, partners.pop(0)))
        else:
            alone.append(row)
    return pairs, alone, [row for rows in waiting.values() for row in rows]


def _unmatched(
    left: list[Row], right: list[Row], key: Sequence[str], names: Sequence[str], time: str | None
) -> Iterator[tuple[str, Row, Any, Any]]:
    """Yield the differences of rows without a match: the key column in which they differ, or the whole row."""
    for name in key:
        rest = [other for other in key if other != name]
        if name == time or not rest or not left or not right:
            continue
        pairs, left_rest, right_rest = _matched(left, right, rest)
        if pairs and len(left_rest) + len(right_rest) < len(left) + len(right):
            for first, second in pairs:
                yield name, _named(first, rest), first.get(name), second.get(name)
            left, right = left_rest, right_rest
    values = [name for name in names if name not in key] or list(key[-1:]) or list(names)
    for row in left:
        for name in values:
            yield name, _named(row, key), row.get(name), ABSENT
    for row in right:
        for name in values:
            yield name, _named(row, key), ABSENT, row.get(name)


def _named(row: Row, key: Sequence[str]) -> Row:
    return {name: row.get(name) for name in key}


def _order(row: Row) -> tuple[str, ...]:
    return tuple(str(value) for value in row.values())
