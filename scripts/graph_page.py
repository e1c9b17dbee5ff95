"""docs/graph.md: what a graph must contain, read from the extractors' queries, so that it can't drift from them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from assets.extraction import Extractor
from assets.graph import _traded, all_extractors, event_returns
from assets.patterns import bound, edges

# Queries that are in no extractor's list. They convert bars and returns back to traded prices.
LOOKUPS = {
    "prices": (_traded.SPLITS, _traded.ENTITIES, _traded.SERIES),
    "event_returns": (_traded.SPLITS, _traded.ENTITIES),
}
TYPES = {
    "bool": "flag",
    "date": "day",
    "float": "number",
    "instant": "timestamp",
    "int": "whole number",
    "json": "JSON",
    "string": "text",
    "strings": "list of texts",
    "vector": "list of numbers",
}
# Properties that become no column, or a column of another type. All other properties are text.
TYPES_OF = {
    ("Context", "dimension_u_ids"): "list of texts",
    ("Date", "market_close_current_day"): "timestamp",
    ("Fact", "value"): "number or text",
    ("HAS_PRICE", "timestamp"): "timestamp",
    ("News", "embedding"): "list of numbers",
    ("News", "returns_schedule"): "JSON",
    ("Period", "end_date"): "day",
    ("Period", "start_date"): "day",
    ("QAExchange", "embedding"): "list of numbers",
    ("QuestionAnswer", "content"): "JSON",
    ("Report", "returns_schedule"): "JSON",
    ("Split", "split_from"): "number",
    ("Split", "split_to"): "number",
}
NOTES = {
    "Company": "`id` is the CIK. A CIK may lack its leading zeros.",
    "Context": "Each of `dimension_u_ids` ends in the qualified name of its axis: `cik:namespace:prefix:Axis`.",
    "Date": "One node per calendar day. Bars, dividends and splits need the closes of their days.",
    "Dividend": "`id` is any text; it is the row's key.",
    "Fact": "`u_id`, or `id`, is any text. A fact needs a report with a primary filer, a concept, a period, a context.",
    "News": "`id` is any text except the accession number of a filing, with or without `bzNews_` in front.",
    "Period": (
        "`period_type` is `instant`, `duration` or `forever`. `end_date`, and the `start_date` of an instant, are the\n"
        "day after the last day: `2024-01-01` for a period that ends on 2023-12-31."
    ),
    "QAExchange": "`sequence` starts at 0 within its call.",
    "Report": (
        "`accessionNo`, or `id`, is the accession number with its hyphens. `created` is EDGAR's "
        "acceptance.\n`xbrl_status` is `COMPLETED` or missing; facts of any other report become gaps."
    ),
    "Transcript": (
        "`conference_datetime` is the start of the call. `id` is any text. Of two nodes of one call, the one with\n"
        "more exchanges is used, then the one whose id has the form `TICKER_YYYY-MM-DDTHH.MM`."
    ),
    "XBRLNode": "No property is read; the node links facts to their report.",
}

_PROPERTY = re.compile(r"\b([a-z]\w*)\.(\w+)\b(?: AS (\w+)\b)?")
_ALL_PROPERTIES = re.compile(r"properties\((\w+)\)")
_FIRST_OF = re.compile(r"coalesce\(([^()]*)\)")

INTRODUCTION = """# What a graph must contain

pitlake fills the datasets of the graph from a Neo4j database, or from any server that speaks Bolt and Cypher. It reads
what this page lists, ignores everything else, and writes nothing. `make docs` generates this page from the queries in
`assets/graph`. [Deployment](deployment.md) says how to connect, and [adding a dataset](adding-a-dataset.md) how to read
more.

## How missing data is treated

- **A missing label or relation** matches nothing. Datasets that need it are empty, or have null columns.
- **A missing property** is null. So are a blank text and, except in prose, the words `null`, `nan` and `none`.
- **A record without a readable timestamp** becomes a gap of type `unverifiable`. Every run reads such records,
  whatever its days, so that none is lost.
- **A part without its whole**, such as a section without a report, becomes a gap, because the whole dates it.
- **An unreadable property** makes its record a gap with the reason `<column> is unreadable`. The other records are
  published.
- **Two nodes for the same thing** are resolved by the dataset's rule. The other node becomes a gap.

The page of each [dataset](datasets/README.md) lists what else becomes a gap.

## How values are written

| Type | Format |
| --- | --- |
| text | a string |
| number | a number, or text with or without thousands separators: `81,035,171,840` |
| whole number | the same, without a fraction |
| flag | a boolean, or `1`, `0`, `true`, `false` |
| day | text: `2024-01-04` |
| timestamp | text with an offset: `2024-01-04T13:48:33-05:00` or `2024-01-04 16:00:00-0500` |
| list of texts | a list, JSON in a text, or one text |
| JSON | JSON in a text |
| list of numbers | a list of finite numbers, not all 0 |

Store days and timestamps as text, because a run selects its days by comparing texts. A timestamp without an offset is
unreadable. Ids are unique within their label.
"""


@dataclass
class Schema:
    """The parts of a graph that queries read, with the datasets that read them.

    properties: by label or relation, and name. relations: by (from, relation, to). types: by property. stand_ins: by
    property, the missing property that it replaces.
    """

    properties: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    relations: dict[tuple[str, str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    types: dict[tuple[str, str], str] = field(default_factory=dict)
    stand_ins: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def labels(self) -> list[str]:
        """Return the labels in alphabetical order."""
        ends = {label for start, _, end in self.relations for label in (start, end)}
        return sorted(ends | {owner for owner, _ in self.properties} - {kind for _, kind, _ in self.relations})

    def add(self, extractor: Extractor, query: str) -> None:
        """Add the parts that a query of a dataset reads."""
        name = extractor.dataset.name
        columns = {column.name: TYPES[column.type] for column in extractor.dataset.columns}
        for start, relation, end in edges(query):
            self.relations[start, relation, end].add(name)
        for match in _PROPERTY.finditer(query):
            for owner in _owner(query, match):
                self.properties[owner, match[2]].add(name)
                if match[3] in columns:
                    self.types.setdefault((owner, match[2]), columns[match[3]])
        for match in _ALL_PROPERTIES.finditer(query):
            for owner in _owner(query, match):
                for horizon in event_returns.HORIZONS:
                    for benchmark in event_returns.BENCHMARKS:
                        self.properties[owner, f"{horizon}_{benchmark}"].add(name)
                        self.types[owner, f"{horizon}_{benchmark}"] = TYPES["float"]
        for call in _FIRST_OF.finditer(query):
            for first, second in pairwise(_PROPERTY.finditer(query, *call.span(1))):
                if first[1] == second[1]:
                    self.stand_ins |= {(owner, second[2]): first[2] for owner in _owner(query, first)}


def schema() -> Schema:
    """Return the parts of the graph that the extractors read."""
    everything = Schema()
    for name, extractor in all_extractors().items():
        for query in (*extractor.queries, *LOOKUPS.get(name, ())):
            everything.add(extractor, query)
    return everything


def _owner(query: str, match: re.Match[str]) -> list[str]:
    """Return the labels or relations to which a variable was last bound before its use."""
    return bound(query, match[1], match.start()).split("|")


def page() -> str:
    read = schema()
    kinds = sorted({kind for _, kind, _ in read.relations if any(owner == kind for owner, _ in read.properties)})
    ends: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(dict)
    for (start, relation, end), datasets in read.relations.items():
        ends[relation, start][end] = datasets
    lines = ["| From | Relation | To | Read by |", "| --- | --- | --- | --- |"]
    for (relation, start), by_end in sorted(ends.items()):
        datasets = set().union(*by_end.values())
        lines.append(f"| {start} | `{relation}` | {', '.join(sorted(by_end))} | {_links(datasets)} |")
    parts = [INTRODUCTION, "## Labels", *_sections(read, read.labels), "## Relations", "\n".join(lines)]
    return "\n\n".join(part.strip("\n") for part in (*parts, *_sections(read, kinds))) + "\n"


def _sections(read: Schema, owners: Iterable[str]) -> Iterator[str]:
    """Return a section for each label or relation. Those with the same content share a section."""
    headings: dict[str, list[str]] = defaultdict(list)
    for owner in owners:
        lines = ["| Property | Type | Read by |", "| --- | --- | --- |"]
        for (label, name), datasets in sorted(read.properties.items()):
            if label == owner:
                kind = TYPES_OF.get((owner, name)) or read.types.get((owner, name), "text")
                instead = read.stand_ins.get((owner, name))
                kind += f"; replaces a missing `{instead}`" if instead else ""
                lines.append(f"| `{name}` | {kind} | {_links(datasets)} |")
        properties = "\n".join(lines) if len(lines) > 2 else ""
        headings["\n\n".join(filter(None, (NOTES.get(owner), properties)))].append(owner)
    return (f"### {', '.join(names)}\n\n{text}" for text, names in headings.items())


def _links(datasets: Iterable[str]) -> str:
    return ", ".join(f"[{name}](datasets/{name}.md)" for name in sorted(datasets))
