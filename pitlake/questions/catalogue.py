"""The query catalogue: one SQL file per query in sql/queries. Its header comment states parameters and columns.

A header line is `-- key: text`, `-- param NAME TYPE required|optional|= JSON | meaning` or `-- column NAME [UNIT] |
meaning`. `-- column NAME` alone takes unit and meaning from sql/columns.txt. `parameters` checks and formats the
values. They are bound as prepared parameters and never inserted into the SQL text. Nothing here runs SQL. Sessions load
`session_macros`.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pitlake.aliases import meant
from pitlake.errors import BadInput, choice
from pitlake.questions.parameters import TYPES, spell
from pitlake.questions.sql_files import columns_file, sql_file, sql_files

SYSTEM_COLUMNS = ("available_at", "available_at_source")
COMPANY = "company"
"""The placeholder of a query for the company of its `ticker`, which the parent resolves."""

POLLED = "polled"
"""The placeholder of a query for the days that polls of its company's dividends and splits cover, set by the parent."""

EVIDENCE = ("evidence", "evidence_ids")
"""Every answer has one of these columns, with the row's source or all of its sources."""

COUNTS = frozenset(
    (
        *("analysts", "articles", "employees", "members", "shares", "place", "ratio", "score", "similarity"),
        *("day", "days", "month", "months", "quarter", "year", "years", "the series' own"),
    )
)
"""The units a header may state.

For any other unit, such as a currency, the header names the column that contains the unit.
"""

_KEYS = ("summary", "agent", "reads", "searches", "ids", "one of", "hindsight", "aliases")
_PARAM = re.compile(
    r"(?P<name>\w+) (?P<type>\w+) (?:(?P<need>required|optional)|= (?P<default>\S+)) \| (?P<meaning>.+)"
)
_MACRO = re.compile(r"CREATE (?:MACRO|VIEW) (?:lake\.)?(\w+)")
_UNION = re.compile(r"-- union: (\w+) \| (.+)\n((?:-- columns: .+\n)+)")
_READS = re.compile(r"-- reads: (.+)\n")
_COLUMN = re.compile(r"(?P<name>\w+)(?: \[(?P<unit>[^\]]+)\])? \| (?P<meaning>.+)")
_NOT_CODE = re.compile(r"'(?:[^']|'')*'|--[^\n]*")
_PLACEHOLDER = re.compile(r"\$([A-Za-z_]\w*)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """One parameter.

    `type` is a key of pitlake.questions.parameters.TYPES; `default` is the value that replaces an absent parameter.
    """

    name: str
    type: str
    meaning: str
    required: bool
    default: Any = None


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a query's answer. unit: the unit of a number, one of COUNTS, or the column with the unit."""

    name: str
    meaning: str
    unit: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """One named query. `columns` are all columns of the answer in order. A caller gives exactly one parameter of
    `one_of`.

    searches: the datasets whose words or vectors the query compares completely. ids: the columns that identify a row of
    the answer. hindsight: answer columns that could not be known at as_of; `*` if the query needs hindsight. aliases:
    other names of the query.
    """

    name: str
    summary: str
    agent: str
    reads: tuple[str, ...]
    searches: tuple[str, ...]
    ids: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    columns: tuple[Field, ...]
    one_of: tuple[str, ...]
    hindsight: tuple[str, ...]
    aliases: tuple[str, ...]
    sql: str

    @property
    def by_index(self) -> str:
        """Return the SQL for a process with an index of the texts or vectors that the query searches."""
        indexed = sql_file("indexed", self.name)
        return indexed.read_text(encoding="utf-8") if indexed.is_file() else self.sql

    def bind(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters to bind, in the form that the SQL expects. Raises BadInput with the field.

        The parameters COMPANY and POLLED are None; the session sets them.
        """
        names = [parameter.name for parameter in self.parameters]
        for name in values:
            if name not in names:
                raise BadInput(name, f"{self.name} has no such parameter", f"it has {', '.join(names)}")
        given_names = {name for name, value in values.items() if value is not None}
        if self.one_of and len(given_names.intersection(self.one_of)) != 1:
            raise BadInput(
                " or ".join(self.one_of), f"{self.name} takes exactly one of them", "give exactly one of them"
            )
        bound: dict[str, Any] = {}
        for parameter in self.parameters:
            value = values.get(parameter.name)
            if value is None and parameter.required:
                raise BadInput(parameter.name, f"{self.name} needs it", parameter.meaning)
            bound[parameter.name] = parameter.default if value is None else spell(parameter.type, parameter.name, value)
        return bound | {name: None for name in (COMPANY, POLLED) if name in placeholders(self.sql)}


def all_queries() -> dict[str, Query]:
    """Return all queries by name, in alphabetical order."""
    return dict(_all_queries())


def find(name: str) -> Query | None:
    """Return the query of this name or alias, or None."""
    return _all_queries().get(name) or next((query for query in _all_queries().values() if name in query.aliases), None)


def get(name: str) -> Query:
    """Return a query by its name or an alias. Raises BadInput with the names of the queries, or for a dataset's name
    with the queries that read it.
    """
    query = find(name)
    if query is None:
        over = [query.name for query in _all_queries().values() if meant(name) in query.reads]
        raise BadInput(
            "query", f"there is no query {name!r}", choice(name, over or _all_queries(), "pitlake run --help")
        )
    return query


def facts(query: Query) -> dict[str, Any]:
    """Return a query as plain values, for JSON."""
    return {
        "name": query.name,
        "agent": query.agent,
        "summary": query.summary,
        "reads": list(query.reads),
        "parameters": [
            {
                "name": parameter.name,
                "type": parameter.type,
                "required": parameter.required,
                "default": parameter.default,
                "meaning": parameter.meaning,
            }
            for parameter in query.parameters
        ],
        "ids": list(query.ids),
        "exactly_one_of": list(query.one_of),
        "hindsight": list(query.hindsight),
        "aliases": list(query.aliases),
        "columns": [{"name": column.name, "unit": column.unit, "meaning": column.meaning} for column in query.columns],
    }


def session_macros(datasets: Collection[str]) -> tuple[str, ...]:
    """Return the SQL texts a session runs, in order, once it has the views of these datasets.

    They define full-text search, nearest vectors, as-of series and unions, without those of missing datasets.
    """
    return tuple(text for reads, text in _macros() if reads <= set(datasets))


@dataclass(frozen=True, kw_only=True, slots=True)
class Union:
    """A view over several datasets, in order of preference. Its column `source` names the dataset of each row."""

    name: str
    summary: str
    reads: tuple[str, ...]
    columns: tuple[str, ...]


@cache
def unions() -> dict[str, Union]:
    """Return the views that read every source of bars, facts and so on, by name."""
    views = (
        Union(name=name, summary=summary, reads=reads, columns=tuple(re.findall(r"\w+(?=[,\n])", columns)))
        for reads, text in _macro_files()
        for name, summary, columns in _UNION.findall(text)
    )
    return {union.name: union for union in sorted(views, key=lambda union: union.name)}


def macro_reads(words: set[str]) -> set[str]:
    """Return the datasets that the macros and unions among these words read."""
    by_macro = _reads_by_macro()
    return {name for macro in words & by_macro.keys() for name in by_macro[macro]}


def placeholders(sql: str) -> frozenset[str]:
    """Return the names of the `$name` parameters in SQL; dollars in strings and comments are ignored."""
    return frozenset(_PLACEHOLDER.findall(_NOT_CODE.sub("", sql)))


def parse(name: str, text: str) -> Query:
    """Parse a query file. Raises ValueError, which explains the fault of the header."""
    lines = text.strip().splitlines()
    end = next((index for index, line in enumerate(lines) if not line.startswith("--")), len(lines))
    header, sql = [line.removeprefix("--").strip() for line in lines[:end]], "\n".join(lines[end:]).strip()
    facts: dict[str, str] = {}
    parameters: list[Parameter] = []
    columns = [Field("available_at", "When the row became public; never after as_of.")]
    columns += [Field("available_at_source", "The clock that dates the row.")]
    for line in header:
        kind, _, rest = line.partition(" ")
        if kind == "param":
            match = _match(_PARAM, rest, name)
            default = None if match["default"] is None else json.loads(match["default"])
            required = match["need"] == "required"
            names = {field: match[field] for field in ("name", "type", "meaning")}
            parameters.append(Parameter(**names, required=required, default=default))
        elif kind == "column":
            column = _match(_COLUMN, _shared_columns().get(rest, rest), name)
            columns.append(Field(**column.groupdict(default="")))
        else:
            key, colon, value = line.partition(": ")
            if not colon or key not in _KEYS:
                raise ValueError(f"sql/queries/{name}.sql: unknown header line {line!r}")
            facts[key] = value
    if missing := {"summary", "agent", "reads", "ids"} - facts.keys():
        raise ValueError(f"sql/queries/{name}.sql: the header lacks {', '.join(sorted(missing))}")
    query = Query(
        name=name,
        summary=facts["summary"],
        agent=facts["agent"],
        reads=tuple(facts["reads"].split(", ")),
        searches=tuple(facts["searches"].split(", ")) if "searches" in facts else (),
        ids=tuple(facts["ids"].split(", ")),
        parameters=tuple(parameters),
        columns=tuple(columns),
        one_of=tuple(facts["one of"].split(", ")) if "one of" in facts else (),
        hindsight=tuple(facts["hindsight"].split(", ")) if "hindsight" in facts else (),
        aliases=tuple(facts["aliases"].split(", ")) if "aliases" in facts else (),
        sql=sql,
    )
    _check(query)
    return query


@cache
def _shared_columns() -> dict[str, str]:
    """Return the columns shared by several queries, by name, as header lines describe them."""
    return {line.split(" ", 1)[0]: line for line in columns_file().read_text(encoding="utf-8").splitlines()}


@cache
def _all_queries() -> dict[str, Query]:
    texts = ((path.stem, path.read_text(encoding="utf-8")) for path in sql_files("queries"))
    return {name: parse(name, text) for name, text in texts}


@cache
def _macros() -> tuple[tuple[frozenset[str], str], ...]:
    """Return the datasets and text of each macro file, fewest datasets first, because a macro must exist before another
    uses it.
    """
    return tuple(sorted(((frozenset(reads), text) for reads, text in _macro_files()), key=lambda macro: len(macro[0])))


def _macro_files() -> Iterator[tuple[tuple[str, ...], str]]:
    for path in sql_files("macros"):
        text = path.read_text(encoding="utf-8")
        reads = _READS.match(text)
        yield tuple(reads[1].split(", ")) if reads else (), text


@cache
def _reads_by_macro() -> dict[str, frozenset[str]]:
    return {macro: reads for reads, text in _macros() for macro in _MACRO.findall(text)}


def _match(pattern: re.Pattern[str], text: str, query: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        raise ValueError(f"sql/queries/{query}.sql: the header line about {text!r} does not have the required form")
    return match


def _check(query: Query) -> None:
    """Raise an error for a header that contradicts itself or the SQL below it."""
    from pitlake.datasets import all_datasets

    where = f"sql/queries/{query.name}.sql"
    names = [parameter.name for parameter in query.parameters]
    used = {"ticker" if name == COMPANY else name for name in placeholders(query.sql) - {POLLED}}
    if used != set(names) or len(names) != len(set(names)):
        raise ValueError(f"{where}: the SQL uses {sorted(used)}, the header declares {sorted(names)}")
    if unknown := {parameter.type for parameter in query.parameters} - TYPES.keys():
        raise ValueError(f"{where}: unknown parameter type {', '.join(sorted(unknown))}")
    if unknown := set(query.reads) - all_datasets().keys():
        raise ValueError(f"{where}: reads unknown dataset {', '.join(sorted(unknown))}")
    if not set(query.searches) <= set(query.reads):
        raise ValueError(f"{where}: 'searches' names a dataset that 'reads' lacks")
    columns = {column.name for column in query.columns}
    if not columns.issuperset({*query.hindsight} - {"*"}):
        raise ValueError(f"{where}: 'hindsight' names an unknown column")
    if not columns.intersection(EVIDENCE) or not columns.issuperset(query.ids):
        raise ValueError(f"{where}: no column is evidence, or 'ids' names an unknown column")
    if strange := {column.unit for column in query.columns} - columns - COUNTS - {""}:
        raise ValueError(f"{where}: unit {', '.join(sorted(strange))} is neither a column nor a count")
    marked = {column for read in query.reads for column in all_datasets()[read].hindsight}
    marked |= {"evidence_ids"} if "evidence" in marked else set()
    echoed = {"ticker"} if "pairs" in names else set()
    missing = columns & marked - echoed - {*query.hindsight}
    if missing and "*" not in query.hindsight:
        raise ValueError(f"{where}: 'hindsight' lacks {', '.join(sorted(missing))}")
    if not set(query.one_of) <= set(names):
        raise ValueError(f"{where}: 'one of' names an unknown parameter")
