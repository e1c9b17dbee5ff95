"""What a provider is: parameters in, rows with their gaps and receipts out, as of an instant; and those that only ask.

An operation is a named query of the lake, so its parameters are checked and spelled by the catalogue. Nothing here
knows a model; the summary is made by code.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from pitlake.answers.envelope import clean_gap, envelope, rows_of, to_json
from pitlake.errors import BadInput
from pitlake.questions import catalogue
from pitlake.session import Viewpoint, open_session

if TYPE_CHECKING:
    from pitlake.session import Session
    from pitlake.session.result import Receipt, Result

SUMMARY_CHARACTERS = 300
"""Of figures and words mixed, three characters are a token: so much is at most 100 of them."""
SUMMARY_CELL = 40
DATING = ("available_at_source", "evidence")
Params = Mapping[str, Any]
Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class At(Viewpoint):
    """The viewpoint of a turn, which is never open mode."""

    as_of: datetime

    def open(self, datasets: Sequence[str]) -> "Session":
        """Open a session on these datasets. Raises what pitlake.connect raises."""
        return open_session(self, datasets=datasets)


@dataclass(frozen=True, kw_only=True)
class FetchResult:
    """What a fetch found: rows and gaps that passed the lake's gate as of the instant, and what was asked for them.

    receipts: one a question; who asks it again gets the same bytes. notes: how the lake read the tickers asked for,
    such as one that only a later list knows.
    """

    source: str
    label: str
    rows: tuple[Row, ...]
    gaps: tuple[Row, ...]
    receipts: tuple["Receipt", ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def evidence(self) -> tuple[str, ...]:
        """What the rows are taken from, each once, in their order."""
        cited = (row.get("evidence") or () for row in self.rows)
        return tuple(dict.fromkeys(one for told in cited for one in ([told] if isinstance(told, str) else told)))

    @property
    def available_at(self) -> str | None:
        """When the newest row became public; None without rows."""
        return max((str(row["available_at"]) for row in self.rows), default=None)

    def format_full(self) -> str:
        """All of it as JSON, receipts without the version of the lake: it counts what was published later too."""
        told = [{"question": one.question.sql, "answer": one.result_sha256} for one in self.receipts]
        notes = {"notes": list(self.notes)} if self.notes else {}
        found = {"label": self.label, "data": list(self.rows), "gaps": list(self.gaps), "receipts": told}
        return to_json(found | notes)

    def format_summary(self) -> str:
        """At most 100 tokens: the label, how much was found, notes and gaps, and the first rows as far as they go."""
        counted = f"{self.label}: {len(self.rows)} row{'' if len(self.rows) == 1 else 's'}"
        parts = [
            counted,
            *self.notes,
            *(f"gap {gap['type']}: {gap['reason']}" for gap in self.gaps),
            *map(_line, self.rows),
        ]
        text = parts[0]
        for part in parts[1:]:
            if len(text) + len(part) + 2 > SUMMARY_CHARACTERS:
                return f"{text}\n…"[:SUMMARY_CHARACTERS]
            text += f"\n{part}"
        return text[:SUMMARY_CHARACTERS]


class Provider(Protocol):
    """A source of `fetch`."""

    name: str
    summary: str

    async def fetch(self, params: Params, at: At) -> FetchResult:
        """What it has. Raises BadInput for parameters it does not take, and what the lake raises."""


@dataclass(frozen=True)
class Asking:
    """A provider whose operations are named queries, by the name of `op`; the first one is what is meant without it."""

    name: str
    summary: str
    operations: Mapping[str, str]

    async def fetch(self, params: Params, at: At) -> FetchResult:
        """The answer of one operation. params: `op`, and what its query takes."""
        return await asyncio.to_thread(self._fetched, params, at)

    def _fetched(self, params: Params, at: At) -> FetchResult:
        op, values = chosen(params, self.operations)
        answer = ask(catalogue.get(self.operations[op]), values, at)
        return FetchResult(source=self.name, label=f"{self.name} {op}{_told(values)}", **answer)


def chosen(params: Params, operations: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
    """The operation that is asked for, and its values. Raises BadInput naming those there are."""
    values = {str(name): value for name, value in params.items()}
    op = values.pop("op", next(iter(operations)))
    if op not in operations:
        raise BadInput("op", f"{op!r} is not an operation here", f"choose from {', '.join(operations)}")
    return str(op), values


def ask(query: catalogue.Query, values: Params, at: At) -> dict[str, Any]:
    """Rows, gaps, receipts and notes of one named query, as FetchResult takes them.

    Without rows the gap says which of the datasets it reads are empty as of the instant, if it is that.
    """
    bound = query.bind(values)
    with at.open(query.reads) as session:
        result = session.ask(query, bound)
        gaps = [] if len(result) else _nothing(session, query)
    return gated(rows_of(result.arrow()), gaps, (result,), at.as_of)


def gated(rows: Iterable[Row], gaps: Iterable[Row], results: Sequence["Result"], as_of: datetime) -> dict[str, Any]:
    """Rows and gaps past the lake's gate, with receipts and notes. Raises EnvelopeRefused for what may not leave."""
    passed = envelope(rows, gaps, as_of)
    receipts = tuple(result.receipt for result in results)
    notes = tuple(dict.fromkeys(note for result in results for note in result.notes))
    return {"rows": tuple(passed["data"]), "gaps": tuple(passed["gaps"]), "receipts": receipts, "notes": notes}


def _nothing(session: "Session", query: catalogue.Query) -> list[dict[str, str]]:
    counted = dict(session.sql("SELECT dataset, rows FROM lake_info").rows())
    empty = [name for name in query.reads if not counted.get(name)]
    if empty:
        return [clean_gap("no_data", f"the lake has no row of {name} as of this instant") for name in empty]
    return [clean_gap("no_data", f"no row of {', '.join(query.reads)} answers the question")]


def _told(values: Params) -> str:
    said = ", ".join(f"{name}={value}" for name, value in values.items())
    return f" ({said[:80]})" if said else ""


def _line(row: Row) -> str:
    cells = (
        f"{name}={str(value)[:SUMMARY_CELL]}" for name, value in row.items() if name not in DATING and value is not None
    )
    return "; ".join(cells)
