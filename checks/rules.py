"""What is expected of a dataset's staged rows, generated from its contract: one rule an expectation, as plain data.

Great Expectations is named here and not imported, so that definitions load fast; `checks.expectations` runs the rules.
Adding a kind of expectation is adding a function here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Literal

from pitlake import clock
from pitlake.contract import Column, Dataset
from pitlake.lake.publishing.audit import Severity
from pitlake.lake.publishing.stage import staged_schema

MICROSECOND = timedelta(microseconds=1)

Window = tuple[datetime | None, datetime | None]

Kind = Literal[
    "ExpectColumnValuesToNotBeNull",
    "ExpectColumnValuesToBeUnique",
    "ExpectCompoundColumnsToBeUnique",
    "ExpectColumnValuesToBeInSet",
    "ExpectColumnValuesToBeBetween",
    "ExpectColumnValuesToMatchRegex",
    "ExpectColumnValuesToBeJsonParseable",
]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One expectation: the name people read, what a break of it means, and Great Expectations' class and arguments."""

    name: str
    kind: Kind
    arguments: Mapping[str, Any] = field(default_factory=dict)
    severity: Severity = "blocking"


def rules(dataset: Dataset, window: Window) -> tuple[Rule, ...]:
    """Every rule of a dataset. `window`: the first and last instant its rows may be available at, one of them known."""
    return (
        *_required(dataset),
        *_unique(dataset),
        *_clocks(dataset, *window),
        *(rule for column in dataset.columns for rule in _limits(column)),
        *(_json(name) for name in dataset.json_columns),
    )


def window_of(partitions: tuple[str, ...], observed_at: datetime) -> Window:
    """The instants at which rows of these partitions may be available; undated partitions leave the start open."""
    days = [date.fromisoformat(name) for name in partitions if name[:1].isdigit()]
    if not days or len(days) != len(partitions):
        return None, observed_at
    return clock.start_of_new_york_day(min(days)), min(clock.end_of_new_york_day(max(days)) - MICROSECOND, observed_at)


def _required(dataset: Dataset) -> Iterator[Rule]:
    nullable = {one.name: one.nullable for one in dataset.arrow_schema}
    for name in staged_schema(dataset).names:
        if not nullable[name]:
            yield Rule(name=f"{name} is there", kind="ExpectColumnValuesToNotBeNull", arguments={"column": name})
    yield Rule(
        name="evidence is not blank",
        kind="ExpectColumnValuesToMatchRegex",
        arguments={"column": "evidence", "regex": r"\S"},
    )


def _unique(dataset: Dataset) -> Iterator[Rule]:
    """One row per identity (and instant, in a source-dated history), one answer per key, instant and tie break."""
    identity = list(dataset.identity)
    if dataset.revised_at == clock.AVAILABLE_AT:
        identity.append(clock.AVAILABLE_AT)
    yield _one_per(identity)
    answers = list(dict.fromkeys((*dataset.key, clock.AVAILABLE_AT, *dataset.tiebreak)))
    if not set(identity) <= set(answers):
        yield _one_per(answers)


def _one_per(columns: list[str]) -> Rule:
    name = f"one row per {', '.join(columns)}"
    if len(columns) == 1:
        return Rule(name=name, kind="ExpectColumnValuesToBeUnique", arguments={"column": columns[0]})
    arguments = {"column_list": columns, "ignore_row_if": "never"}
    return Rule(name=name, kind="ExpectCompoundColumnsToBeUnique", arguments=arguments)


def _clocks(dataset: Dataset, first: datetime | None, last: datetime | None) -> Iterator[Rule]:
    tags = [dataset.source_tag, *dataset.other_tags]
    tag = {"column": "available_at_source", "value_set": tags}
    yield Rule(name=f"available_at_source is {' or '.join(tags)}", kind="ExpectColumnValuesToBeInSet", arguments=tag)
    bounds = {"column": clock.AVAILABLE_AT, "min_value": first, "max_value": last}
    yield Rule(name="available_at lies in the run's window", kind="ExpectColumnValuesToBeBetween", arguments=bounds)


def _limits(column: Column) -> Iterator[Rule]:
    severity: Severity = "blocking" if column.strict else "warning"
    if column.values:
        yield Rule(
            name=f"{column.name} is one of {', '.join(column.values)}",
            kind="ExpectColumnValuesToBeInSet",
            arguments={"column": column.name, "value_set": list(column.values)},
            severity=severity,
        )
    if column.minimum is not None or column.maximum is not None:
        yield Rule(
            name=f"{column.name} is {_bounds(column)}",
            kind="ExpectColumnValuesToBeBetween",
            arguments={"column": column.name, "min_value": column.minimum, "max_value": column.maximum},
            severity=severity,
        )
    if column.pattern:
        yield Rule(
            name=f"{column.name} is like {column.pattern}",
            kind="ExpectColumnValuesToMatchRegex",
            arguments={"column": column.name, "regex": f"^(?:{column.pattern})$"},
            severity=severity,
        )


def _bounds(column: Column) -> str:
    if column.maximum is None:
        return f"at least {column.minimum}"
    return f"at most {column.maximum}" if column.minimum is None else f"{column.minimum} to {column.maximum}"


def _json(name: str) -> Rule:
    return Rule(name=f"{name} is JSON", kind="ExpectColumnValuesToBeJsonParseable", arguments={"column": name})
