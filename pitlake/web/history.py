"""A number's history: every public revision on two clocks, and the same number in other periods."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from pitlake.contract import Dataset
from pitlake.datasets import all_datasets
from pitlake.errors import BadInput
from pitlake.lake.tables.query import columns
from pitlake.lake.tables.query import quoted as identifier
from pitlake.web.questions import datasets, quoted, rows

if TYPE_CHECKING:
    from pitlake.session import Session

NEIGHBOURS = 12
_SAME_LENGTH = 20
"""The most days by which periods of the same length differ."""


@dataclass(frozen=True)
class Number:
    """The number in one column of a row, which is identified by its key.

    Parts of the key that are null in the row are None.
    """

    dataset: Dataset
    column: str
    key: Mapping[str, str | None]

    @property
    def about(self) -> str:
        """Return the key column with the number's business date; empty if there is none."""
        days = [column.name for column in self.dataset.columns if column.type == "date"]
        return next((name for name in reversed(self.dataset.key) if name in days), "")

    @property
    def day(self) -> date | None:
        text = self.key.get(self.about)
        return date.fromisoformat(text) if text else None

    @property
    def sql(self) -> str:
        """Return the SQL for every revision of the number, oldest first."""
        order = columns(("available_at", *self.dataset.tiebreak, "evidence"))
        same = "\n    AND ".join(_is(self.dataset, name, value) for name, value in self.key.items())
        return (
            f"SELECT {identifier(self.column)} AS value, available_at, available_at_source, evidence\n"
            f"FROM {self.dataset.name}_revisions\nWHERE\n    {same}\nORDER BY {order}"
        )

    @property
    def neighbours_sql(self) -> str:
        """Return the SQL that reads the same figure for all periods."""
        days = {column.name for column in self.dataset.columns if column.type == "date"}
        rest = {name: value for name, value in self.key.items() if name not in days}
        same = " AND ".join(_is(self.dataset, name, value) for name, value in rest.items())
        about, value = identifier(self.about), identifier(self.column)
        start = "period_start" if "period_start" in self.dataset.key else "NULL::DATE"
        return (
            f"SELECT {about} AS about, {start} AS since, available_at, {value} AS value "
            f"FROM {self.dataset.name}_revisions "
            f"WHERE {same} AND {value} IS NOT NULL AND {about} IS NOT NULL ORDER BY 3, 1"
        )


@dataclass(frozen=True)
class NumberHistory:
    """The history of a number. revisions: rows of `Number.sql`. neighbours: (date, known at, value) of near periods."""

    number: Number
    revisions: list[Any]
    neighbours: list[tuple[date, datetime, float]]

    @property
    def values(self) -> list[tuple[datetime, float]]:
        """Return the times at which values became known, and the values."""
        return [
            (revision.available_at, float(revision.value)) for revision in self.revisions if revision.value is not None
        ]


def number(query: Mapping[str, str]) -> Number:
    """Parse the number of an address. Raises BadInput if the pages do not show it."""
    name, _, column = query.get("of", "").partition(".")
    contract = all_datasets().get(name)
    if contract is None or name not in datasets():
        raise BadInput("of", f"{name!r} is not a dataset that the pages read", f"give one of {', '.join(datasets())}")
    numbers = [column.name for column in contract.columns if column.type in ("float", "int")]
    if column not in numbers:
        raise BadInput("of", f"{column!r} is not a column of numbers", f"give {name}. and one of {', '.join(numbers)}")
    days = {column.name for column in contract.columns if column.type == "date"}
    key = {part: query.get(f"k_{part}") for part in contract.key}
    for part, value in key.items():
        if value is not None and part in days:
            try:
                date.fromisoformat(value)
            except ValueError:
                raise BadInput(f"k_{part}", f"{value!r} is not a date", "give a date such as 2024-04-28") from None
    return Number(contract, column, key)


def history(session: "Session", chosen: Number) -> NumberHistory:
    """Read the history of a number. Raises the errors of a session."""
    revisions = rows(session.sql(chosen.sql))
    day, since = chosen.day, chosen.key.get("period_start")
    if day is None:
        return NumberHistory(chosen, revisions, [])
    values = rows(session.sql(chosen.neighbours_sql))
    if since is not None:
        length = (day - date.fromisoformat(since)).days
        values = [
            value for value in values if value.since and abs((value.about - value.since).days - length) <= _SAME_LENGTH
        ]
    near = sorted({value.about for value in values}, key=lambda about: (abs((about - day).days), about))[:NEIGHBOURS]
    neighbours = [(value.about, value.available_at, float(value.value)) for value in values if value.about in near]
    return NumberHistory(chosen, revisions, neighbours)


def _is(dataset: Dataset, name: str, value: str | None) -> str:
    if value is None:
        return f"{identifier(name)} IS NULL"
    kind = next(column.type for column in dataset.columns if column.name == name)
    return f"{identifier(name)} = {'DATE ' if kind == 'date' else ''}{quoted(value)}"
