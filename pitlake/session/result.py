"""The result of a query: its rows in several forms, and the receipt with which the query can be repeated.

The session makes it from an Arrow table that was validated on arrival. It needs no connection and no process.
"""

import hashlib
import html
import json
from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from pitlake.contract import INSTANT
from pitlake.errors import listed
from pitlake.lake.storage.conventions import CLOSE, RELEASE
from pitlake.session.digest import sha256_of
from pitlake.session.limits import Limits
from pitlake.session.sql.reading import UNPROVEN, Reading
from pitlake.session.viewpoint import SHOW

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    import polars as pl

    from pitlake.lake.lake import Lake

ROWS_SHOWN, TEXT_SHOWN = 20, 80
"""The rows of a result, and the characters of a value, that a notebook shows."""

_LIMITS = Limits()
_UTC, _WITHOUT_ZONE = ZoneInfo("UTC"), pa.timestamp("us")


@dataclass(frozen=True, kw_only=True)
class Step:
    """An earlier action of a session on which later answers may depend: a statement, or loaded rows.

    sql: the statement, or "load <name>". parameters: JSON, or the hash of the loaded rows.
    """

    sql: str
    parameters: str = "null"


@dataclass(frozen=True, kw_only=True)
class Question:
    """Everything that an answer depends on.

    as_of: ISO-8601 in UTC, None in open mode. known_by: the instant that selected the version, if any. query: the name
    of the catalogue query with the text `sql`; None for a caller's SQL. parameters: JSON. max_rows, max_bytes: the
    requested truncation. prelude: earlier actions of the session. engine, threads: with more than one thread, answers
    may differ in order and last digits. hindsight: whether hindsight columns were shown. most_rows, most_bytes,
    seconds, memory: the session's limits. filings_count_from, bars_count_from: the lake's rules that date filings
    and bars. model, exposure: the language model that asked, and "clean" or "exposed"; the answer depends on neither.
    """

    as_of: str | None
    version: int
    datasets: tuple[str, ...]
    sql: str
    parameters: str = "null"
    max_rows: int | None = None
    max_bytes: int | None = None
    prelude: tuple[Step, ...] = ()
    engine: str
    threads: int
    most_rows: int = _LIMITS.rows
    most_bytes: int = _LIMITS.bytes
    seconds: float = _LIMITS.seconds
    memory: int = _LIMITS.memory
    known_by: str | None = None
    hindsight: str = SHOW
    query: str | None = None
    filings_count_from: str = RELEASE
    bars_count_from: str = CLOSE
    model: str | None = None
    exposure: str | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Receipt:
    """A question and the hashes of its text and its answer. The same question always gives the same answer."""

    question: Question
    sql_sha256: str
    result_sha256: str
    rows: int
    truncated: bool

    @property
    def as_of(self) -> str | None:
        """Return the instant of the question."""
        return self.question.as_of

    @property
    def known_by(self) -> str | None:
        """Return the instant that selected the version, if any."""
        return self.question.known_by

    @property
    def version(self) -> int:
        """Return the lake version."""
        return self.question.version

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)

    def to_json(self) -> bytes:
        """Return the receipt as the lake stores it."""
        return json.dumps(self.to_dict(), sort_keys=True, indent=1).encode()

    def __repr__(self) -> str:
        facts = f"version={self.version}, rows={self.rows}, result_sha256={self.result_sha256}"
        return f"Receipt(as_of={self.as_of}, {facts})"


class Result:
    """The rows of one query. `truncated`: whether a limit set by the caller has cut the rows.

    It can be iterated, and passed to pandas, polars, pyarrow and DuckDB. `result["close"]` and `result.close` are the
    values of a column, `result[0]` is the first row.

    notes: decisions made outside the session, such as a ticker that was resolved by later names. hindsight: for each
    dataset in the question, its columns that could not be known at available_at. reading: what the statement reads, and
    whether the rows come from one view.
    """

    def __init__(
        self,
        table: pa.Table,
        question: Question,
        *,
        truncated: bool,
        lake: "str | Path | Lake | None" = None,
        notes: tuple[str, ...] = (),
        hindsight: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
        reading: Reading = UNPROVEN,
    ) -> None:
        self._table = table
        self._question, self._lake = question, lake
        self.truncated = truncated
        self.notes, self.hindsight, self.reading = notes, hindsight, reading

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns, in order."""
        return list(self._table.column_names)

    @property
    def description(self) -> list[tuple[Any, ...]]:
        """Return the names of the columns as a cursor does, for libraries that read cursors."""
        return [(name, *[None] * 6) for name in self.columns]

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows as named tuples. A name that can't be an attribute becomes the column's position: _0."""
        return iter(self._named(self._table))

    def _named(self, table: pa.Table) -> list[tuple[Any, ...]]:
        row = namedtuple("Row", self.columns, rename=True)  # type: ignore[misc]  # noqa: PYI024 - the names vary
        return [row(*values) for values in _rows(table)]

    def __getitem__(self, place: str | int | slice) -> Any:
        """Return the values of a column by its name, or a row or a list of rows by position."""
        if isinstance(place, str):
            if place not in self.columns:
                raise KeyError(f"there is no column {place!r}; the columns are {listed(self.columns)}")
            return _values(self._table[place])
        if isinstance(place, slice):
            return list(self)[place]
        return self._named(self._table.slice(range(len(self))[place], 1))[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.columns:
            frames = "a result's df() is a pandas DataFrame, its pl() a polars one, its arrow() a table"
            raise AttributeError(f"a result has no {name!r}; {frames}")
        return self[name]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows for any library that reads Arrow's C stream."""
        return self._table.__arrow_c_stream__(requested_schema)

    def arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return self._table

    def df(self) -> "pd.DataFrame":
        """Return the rows as a pandas DataFrame with naive days and aware instants (`pip install pitlake[pandas]`)."""
        table = self._table
        for place, field in enumerate(table.schema):
            if pa.types.is_date(field.type):
                table = table.set_column(place, field.name, table.column(place).cast(_WITHOUT_ZONE))
        return table.to_pandas()

    def pl(self) -> "pl.DataFrame":
        """Return the rows as a polars DataFrame. Needs `pip install pitlake[polars]`."""
        import polars as pl

        frame = pl.from_arrow(self._table)
        return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples of Python values."""
        return _rows(self._table)

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row; None after the last one."""
        return next(self._remaining, None)

    @cached_property
    def _remaining(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows())

    def fetchnumpy(self) -> dict[str, Any]:
        """Return the columns as NumPy arrays, by name."""
        return {name: self._table[name].to_numpy(zero_copy_only=False) for name in self.columns}

    def head(self, rows: int = 5) -> "pd.DataFrame":
        """Return the first rows as a pandas DataFrame."""
        return self.df().head(rows)

    def show(self) -> None:
        """Print the first rows as a table."""
        import duckdb

        duckdb.from_arrow(self._table).show()

    fetchall = rows
    to_pandas = fetchdf = df
    polars = pl

    @cached_property
    def receipt(self) -> Receipt:
        """Return the receipt: the question, and the hash of the answer."""
        return Receipt(
            question=self._question,
            sql_sha256=hashlib.sha256(self._question.sql.encode()).hexdigest(),
            result_sha256=sha256_of(self._table),
            rows=len(self),
            truncated=self.truncated,
        )

    def keep(self, lake: "str | Path | Lake | None" = None) -> str:
        """Store the receipt in a lake (default: the session's) and return its id for pitlake.answers.receipts.

        A vacuum then keeps the version it needs. Raises LakeNotFound, VersionVacuumed.
        """
        from pitlake.lake.lake import Lake

        home = self._lake if lake is None else lake
        target = home if isinstance(home, Lake) else Lake(home)
        return target.keep_receipt(self.receipt.to_json(), self.receipt.version)

    def __repr__(self) -> str:
        cut = ", truncated" if self.truncated else ""
        return f"Result({len(self)} rows × {len(self.columns)} columns{cut}, as_of={self._question.as_of})"

    def _repr_html_(self) -> str:
        """Return HTML for a notebook: the first rows, their number and the instant."""
        first = self._table.slice(0, ROWS_SHOWN)
        values = ([_shown(value) for value in column.to_pylist()] for column in first.columns)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        rows = (f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in zip(*values, strict=True))
        count = f"{len(self)} rows" if len(first) == len(self) else f"{len(first)} of {len(self)} rows"
        cut = ", truncated" if self.truncated else ""
        when = f"as of {self._question.as_of}" if self._question.as_of else "open mode"
        return f"<table><tr>{head}</tr>{''.join(rows)}</table><p>{count}{cut}, {when}</p>"


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    columns: Sequence[list[Any]] = [_values(column) for column in table.columns]
    return list(zip(*columns, strict=True))


def _values(column: pa.ChunkedArray) -> list[Any]:
    if column.type != INSTANT:
        return list(column.to_pylist())
    # Arrow would import pandas, if installed, to convert instants, which takes longer than most questions.
    return [at and at.replace(tzinfo=_UTC) for at in column.cast(_WITHOUT_ZONE).to_pylist()]


def _shown(value: object) -> str:
    text = "" if value is None else str(value)
    return html.escape(text if len(text) <= TEXT_SHOWN else f"{text[:TEXT_SHOWN]}…")
