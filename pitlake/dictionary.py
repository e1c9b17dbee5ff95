"""The data dictionary: a dataset's contract as a page a person or an agent reads, and as plain facts.

One page a dataset, in Markdown, made from the contract alone, so that it cannot differ from the real columns. Nothing
here reads the lake. Called by `pitlake describe` and by the script that writes docs/datasets.
"""

from collections.abc import Iterable, Sequence

from pitlake.contract import Column, Dataset

CLOCKS = """Business dates are valid time: what a row is about. `available_at` is knowledge time, and what `as_of`
bounds. `observed_at`, which no view shows, is transaction time: when this lake saw the row, and what `known_by` bounds.

"""


def page(dataset: Dataset) -> str:
    """The dictionary page of one dataset, in Markdown."""
    columns = [(column.name, column.type, column.unit, column.meaning) for column in agent_columns(dataset)]
    parts = [
        f"# {dataset.name}: {dataset.title}",
        dataset.summary,
        _clocks_and_keys(dataset),
        "## Columns",
        table(("column", "type", "unit", "meaning"), columns),
    ]
    if dataset.gap_rules:
        rules = [(rule.type, rule.reason, rule.when) for rule in dataset.gap_rules]
        parts += ["## Gaps", "A source record becomes a gap instead of a row when:"]
        parts += [table(("gap type", "reason", "when"), rules)]
    return "\n\n".join(parts) + "\n"


def index(datasets: Iterable[Dataset]) -> str:
    """The list of every dataset, in Markdown, linking to the pages."""
    rows = [
        (f"[{dataset.name}]({dataset.name}.md)", dataset.title, ", ".join(dataset.key), shown(dataset))
        for dataset in datasets
    ]
    return "# Datasets\n\n" + CLOCKS + table(("dataset", "what", "one row per", "shown"), rows) + "\n"


def facts(dataset: Dataset) -> dict[str, object]:
    """The contract as plain values, for programs: names, clocks, key, and the view's columns in order."""
    return {
        "name": dataset.name,
        "title": dataset.title,
        "summary": dataset.summary,
        "availability": dataset.availability,
        "available_at_source": dataset.source_tag,
        "key": list(dataset.key),
        "entity": dataset.entity,
        "open_only": dataset.open_only,
        "columns": [
            {"name": column.name, "type": column.type, "unit": column.unit, "meaning": column.meaning}
            for column in agent_columns(dataset)
        ],
    }


def agent_columns(dataset: Dataset) -> list[Column]:
    """The columns of the agent-facing view, in order, the system ones with their meaning."""
    known = {column.name: column for column in (*_system_columns(dataset), *dataset.columns)}
    return [known[name] for name in dataset.agent_columns]


def shown(dataset: Dataset) -> str:
    """Through which doors a dataset is shown."""
    return "in open mode alone" if dataset.open_only else "as of any instant"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _system_columns(dataset: Dataset) -> tuple[Column, ...]:
    return (
        Column(name="available_at", type="instant", meaning="When this row became public; never after the as of."),
        Column(name="available_at_source", type="string", meaning=f"What dates the row: `{dataset.source_tag}`."),
        Column(name="evidence", type="string", meaning="Where the row comes from: graph label and id."),
    )


def _clocks_and_keys(dataset: Dataset) -> str:
    key = ", ".join(f"`{name}`" for name in dataset.key)
    return "\n".join(
        (
            f"- Public at: {dataset.availability}",
            f"- One row per: {key}, the newest revision; `{dataset.name}_revisions` has every revision.",
            f"- Sorted by: `{dataset.entity}`, then `available_at`.",
            f"- Shown: {shown(dataset)}.",
        )
    )
