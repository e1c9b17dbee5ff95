"""The catalogue as pages: docs/queries.md for people, and the skill `lake-schema` for agents.

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
    "fields": "a list of line items, each with or without _quarter, _year or _ttm appended",
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

Every question is asked as of an instant T. What became public after T is not filtered out: it is not there, and no
wording of a question brings it back. Give T as an instant with its offset (`2024-02-15T16:00:00-05:00`); a date alone
is refused.

- Prefer a named query to SQL: `pitlake run NAME --as-of T`, or the tool `run_query`. SQL is DuckDB's:
  `pitlake query --as-of T "…"`, or the tool `query`. To search texts, use `pitlake search` or the tool `search`.
- A dataset is a view of the newest revisions public at T. `<dataset>_revisions` has every revision, `gaps` the records
  that could not become a row, and `lake_info` each dataset's watermark. `as_of()` and `now()` answer T.
- `available_at` is when a row became public, and `available_at_source` is the clock that dates it. Rows keep both, and
  `evidence`, only if they come from one view and no column is renamed or computed. Any other row is `computed`: its
  `newest_input_at` is the newest instant of what was read. That is not a publication time, and neither are periods,
  ex-dates and fiscal dates.
- To read one company of news, report_sections, exhibits, qa_exchanges, xbrl_facts or prices, select from
  `<dataset>_of(ticker)` instead of the view: it is many times faster and returns the same rows.
- Columns "known only with hindsight", above all tickers, hold what the source says today about past records. Never
  count or select by whether they are filled. `names` has a company's names at the time.
- An empty answer is a fact about T, not a failure: look at `gaps` before you conclude that something does not exist.
- Long answers come in pages: ask again with `next_cursor` while `truncated` is true. End SQL with ORDER BY over a key.
"""

REFERENCE_NOTE = """[reference.md](reference.md) has the columns of each dataset, when its rows became public, and the
parameters of every named query. The tool `describe` also returns a dataset's columns."""

QUERIES_RULES = """Run a query with `pitlake run NAME --as-of T`, `session.run(NAME, …)` or the MCP tool `run_query`.
Each query is a file in sql/queries whose values are bound as parameters. Every answer starts with `available_at` and
`available_at_source`, and contains only what was public at T."""


def queries_page() -> str:
    queries = catalogue.all_queries().values()
    rows = [(f"[{query.name}](#{query.name})", query.agent, query.summary) for query in queries]
    parts = [
        "# Named queries",
        QUERIES_RULES,
        table(("query", "agent", "what"), rows),
        "## Types of parameters",
        table(("type", "value"), list(TYPES_IN_WORDS.items())),
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
        parts.append(f"- **{query.name}**({taken}): {query.summary}{one_of} Returns {gives}.")
    return "\n\n".join(parts).replace(".\n\n- **", ".\n- **") + "\n"


def _hindsight(dataset: Dataset) -> str:
    marked = [name for name in dataset.agent_columns if name in dataset.hindsight]
    return f"\nKnown only with hindsight: {', '.join(marked)}." if marked else ""


def _query_section(query: Query) -> Iterable[str]:
    yield f"## {query.name}"
    yield f"{query.summary} Reads {', '.join(query.reads)}. Rows are identified by {', '.join(query.ids)}."
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
