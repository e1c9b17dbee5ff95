"""The catalogue as pages: docs/queries.md for people, and the reference of the skill `lake-schema` for agents.

Contracts and headers define the datasets and queries; this module only formats them.
"""

from pitlake.datasets import all_datasets
from pitlake.questions import catalogue
from pitlake.questions.catalogue import Parameter
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
        parts.append(f"## {query.name}")
        ids = f"Rows are identified by {', '.join(query.ids)}."
        parts.append(f"{query.summary} Reads {', '.join(query.reads)}. {ids}")
        if query.one_of:
            parts.append(f"Takes exactly one of {' and '.join(query.one_of)}.")
        needs = [
            "yes" if parameter.required else "no" if parameter.default is None else f"default {parameter.default}"
            for parameter in query.parameters
        ]
        rows_of_parameters = [
            (parameter.name, parameter.type, need, parameter.meaning)
            for parameter, need in zip(query.parameters, needs, strict=True)
        ]
        rows_of_columns = [(column.name, column.unit, column.meaning) for column in query.columns]
        parts.append(table(("parameter", "type", "needed", "meaning"), rows_of_parameters))
        parts.append(table(("column", "unit", "meaning"), rows_of_columns))
    return "\n\n".join(parts) + "\n"


def reference() -> str:
    """Return .claude/skills/lake-schema/reference.md, the list of columns and queries that agents open when needed."""
    parts = ["# Datasets and named queries", "## Datasets"]
    for dataset in all_datasets().values():
        columns = ", ".join(f"{column.name} {column.type}" for column in dataset.columns)
        marked = [name for name in dataset.agent_columns if name in dataset.hindsight]
        hindsight = f"\nKnown only with hindsight: {', '.join(marked)}." if marked else ""
        parts.append(
            f"### {dataset.name}\n\n{dataset.summary} Key: {', '.join(dataset.key)}. Shown {shown(dataset)}.\n"
            f"Public at: {dataset.availability} Cited by: {dataset.citation}.{hindsight}\n\n`{columns}`"
        )
    parts.append("## Named queries")
    for query in catalogue.all_queries().values():
        taken = ", ".join(map(_taken, query.parameters))
        one_of = f" Exactly one of {' and '.join(query.one_of)}." if query.one_of else ""
        gives = ", ".join(column.name for column in query.columns[len(catalogue.SYSTEM_COLUMNS) :])
        parts.append(f"- **{query.name}**({taken}): {query.summary}{one_of} Returns {gives}.")
    return "\n\n".join(parts).replace(".\n\n- **", ".\n- **") + "\n"


def _taken(parameter: Parameter) -> str:
    if parameter.required:
        return f"{parameter.name} {parameter.type}"
    default = "" if parameter.default is None else f" = {parameter.default}"
    return f"[{parameter.name} {parameter.type}{default}]"
