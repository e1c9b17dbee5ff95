"""The data dictionary: a dataset's contract as a page for people and agents, and as plain facts.

Each page is Markdown generated from the contract, so it always agrees with the real columns. Nothing here reads the
lake.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from pitlake.contract import BASES, BASIS, KNOWN, Column, Dataset
from pitlake.datasets import get
from pitlake.questions.catalogue import Union

OF_THE_LAKE = frozenset({"available_at", BASIS, "release_rule", "acceptance_rule"})

KNOWN_TEXT = "This page says who could know the value of a column at `available_at`. The answers are:"
KNOWN_REST = """\
Columns not listed below are `record`. A `hindsight` column is shown unchanged: its row appears at the right time, but
the value may be a later one, such as a ticker of the day the source was queried. Count and join by CIK, and take names
from `names`.
"""

OF_UNIONS = {
    "available_at_source": "The clock that dates the row.",
    "began": "The start of the call, or when its text became public if no start is stated.",
    "created": "When its source says that it was made.",
    "evidence": "Where the row comes from.",
    "source": "The dataset of the row.",
    "text": "The text that searches read.",
}
"""The meaning of columns of unions, if the datasets state none or another one."""

CLOCKS = """Business dates are valid time: what a row is about. `available_at` is knowledge time, which `as_of` limits.
`observed_at` is transaction time, which `known_by` limits: when this lake first saw the row. No view shows it.

"""


def page(dataset: Dataset) -> str:
    """Return the dictionary page of one dataset, in Markdown."""
    columns = [
        (column.name, column.type, column.unit, column.meaning, answer(dataset, column.name))
        for column in agent_columns(dataset)
    ]
    parts = [
        f"# {dataset.name}: {dataset.title}",
        dataset.summary,
        _clocks_and_keys(dataset),
        "## Columns",
        table(("column", "type", "unit", "meaning", "[known](known.md)"), columns),
    ]
    if dataset.gap_rules:
        rules = [(rule.type, rule.reason, rule.when) for rule in dataset.gap_rules]
        parts += ["## Gaps", "A source record becomes a gap instead of a row when:"]
        parts += [table(("gap type", "reason", "when"), rules)]
    return "\n\n".join(parts) + "\n"


def known_page(datasets: Iterable[Dataset]) -> str:
    """Return the page about who could know each column at `available_at`. It lists all that are not `record`."""
    answers, rows = [name for name in KNOWN if name != "record"], []
    for dataset in datasets:
        by = {name: [column for column in dataset.agent_columns if answer(dataset, column) == name] for name in answers}
        rows += [(f"[{dataset.name}]({dataset.name}.md)", name, ", ".join(by[name])) for name in answers if by[name]]
    parts = ("# Who could know a value", KNOWN_TEXT, table(("known", "who"), list(KNOWN.items())), KNOWN_REST)
    return "\n\n".join((*parts, table(("dataset", "known", "columns"), rows))) + "\n"


def answer(dataset: Dataset, column: str) -> str:
    """Return who could know a view's column at available_at: a key of KNOWN."""
    if column in dataset.hindsight:
        return "hindsight"
    return dataset.knowable.get(column, "lake" if column in OF_THE_LAKE else "record")


def index(datasets: Iterable[Dataset]) -> str:
    """Return the list of all datasets, in Markdown, with links to the pages."""
    rows = [
        (f"[{dataset.name}]({dataset.name}.md)", dataset.title, ", ".join(dataset.key), shown(dataset))
        for dataset in datasets
    ]
    return "# Datasets\n\n" + CLOCKS + table(("dataset", "what", "one row per", "shown"), rows) + "\n"


def facts(dataset: Dataset) -> dict[str, object]:
    """Return the contract as plain values, for programs: names, clocks, key, and the view's columns in order."""
    return {
        "name": dataset.name,
        "title": dataset.title,
        "summary": dataset.summary,
        "availability": dataset.availability,
        "available_at_source": list(dataset.source_tags),
        "evidence": dataset.citation,
        "key": list(dataset.key),
        "entity": dataset.entity,
        "open_only": dataset.open_only,
        "hindsight": [name for name in dataset.agent_columns if name in dataset.hindsight],
        "columns": [
            {
                "name": column.name,
                "type": column.type,
                "unit": column.unit,
                "meaning": column.meaning,
                "known": answer(dataset, column.name),
            }
            for column in agent_columns(dataset)
        ],
    }


def union_page(union: Union) -> str:
    """Return the dictionary page of a view over several datasets, in Markdown."""
    columns = [(column["name"], column["meaning"]) for column in union_facts(union)["columns"]]
    reads = f"A view in SQL over `{'`, `'.join(union.reads)}`, in order of preference."
    parts = (f"# {union.name}", union.summary, reads, "## Columns", table(("column", "meaning"), columns))
    return "\n\n".join(parts) + "\n"


def union_facts(union: Union) -> dict[str, Any]:
    """Return a view over several datasets as plain values, for programs."""
    meanings = {column.name: column.meaning for name in reversed(union.reads) for column in agent_columns(get(name))}
    meanings |= OF_UNIONS
    columns = [{"name": name, "meaning": meanings[name]} for name in union.columns]
    return {"name": union.name, "summary": union.summary, "reads": list(union.reads), "columns": columns}


def agent_columns(dataset: Dataset) -> list[Column]:
    """Return the columns of the view that agents see, in order, including the system columns."""
    tags = " or ".join(f"`{tag}`" for tag in dataset.source_tags)
    proofs = ", ".join(f"`{name}` ({how})" for name, how in BASES.items())
    system_columns = (
        Column("available_at", "instant", "When this row became public; never after as_of."),
        Column("available_at_source", "string", f"The clock that dates the row: {tags}."),
        Column(BASIS, "string", f"How the instant is proven: {proofs}."),
        Column("evidence", "string", f"Where the row comes from: {dataset.citation}."),
    )
    by_name = {column.name: column for column in (*system_columns, *dataset.columns)}
    return [by_name[name] for name in dataset.agent_columns]


def shown(dataset: Dataset) -> str:
    return "in open mode only" if dataset.open_only else "as of any instant"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _clocks_and_keys(dataset: Dataset) -> str:
    key = ", ".join(f"`{name}`" for name in dataset.key)
    proof = ", ".join(f"`{column.name}`" for column in dataset.columns if column.proof)
    return "\n".join(
        (
            f"- Public at: {dataset.availability}",
            f"- One row per {key}: its newest revision. `{dataset.name}_revisions` has every revision.",
            f"- Sorted by: `{dataset.entity}`, then `available_at`.",
            f"- Shown: {shown(dataset)}.",
            *(
                [f"- Not content: {proof}. A change in how the instant is proven does not create a revision."]
                if proof
                else []
            ),
        )
    )
