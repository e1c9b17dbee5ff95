"""The catalogue as pages: docs/queries.md for people, and the skill `lake-schema` for agents. Made only from files.

Contracts and headers define datasets and queries; these pages format them.
"""

from collections.abc import Iterable

from pitlake.contract import Dataset
from pitlake.datasets import all_datasets
from pitlake.questions import catalogue
from pitlake.questions.catalogue import Parameter, Query
from pitlake.questions.dictionary import shown, table

TYPES_IN_WORDS = {
    "ticker": "a ticker",
    "text": "a text",
    "forms": "periodic_first, periodic or any",
    "items": "a list of line items, such as revenue; on the command line with commas",
    "fields": "a list of line items, each alone or with _quarter, _year or _ttm behind it",
    "spans": "a list of quarter, year, ttm and balance",
    "texts": "a list of texts; on the command line with commas",
    "int": "a whole number above 0",
    "moment": "an instant with its offset, or a date, which means its start in New York",
    "day": "a date, or an instant, which means its New York day",
    "vector": "a list of numbers; on the command line as JSON",
    "pairs": 'a JSON array of {"ticker": …, "at": instant}',
}

SKILL_FRONT = """---
name: lake-schema
description: >-
  How to ask the point-in-time lake: the rules of time, which datasets there are, and where to find their columns and
  the named queries. Read it before writing SQL against the lake, before choosing a query for pitlake run or the
  run_query tool, or when an answer is empty or refused. It is not a source of data itself.
---
"""

SKILL_RULES = """# Asking the lake

Everything is asked as of an instant T. What became public after T is not filtered out, it is not there; no wording of a
question brings it back. Give T as an instant with its offset (`2024-02-15T16:00:00-05:00`); a date alone is refused.

- Prefer a named query to SQL: `pitlake run NAME --as-of T`, or the tool `run_query`. SQL is DuckDB's:
  `pitlake query --as-of T "…"`, or the tool `query`. Texts are searched with `pitlake search` or the tool `search`.
- A dataset is a view of the newest revisions public at T. `<dataset>_revisions` has every one, `gaps` what could not
  become a row, `lake_info` each dataset's watermark. `as_of()` and `now()` answer T.
- `available_at`: when a row became public; `available_at_source`: what dates it. Only rows of one view, no column
  renamed or computed, keep them and `evidence`. Any other is `computed`: its `newest_input_at` is the newest instant
  of what was read, not a publication time. Nor are periods, ex-dates and fiscal dates.
- Select from `<dataset>_of(ticker)` instead of the view when you want one company of news, report_sections, exhibits,
  qa_exchanges, xbrl_facts or prices: it is many times faster and gives the same rows.
- Columns "known with hindsight alone" hold the source's word of today on records of the past, tickers above all: never
  count or select by whether they are there. `names` has what a company was called then.
- An empty answer is a fact about T, not a failure: look at `gaps` before you conclude that something does not exist.
- More rows than fit come in pages: ask again with `next_cursor` while `truncated` is true. End SQL with ORDER BY over
  a key.
"""

REFERENCE_NOTE = """The columns of each, when its rows became public, and the parameters of every named query are in
[reference.md](reference.md). The tool `describe` gives a dataset's columns too."""

QUERIES_RULES = """`pitlake run NAME --as-of T` runs one; so do `session.run(NAME, …)` and the MCP tool `run_query`.
Each is a file in sql/queries, its values bound as parameters. Every answer starts with `available_at` and
`available_at_source`; what was not public at T is not in it."""


def queries_page() -> str:
    """Return docs/queries.md."""
    queries = catalogue.all_queries().values()
    rows = [(f"[{query.name}](#{query.name})", query.agent, query.summary) for query in queries]
    parts = [
        "# Named queries",
        QUERIES_RULES,
        table(("query", "agent", "what"), rows),
        "## Types of parameters",
        table(("type", "what to give"), list(TYPES_IN_WORDS.items())),
    ]
    for query in queries:
        parts += _query_section(query)
    return "\n\n".join(parts) + "\n"


def skill() -> str:
    """Return .claude/skills/lake-schema/SKILL.md, which agents load: the rules, and the names of datasets and
    queries.
    """
    names = ", ".join(all_datasets())
    return f"{SKILL_FRONT}{SKILL_RULES}\n## Datasets\n\n{names}\n\n{REFERENCE_NOTE}\n"


def reference() -> str:
    """Return .claude/skills/lake-schema/reference.md, which agents open when they need it: columns and queries."""
    parts = ["# Datasets and named queries", "## Datasets"]
    for dataset in all_datasets().values():
        columns = ", ".join(f"{column.name} {column.type}" for column in dataset.columns)
        parts.append(
            f"### {dataset.name}\n\n{dataset.summary} Key: {', '.join(dataset.key)}. Shown {shown(dataset)}.\n"
            f"Public at: {dataset.availability} Cited by: {dataset.citation}.{_hindsight(dataset)}\n\n`{columns}`"
        )
    parts.append("## Named queries")
    for query in catalogue.all_queries().values():
        taken = ", ".join(map(_taken, query.parameters))
        one_of = f" Exactly one of {' and '.join(query.one_of)}." if query.one_of else ""
        gives = ", ".join(column.name for column in query.columns[len(catalogue.SYSTEM_COLUMNS) :])
        parts.append(f"- **{query.name}**({taken}): {query.summary}{one_of} Gives {gives}.")
    return "\n\n".join(parts).replace(".\n\n- **", ".\n- **") + "\n"


def _hindsight(dataset: Dataset) -> str:
    marked = [name for name in dataset.agent_columns if name in dataset.hindsight]
    return f"\nKnown with hindsight alone: {', '.join(marked)}." if marked else ""


def _query_section(query: Query) -> Iterable[str]:
    yield f"## {query.name}"
    yield f"{query.summary} Reads {', '.join(query.reads)}; rows are named by {', '.join(query.ids)}."
    if query.one_of:
        yield f"Takes exactly one of {' and '.join(query.one_of)}."
    yield table(("parameter", "type", "needed", "meaning"), [_row(parameter) for parameter in query.parameters])
    yield table(("column", "unit", "meaning"), [(column.name, column.unit, column.meaning) for column in query.columns])


def _row(parameter: Parameter) -> tuple[str, str, str, str]:
    return parameter.name, parameter.type, _need(parameter), parameter.meaning


def _need(parameter: Parameter) -> str:
    if parameter.required:
        return "yes"
    return "no" if parameter.default is None else f"default {parameter.default}"


def _taken(parameter: Parameter) -> str:
    if parameter.required:
        return f"{parameter.name} {parameter.type}"
    default = "" if parameter.default is None else f" = {parameter.default}"
    return f"[{parameter.name} {parameter.type}{default}]"
