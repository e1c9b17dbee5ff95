"""Assigns names to records that have no lasting name in their source.

A record keeps the name that it already has in the lake.

A name must not depend on neighbouring records or on values that may be corrected. Otherwise, a changed answer would
turn an old record into a new one and show it twice in the past. Records are therefore matched with the lake's earlier
statements, and only records without a match get a new name. Pure.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from assets.extraction import Gap, Row, RunFacts
from pitlake.contract import Dataset

Values = Mapping[str, Any]
Outcome = tuple[Row | Gap, date | None]


@dataclass(frozen=True, kw_only=True)
class Naming:
    """The rules for naming one dataset's records.

    column: the column of the name, which is part of the identity. group: columns within whose values the name is
    unique. likeness: a function that returns the similarity of a record and an earlier statement. The most similar
    pairs are matched first, and a similarity of 0 is never a match. fresh: a function that returns a new name, given
    the names in use. order: the order in which new records are named. id: the column of the source's own id, or "". If
    a record and a statement both have ids, the ids decide the match.
    """

    column: str
    group: tuple[str, ...]
    likeness: Callable[[Values, Values], float]
    fresh: Callable[[Values, Collection[Any]], Any]
    order: Callable[[Values], Any]
    id: str = ""


def name_rows(naming: Naming, dataset: Dataset, found_outcomes: Iterable[Outcome], run: RunFacts) -> Iterator[Outcome]:
    """Yield the outcomes of one unit in order, each row with its name."""
    outcomes = list(found_outcomes)
    rows = [outcome.values for outcome, _ in outcomes if isinstance(outcome, Row)]
    entities = {row[dataset.entity] for row in rows}
    statements = run.statements(dataset, dataset.entity, entities) if run.statements and rows else []
    names = iter(_names(naming, rows, statements))
    for outcome, day in outcomes:
        if isinstance(outcome, Row):
            yield replace(outcome, values={**outcome.values, naming.column: next(names)}), day
        else:
            yield outcome, day


def _names(naming: Naming, rows: Sequence[Values], statements: Iterable[Values]) -> list[Any]:
    def group(values: Values) -> tuple[Any, ...]:
        return tuple(values[column] for column in naming.group)

    statements_of: defaultdict[tuple[Any, ...], defaultdict[Any, list[Values]]] = defaultdict(lambda: defaultdict(list))
    for statement in statements:
        statements_of[group(statement)][statement[naming.column]].append(statement)
    groups: defaultdict[tuple[Any, ...], list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        groups[group(row)].append(place)
    names: list[Any] = [None] * len(rows)
    for key, places in groups.items():
        places.sort(key=lambda place: naming.order(rows[place]))
        distinct: list[Values] = []  # A record that occurs twice has one name.
        for place in places:
            if rows[place] not in distinct:
                distinct.append(rows[place])
        group_names = _choose_names(naming, distinct, statements_of[key])
        for place in places:
            names[place] = group_names[distinct.index(rows[place])]
    return names


def _choose_names(naming: Naming, rows: Sequence[Values], statements_of: Mapping[Any, Sequence[Values]]) -> list[Any]:
    """Name the rows of one group: first by the most similar existing names, then by new names."""
    ids = _ids(naming, rows)
    pairs = [
        (_alike(naming, row, statements, ids), -place, name)
        for place, row in enumerate(rows)
        for name, statements in statements_of.items()
    ]
    name_of: dict[int, Any] = {}
    for likeness, place, name in sorted(pairs, key=lambda pair: pair[:2], reverse=True):
        if likeness > 0 and -place not in name_of and name not in name_of.values():
            name_of[-place] = name
    taken = {*statements_of, *name_of.values()}
    for place, row in enumerate(rows):
        if place not in name_of:
            name_of[place] = naming.fresh(row, taken)
            taken.add(name_of[place])
    return [name_of[place] for place in range(len(rows))]


def _ids(naming: Naming, rows: Iterable[Values]) -> set[Any]:
    return {values[naming.id] for values in rows} - {None} if naming.id else set()


def _alike(naming: Naming, row: Values, statements: Sequence[Values], present: Collection[Any]) -> float:
    """Return the similarity of a row and a known record.

    Equal ids prove that both are the same record. Different ids prove the opposite only if the answer still contains
    the old id, because a correction may have a new id.
    """
    own, own_ids = _ids(naming, (row,)), _ids(naming, statements)
    if own & own_ids:
        return math.inf
    if own and not own_ids.isdisjoint(present):
        return 0
    return max(naming.likeness(row, statement) for statement in statements)


def first_dated(group: tuple[str, ...], dated: str, *, moved_at_most: timedelta, step: timedelta) -> Naming:
    """Name records in the column `first_stated`, by the day or instant that the column `dated` had when they were first
    seen. A record that is missing from its day matches a record that appeared near that day. If a name is in use, the
    next free name is used, a step later.
    """

    def likeness(row: Values, other: Values) -> float:
        apart: timedelta = abs(row[dated] - other[dated])
        return 0 if apart > moved_at_most else 1 + (moved_at_most - apart) / moved_at_most

    def fresh(row: Values, taken: Collection[Any]) -> Any:
        name = row[dated]
        while name in taken:
            name += step
        return name

    return Naming(column="first_stated", group=group, likeness=likeness, fresh=fresh, order=lambda row: row[dated])


def first_free(_row: Values, taken: Collection[Any]) -> int:
    """Return the smallest free number as the name of a record without a match."""
    return next(number for number in range(len(taken) + 1) if number not in taken)
