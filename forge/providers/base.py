"""The interface of providers, and the providers whose operations are named queries of the lake.

A provider takes parameters and an instant, and returns rows with their gaps and receipts. The catalogue checks the
parameters of named queries. Summaries are made by code; no model is involved.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from pitlake.answers.envelope import clean_gap, envelope, rows_of, to_json
from pitlake.errors import BadInput
from pitlake.questions import catalogue
from pitlake.serving.kept import KeptSessions
from pitlake.session import Viewpoint, open_session

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pitlake.session import Session
    from pitlake.session.result import Receipt, Result

SUMMARY_CHARACTERS = 300
"""A limit of about 100 tokens: text mixed with figures has about three characters per token."""
SUMMARY_CELL = 40
DATING = ("available_at_source", "evidence")
Params = Mapping[str, Any]
Row = Mapping[str, Any]


@dataclass
class _Moving:
    """Open sessions, and cached answers as of the newest instant of a lake version."""

    sessions: KeptSessions
    answers: dict[tuple["At", str], dict[str, Any]] = field(default_factory=dict)


_moving: ContextVar[_Moving | None] = ContextVar("_moving", default=None)


@contextmanager
def moving_sessions() -> Iterator[None]:
    """Answer questions within this context from sessions that stay open and move forward in time, for a backtest.

    A question that is repeated as of the same instant and version gets the earlier answer.
    """
    with closing(KeptSessions(None, moves=True)) as sessions:
        before = _moving.set(_Moving(sessions))
        try:
            yield
        finally:
            _moving.reset(before)


@dataclass(frozen=True, kw_only=True)
class At(Viewpoint):
    """The viewpoint of a turn: an instant, a lake and its version. It is never open mode."""

    as_of: datetime

    def open(self, datasets: Sequence[str]) -> "AbstractContextManager[Session]":
        """Open a session on these datasets, or move an open session. Raises the errors of pitlake.connect."""
        moving = _moving.get()
        return open_session(self, datasets=datasets) if moving is None else moving.sessions.session(self, datasets)


@dataclass(frozen=True, kw_only=True)
class FetchResult:
    """The result of a fetch: rows and gaps that passed the lake's gate as of the instant.

    receipts: one per query; a replay of a receipt returns the same bytes. notes: how the lake resolved tickers, for
    example with a later list.
    """

    source: str
    label: str
    rows: tuple[Row, ...]
    gaps: tuple[Row, ...]
    receipts: tuple["Receipt", ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def evidence(self) -> tuple[str, ...]:
        """The evidence of the rows, each once, in order."""
        cited = (row.get("evidence") or () for row in self.rows)
        return tuple(dict.fromkeys(name for names in cited for name in ([names] if isinstance(names, str) else names)))

    @property
    def available_at(self) -> str | None:
        """The instant at which the newest row became public; None without rows."""
        return max((str(row["available_at"]) for row in self.rows), default=None)

    def format_full(self) -> str:
        """Return the result as JSON with one row per line, so that its first lines show what it contains.

        Receipts omit the lake's version, because the version also reflects later publications.
        """
        receipts = [{"question": receipt.question.sql, "answer": receipt.result_sha256} for receipt in self.receipts]
        answer = {"label": self.label, **({"notes": list(self.notes)} if self.notes else {}), "gaps": list(self.gaps)}
        rows = ",\n".join(map(to_json, self.rows))
        head = ",\n".join(f'"{name}":{_json(value)}' for name, value in answer.items())
        return f'{{{head},\n"data":[\n{rows}\n],\n"receipts":{_json(receipts)}}}'

    def format_summary(self) -> str:
        """Return a summary of at most 100 tokens: label, number of rows, notes, gaps, and as many rows as fit."""
        counted = f"{self.label}: {len(self.rows)} row{'' if len(self.rows) == 1 else 's'}"
        lines = (
            [(name, value) for name, value in row.items() if name not in DATING and value is not None]
            for row in self.rows
        )
        parts = [
            counted,
            *self.notes,
            *(f"gap {gap['type']}: {gap['reason']}" for gap in self.gaps),
            *("; ".join(f"{name}={str(value)[:SUMMARY_CELL]}" for name, value in cells) for cells in lines),
        ]
        text = parts[0]
        for part in parts[1:]:
            if len(text) + len(part) + 2 > SUMMARY_CHARACTERS:
                return f"{text}\n…"[:SUMMARY_CHARACTERS]
            text += f"\n{part}"
        return text[:SUMMARY_CHARACTERS]


class Provider(Protocol):
    """A source of `fetch`."""

    @property
    def name(self) -> str:
        """The provider's name in `fetch`."""

    @property
    def summary(self) -> str:
        """One line about its data."""

    async def fetch(self, params: Params, at: At) -> FetchResult:
        """Fetch data. Raises BadInput for invalid parameters, and the errors of the lake."""


@dataclass(frozen=True)
class QueryProvider:
    """A provider whose operations are named queries. operations: `op` to query; the first one is the default."""

    name: str
    summary: str
    operations: Mapping[str, str]

    def parameters(self, op: str) -> tuple[catalogue.Parameter, ...]:
        return catalogue.get(self.operations[op]).parameters

    async def fetch(self, params: Params, at: At) -> FetchResult:
        """Run one operation. params: `op` and its query's parameters."""

        def answer() -> FetchResult:
            op, values = parse_params(params, self.operations)
            parts_of_result = ask(catalogue.get(self.operations[op]), values, at)
            parts = ", ".join(f"{name}={value}" for name, value in values.items())
            label = f"{self.name} {op} ({parts[:80]})" if parts else f"{self.name} {op}"
            return FetchResult(source=self.name, label=label, **parts_of_result)

        return await asyncio.to_thread(answer)


def parse_params(params: Params, operations: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
    """Return the requested operation and its parameters. Raises BadInput with the valid operations."""
    values = {str(name): value for name, value in params.items()}
    op = values.pop("op", next(iter(operations)))
    if op not in operations:
        raise BadInput("op", f"{op!r} is not an operation", f"choose from {', '.join(operations)}")
    return str(op), values


def ask(query: catalogue.Query, values: Params, at: At) -> dict[str, Any]:
    """Run one named query and return rows, gaps, receipts and notes for FetchResult.

    Without rows, a gap lists the datasets of the query that are empty as of the instant, if any.
    """
    bound, moving = query.bind(values), _moving.get()
    if moving is None or at.version is None:
        return _ask(query, bound, at)
    key = at, f"{query.name} {bound}"
    if next(iter(moving.answers), key)[0] != at:
        moving.answers.clear()
    answer = moving.answers[key] = moving.answers.get(key) or _ask(query, bound, at)
    return answer


def _ask(query: catalogue.Query, bound: dict[str, Any], at: At) -> dict[str, Any]:
    with at.open(query.reads) as session:
        result = session.ask(query, bound)
        gaps = []
        if not len(result):
            counted = dict(session.sql("SELECT dataset, rows FROM lake_info").rows())
            empty = [name for name in query.reads if not counted.get(name)]
            reasons = [f"the lake has no rows of {name} as of this instant" for name in empty]
            reasons = reasons or [f"no rows of {', '.join(query.reads)} answer the question"]
            gaps = [clean_gap("no_data", reason) for reason in reasons]
    return pass_gate(rows_of(result.arrow()), gaps, (result,), at.as_of)


def pass_gate(rows: Iterable[Row], gaps: Iterable[Row], results: Sequence["Result"], as_of: datetime) -> dict[str, Any]:
    """Pass rows and gaps through the lake's gate, and add receipts and notes. Raises EnvelopeRefused."""
    passed = envelope(rows, gaps, as_of)
    receipts = tuple(result.receipt for result in results)
    notes = tuple(dict.fromkeys(note for result in results for note in result.notes))
    return {"rows": tuple(passed["data"]), "gaps": tuple(passed["gaps"]), "receipts": receipts, "notes": notes}


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
