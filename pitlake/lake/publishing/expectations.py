"""Expectations of a dataset's staged rows, generated from its contract as rules in plain data.

Two engines run the rules. DuckDB runs them before a publish; a row that breaks a blocking rule becomes a gap (see
`refusal`). Great Expectations runs them in `checks.expectations`; this module does not import it. To add a kind of
expectation, add a function here and its SQL in `predicate`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Literal, NamedTuple

from pitlake import clock
from pitlake.contract import Column, Comparison, Dataset
from pitlake.lake.publishing.audit import Severity
from pitlake.lake.publishing.stage import staged_schema
from pitlake.lake.tables.query import quoted

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
    "ExpectColumnPairValuesAToBeGreaterThanB",
]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """An expectation: its name for people, the meaning of a failure, and Great Expectations' class and arguments."""

    name: str
    kind: Kind
    arguments: Mapping[str, Any] = field(default_factory=dict)
    severity: Severity = "blocking"

    @property
    def columns(self) -> tuple[str, ...]:
        names = (self.arguments.get(name) for name in ("column", "column_A", "column_B"))
        return (*filter(None, names), *self.arguments.get("column_list", ()))


def rules(dataset: Dataset, window: Window) -> tuple[Rule, ...]:
    """Return every rule of a dataset. `window`: the first and last instant at which its rows may be public."""
    bounds = {"column": clock.AVAILABLE_AT, "min_value": window[0], "max_value": window[1]}
    name = "available_at lies in the run's window"
    return (*standing_rules(dataset), Rule(name=name, kind="ExpectColumnValuesToBeBetween", arguments=bounds))


def standing_rules(dataset: Dataset) -> tuple[Rule, ...]:
    """Return the rules of a dataset that do not depend on the run."""
    # One row per identity (and instant, in a source-dated history), and per key, instant and tie-break.
    identity = list(dataset.identity)
    if dataset.revised_at == clock.AVAILABLE_AT:
        identity.append(clock.AVAILABLE_AT)
    answers = list(dict.fromkeys((*dataset.key, clock.AVAILABLE_AT, *dataset.tiebreak)))
    keys = [identity] if set(identity) <= set(answers) else [identity, answers]
    return (*_of_rows(dataset), *map(_one_per, keys))


class RowTest(NamedTuple):
    """A test of a single row: its name for people, SQL that is false for rows that fail, and the columns it reads."""

    name: str
    sql: str
    columns: tuple[str, ...]


def row_tests(dataset: Dataset) -> tuple[RowTest, ...]:
    """Return the tests that refuse single rows: every blocking rule, and non-finite numbers, which GX can't see."""
    floats = [column.name for column in dataset.columns if column.type == "float"]
    return (
        *(RowTest(f"{name} is finite", f"isfinite({quoted(name)})", (name,)) for name in floats),
        *(
            RowTest(rule.name, predicate(rule), rule.columns)
            for rule in _of_rows(dataset)
            if rule.severity == "blocking"
        ),
    )


def _of_rows(dataset: Dataset) -> tuple[Rule, ...]:
    """Return the rules about single rows that do not depend on the run."""
    tags = list(dataset.source_tags)
    tag = {"column": "available_at_source", "value_set": tags}
    not_blank = {"column": "evidence", "regex": r"\S"}
    nullable = {field.name: field.nullable for field in dataset.arrow_schema}
    return (
        *(
            Rule(name=f"{name} is there", kind="ExpectColumnValuesToNotBeNull", arguments={"column": name})
            for name in staged_schema(dataset).names
            if not nullable[name]
        ),
        Rule(name="evidence is not blank", kind="ExpectColumnValuesToMatchRegex", arguments=not_blank),
        Rule(name=f"available_at_source is {' or '.join(tags)}", kind="ExpectColumnValuesToBeInSet", arguments=tag),
        *(rule for column in dataset.columns for rule in _limits(column)),
        *map(_compared, dataset.comparisons, dataset.rules),
        *(
            Rule(name=f"{name} is JSON", kind="ExpectColumnValuesToBeJsonParseable", arguments={"column": name})
            for name in dataset.json_columns
        ),
    )


def predicate(rule: Rule) -> str:
    """Return SQL that is false for rows that break a rule, and null for rows that the rule does not cover."""
    arguments = rule.arguments
    column = quoted(arguments["column"]) if "column" in arguments else ""
    match rule.kind:
        case "ExpectColumnValuesToNotBeNull":
            return f"{column} IS NOT NULL"
        case "ExpectColumnValuesToBeInSet":
            return f"{column} IN ({', '.join(map(_literal, arguments['value_set']))})"
        case "ExpectColumnValuesToMatchRegex":
            return f"regexp_matches({column}, {_literal(arguments['regex'])})"
        case "ExpectColumnValuesToBeJsonParseable":
            return f"json_valid({column})"
        case "ExpectColumnPairValuesAToBeGreaterThanB":
            left, right = quoted(arguments["column_A"]), quoted(arguments["column_B"])
            return f"{left} {'>=' if arguments['or_equal'] else '>'} {right}"
        case "ExpectColumnValuesToBeBetween":
            sides = (("min_value", ">", "strict_min"), ("max_value", "<", "strict_max"))
            conditions = [
                f"{column} {operator}{'' if arguments.get(strict) else '='} {_literal(arguments[bound])}"
                for bound, operator, strict in sides
                if arguments.get(bound) is not None
            ]
            return " AND ".join(conditions)
    raise ValueError(f"{rule.kind} does not judge rows")


def _literal(value: str | float) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"{value!r}::DOUBLE"


def window_of(partitions: tuple[str, ...], observed_at: datetime) -> Window:
    """Return the first and last instant at which rows of these partitions may be available; no first if undated."""
    days = [date.fromisoformat(name) for name in partitions if name[:1].isdigit()]
    if not days or len(days) != len(partitions):
        return None, observed_at
    return clock.start_of_new_york_day(min(days)), min(clock.end_of_new_york_day(max(days)) - MICROSECOND, observed_at)


def _one_per(columns: list[str]) -> Rule:
    name = f"one row per {', '.join(columns)}"
    if len(columns) == 1:
        return Rule(name=name, kind="ExpectColumnValuesToBeUnique", arguments={"column": columns[0]})
    arguments = {"column_list": columns, "ignore_row_if": "never"}
    return Rule(name=name, kind="ExpectCompoundColumnsToBeUnique", arguments=arguments)


def _compared(rule: Comparison, name: str) -> Rule:
    greater, strict = rule.operator.startswith(">"), len(rule.operator) == 1
    if isinstance(rule.right, str):
        pair = (rule.left, rule.right) if greater else (rule.right, rule.left)
        arguments = {
            "column_A": pair[0],
            "column_B": pair[1],
            "or_equal": not strict,
            "ignore_row_if": "either_value_is_missing",
        }
        return Rule(name=name, kind="ExpectColumnPairValuesAToBeGreaterThanB", arguments=arguments)
    bound, exclusive = ("min_value", "strict_min") if greater else ("max_value", "strict_max")
    arguments = {"column": rule.left, bound: rule.right, exclusive: strict}
    return Rule(name=name, kind="ExpectColumnValuesToBeBetween", arguments=arguments)


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
