"""The folder /help: a page on each kind of record and each source, as of the turn's instant.

The pages are generated from the schemas of records, the query catalogue and the lake, so they match what writes and
fetches accept. A page lists only series and tickers that were public at the instant.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, partial
from inspect import cleandoc
from typing import Any

from forge.fs.entries import DirEntry
from forge.memory.effects import AGENT_STATUSES, RESULTS, TRACKED
from forge.providers import ProviderLines, all_providers
from forge.providers.analytics import OPERATIONS, Analytics
from forge.providers.base import At, Provider, QueryProvider
from forge.providers.packages import PackageProvider
from forge.records import KINDS, Expression, Kind, render
from forge.records.drafts import IGNORED
from forge.records.examples import EXAMPLES, RULES
from forge.records.text import is_pairs, schema, write
from forge.tracking.followable import TICKERS, Followable
from pitlake.clock import iso, new_york_day
from pitlake.errors import BadInput, PitlakeError
from pitlake.questions import catalogue

FOLDER = "/help/"
QUERIES = "queries"
MOST_NAMES = 200
SPELLING = (
    "One field per line, then ---, then free Markdown. Fields marked * are required. `60%` and `0.6` are the same "
    "share. `1%` is 1.0 if the unit is percent. Lists and structures may be JSON or YAML. Write dates as 2024-06-28."
)
_NAMES = {
    "macro_observations": "SELECT DISTINCT series_id FROM macro_observations",
    "macro_panels": "SELECT DISTINCT series FROM macro_panels",
    "market_quotes": "SELECT DISTINCT kind || ' ' || instrument FROM market_quotes",
    "prices": TICKERS,
}
"""The queries that list, by dataset, the names that a call can use as of an instant, without later names."""
_ALSO = {"prices": ("names", "companies")}


class HelpBackend:
    """The files of /help as of an instant.

    at: the instant, the lake and the version to read. own_providers: the providers in the settings.
    """

    def __init__(self, at: At, own_providers: ProviderLines = ()) -> None:
        self._at, self._own_providers = at, own_providers

    @cached_property
    def _pages(self) -> Mapping[str, tuple[str, Callable[[], str]]]:
        pages: dict[str, tuple[str, Callable[[], str]]] = {}
        for name in EXAMPLES:
            pages[name] = (f"how to write {KINDS[name].folder}", partial(record_page, KINDS[name], self._at))
        for name, source in all_providers(self._own_providers).items():
            pages[name] = (f"fetch('{name}'): {source.summary}", partial(source_page, source, self._at))
        pages[QUERIES] = ("the named queries that can settle a View", queries_page)
        return pages

    def read(self, path: str) -> str | None:
        """Return a page, or None."""
        page = self._pages.get(path.removeprefix(FOLDER).removesuffix(".md"))
        return page[1]() if page and path.endswith(".md") else None

    def is_dir(self, path: str) -> bool:
        return path == FOLDER

    def entries(self, _path: str, query: str) -> list[DirEntry]:
        """Return the pages, each with its subject."""
        if query:
            raise BadInput("query", "the help pages are listed whole", "leave it out")
        return [DirEntry(f"{name}.md", about) for name, (about, _) in self._pages.items()]


def page_names(own_providers: ProviderLines = ()) -> list[str]:
    return [*EXAMPLES, *all_providers(own_providers), QUERIES]


def page_path(name: str) -> str:
    """Return the path of the page on a kind of record or a source."""
    return f"{FOLDER}{name}.md"


def record_page(kind: Kind, at: At | None = None) -> str:
    """Return the page on a kind of record: its fields, rules and one full example.

    at: the instant as of which the page on Expressions lists what code can follow.
    """
    example, instruments = EXAMPLES[kind.name], list[str]()
    if at and kind.cls is Expression:
        with suppress(PitlakeError):
            instruments = [f"## Instruments as of {iso(at.as_of)}", "", f"- {Followable(at).describe()}", ""]
    lines = [
        f"# {kind.name}: how to write one",
        f"New: write('{kind.folder}new.md', …). Change: write('{kind.folder}{kind.prefix}-001.md', …), the whole text.",
        SPELLING,
        "",
        cleandoc(kind.cls.__doc__ or ""),
        "",
        "## Fields",
        *(_field_line(name, part, kind, 0) for name, part in agents_schema(kind).items()),
        "",
        *(["## Rules", *(f"- {rule}" for rule in RULES[kind.name]), ""] if kind.name in RULES else []),
        *instruments,
        "## Example",
        "",
        render(example),
    ]
    return "\n".join(lines)


def source_page(source: Provider, at: At) -> str:
    """Return the page on a source: its operations with one call each, and the lake's data for it at the instant."""
    lines = [f"# fetch('{source.name}', params)", source.summary, ""]
    if isinstance(source, QueryProvider):
        contents = Contents(at, {name for query in source.operations.values() for name in catalogue.get(query).reads})
        for op, query_name in source.operations.items():
            query, parameters = catalogue.get(query_name), source.parameters(op)
            lines += [f"## {op}", f"{query.summary} (named query {query.name})"]
            for parameter in parameters:
                default = "" if parameter.default is None else f" = {json.dumps(parameter.default)}"
                need = "*" if parameter.required else default
                lines.append(f"- {parameter.name}{need}: {parameter.type}. {parameter.meaning}")
            if query.one_of:
                lines.append(f"Give exactly one of {', '.join(query.one_of)}.")
            params = {parameter.name: _value(parameter, contents) for parameter in parameters if parameter.required}
            lines.append(f"columns: {', '.join(column.name for column in query.columns)}")
            lines += [f"call: {_call(source.name, op, params)}", ""]
        lines += [f"## The lake as of {iso(at.as_of)}", *contents.lines()]
    elif isinstance(source, Analytics):
        for op, operation in OPERATIONS.items():
            lines += [f"## {op}", cleandoc(operation.figures.__doc__ or ""), f"parameters: {operation.parameters}"]
            lines += [f"call: {_call(source.name, op, operation.example)}", ""]
    elif isinstance(source, PackageProvider):
        lines.append(source.about)
    return "\n".join(lines) + "\n"


def queries_page() -> str:
    """Return the page on named queries: their parameters and the columns that a rule can read."""
    lines = ["# Named queries", 'For settles: {"query": …, "params": {…}, "rule": "COLUMN < NUMBER", "by": "DAY"}', ""]
    for query in catalogue.all_queries().values():
        columns = ", ".join(column.name for column in query.columns)
        lines += [f"## {query.name}({_signature(query.parameters)})", query.summary, f"columns: {columns}", ""]
    return "\n".join(lines)


def sources_line(own_providers: ProviderLines = ()) -> str:
    """Return every source with its operations and their parameters, for the system prompt.

    A provider of another package that is not a QueryProvider is described only by its summary.
    """
    lines = []
    for source in all_providers(own_providers).values():
        ops = [source.summary]
        if isinstance(source, QueryProvider):
            ops = [f"{op}({_signature(source.parameters(op))})" for op in source.operations]
        elif isinstance(source, Analytics):
            ops = [f"{op}({operation.parameters})" for op, operation in OPERATIONS.items()]
        lines.append(f"  {source.name}: {'; '.join(ops)}")
    return "\n".join(lines)


class Contents:
    """The contents of some datasets as of an instant: row counts, newest instants, and names to use in a call."""

    def __init__(self, at: At, datasets: Iterable[str]) -> None:
        self._at, self._datasets = at, sorted(datasets)

    @cached_property
    def _facts(self) -> list[tuple[str, int, str, list[str]]]:
        datasets = {*self._datasets, *(also for name in self._datasets for also in _ALSO.get(name, ()))}
        try:
            with self._at.open(sorted(datasets)) as session:
                rows = session.sql("SELECT dataset, rows, watermark FROM lake_info").rows()
                counts = {name: (count or 0, str(newest or "")) for name, count, newest in rows}
                with_labels = [name for name in self._datasets if name in _NAMES and counts.get(name, (0,))[0]]
                labels = {
                    name: sorted(str(label) for (label,) in session.sql(_NAMES[name]).rows()) for name in with_labels
                }
                return [(name, *counts.get(name, (0, "")), labels.get(name, [])) for name in self._datasets]
        except PitlakeError:
            return []

    @property
    def day(self) -> str:
        """The New York day of the instant."""
        return new_york_day(self._at.as_of).isoformat()

    def first(self, dataset: str, otherwise: str) -> str:
        """Return the first name of a dataset, or a fallback."""
        return next((names[0] for name, _, _, names in self._facts if name == dataset and names), otherwise)

    def lines(self) -> Iterator[str]:
        if not self._facts:
            yield "There is no lake, or it can't be read: a fetch finds nothing."
        for name, count, newest, names in self._facts:
            more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
            names_text = f": {', '.join(names[:MOST_NAMES])}{more}" if names else ""
            yield f"- {name}: {count:,} rows{f', newest of {newest}' if count else ''}{names_text}"


def _value(parameter: catalogue.Parameter, contents: Contents) -> Any:
    """Return an example value for a required parameter, taken from the lake's contents."""
    quoted = contents.first("market_quotes", "curve USD").split(" ", 1)
    by_name: dict[str, Any] = {
        "series": contents.first("macro_observations", "GDP"),
        "ticker": contents.first("prices", "QBRY"),
        "kind": quoted[0],
        "instrument": quoted[-1],
        "channel": "Earnings",
        "query": "growth",
        "period": "2024-01-01",
    }
    value = by_name.get(parameter.name, contents.day if parameter.type in ("day", "moment") else parameter.meaning)
    return [value] if parameter.type == "texts" else value


def _call(source: str, op: str, params: Mapping[str, Any]) -> str:
    return f"fetch('{source}', {json.dumps({'op': op, **params})})"


def _signature(parameters: Iterable[catalogue.Parameter]) -> str:
    return ", ".join(f"{parameter.name}{'*' if parameter.required else ''}" for parameter in parameters)


def agents_schema(kind: Kind) -> dict[str, dict[str, Any]]:
    """Return the JSON schema of each field that agents write in a kind of record."""
    by_code = {
        "views": {"verdict"},
        "expressions": {*RESULTS} - {"exit_reason"},
        "counterfactuals": {*TRACKED, "status"},
    }
    hidden = IGNORED | by_code.get(kind.name, set())
    parts = {name: part for name, part in schema(kind.cls).items() if name not in hidden}
    if kind.cls is Expression:
        words = [word for word in parts["status"]["enum"] if word in AGENT_STATUSES - {"active"}]
        parts["status"] = parts["status"] | {"enum": words}
    return parts


def _field_line(name: str, part: Mapping[str, Any], kind: Kind | None, depth: int) -> str:
    words = part.get("enum", ())
    example = getattr(EXAMPLES[kind.name], name) if kind else None
    example_text = f"; such as {write(example)}" if example not in (None, (), "") and not words else ""
    form = f"one of {', '.join(words)}" if words else _form(part)
    lines = [f"{'  ' * depth}- {name}{'*' if part['needed'] else ''}: {form}{example_text}"]
    inside = part.get("items", part)
    if "properties" in inside and not is_pairs(part):
        lines[0] += f". {' '.join(inside['description'].split())}"
        lines += [_field_line(inner, its, None, depth + 1) for inner, its in inside["properties"].items()]
    return "\n".join(lines)


def _form(part: Mapping[str, Any]) -> str:
    if part["type"] in ("number", "integer"):
        least, most = part.get("minimum"), part.get("maximum")
        limits = "" if least is None else f" of at least {least:g}" if most is None else f" from {least:g} to {most:g}"
        unit = f", {part['description']}" if "description" in part else ""
        return f"{'whole ' if part['type'] == 'integer' else ''}number{limits}{unit}"
    if is_pairs(part):
        value = part["items"]["properties"]["value"]
        return f"names with a {_form(value)} each" if "type" in value else "names with values"
    if part["type"] == "string":
        forms = {"date": "day", "date-time": "instant, such as 2024-02-15T16:00:00-05:00"}
        return forms.get(part.get("format", ""), "text on one line")
    if part["type"] == "object":
        return "structure"
    return "names, separated by commas" if part["items"] == {"type": "string"} else "list"
