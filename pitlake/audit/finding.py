"""The findings of an audit's rules: rows with hindsight, or the reason why a rule was not applied."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pitlake.audit.table import Column, Table

WORST = 10
"""The number of rows that a finding shows."""


class NotChecked(Exception):
    """The table lacks what a rule needs. The message says what is missing."""


@dataclass(frozen=True)
class Finding:
    """Rows with hindsight.

    Attributes:
        rule: The rule's name.
        title: What the rows have in common, in a few words.
        count: The number of rows.
        of: The number of rows that were checked.
        meaning: Why the rows misrepresent the past.
        next_step: What to do.
        columns: The names of the columns of the worst rows.
        worst: Up to ten rows, the worst first.
    """

    rule: str
    title: str
    count: int
    of: int
    meaning: str
    next_step: str
    columns: tuple[str, ...]
    worst: tuple[tuple[str, ...], ...]


def finding_of(
    table: Table, rule: str, words: tuple[str, str, str], bad: Any, size: Any, columns: list[str]
) -> list[Finding]:
    """Return the finding about the rows where `bad` holds; none if there is no such row.

    words: title, meaning and next step. size: how bad each row is. columns: shown in addition to the entity.
    """
    bad = np.asarray(bad, bool)
    if not bad.any():
        return []
    places = np.flatnonzero(bad)
    worst = places[np.argsort(-np.asarray(size, float)[places], kind="stable")][:WORST]
    entity = table.roles.get("key")
    headings = list(dict.fromkeys([*([entity] if entity else []), *columns, *table.figures[:2]]))
    cells = [
        tuple(
            text.removesuffix(" 00:00:00") if (text := str(table.rows[name].iloc[place])) != "NaT" else ""
            for name in headings
        )
        for place in worst
    ]
    return [Finding(rule, words[0], int(bad.sum()), len(bad), words[1], words[2], tuple(headings), tuple(cells))]


def required(column: Column | None, what: str) -> Column:
    if column is None:
        raise NotChecked(f"no column of {what}")
    return column


def days_between(later: Column, earlier: Column) -> Any:
    return (later.day - earlier.day).dt.total_seconds() / 86_400
