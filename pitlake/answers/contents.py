"""The contents of a session by dataset, and the changes that became public between two instants. Both use SQL."""

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pitlake.clock import iso
from pitlake.contract import INSTANT, Dataset
from pitlake.questions.catalogue import COMPANY

if TYPE_CHECKING:
    from pitlake.session import Session

SCHEMA = pa.schema(
    [
        ("dataset", pa.string()),
        ("new", pa.int64()),
        ("revised", pa.int64()),
        ("gaps", pa.int64()),
        ("first", INSTANT),
        ("newest", INSTANT),
    ]
)
"""The schema of changes as a table: the fields of `Change`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Holding:
    """One dataset in a session.

    rows: the number of its revisions. first, newest: the earliest and latest available_at among them.
    """

    dataset: str
    rows: int
    first: datetime | None
    newest: datetime | None
    gaps: int

    def plain(self) -> dict[str, Any]:
        return {"rows": self.rows, "first": _iso(self.first), "newest": _iso(self.newest), "gaps": self.gaps}


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """The changes to one dataset that became public after one instant and up to another. new: the number of rows whose
    key had no public row before. revised: the number of rows whose key had one. first, newest: the earliest and latest
    available_at among both.
    """

    dataset: str
    new: int
    revised: int
    gaps: int
    first: datetime | None
    newest: datetime | None

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def holdings_sql(names: Collection[str]) -> str:
    """Return a SELECT with one row per dataset and the fields of `Holding`; empty datasets come last."""
    least = " UNION ALL ".join(
        f"SELECT '{name}' AS dataset, min(available_at) AS first FROM {name}_revisions" for name in sorted(names)
    )
    return f"""
SELECT dataset, rows, first, watermark AS newest, coalesce(gaps, 0) AS gaps
FROM lake_info
JOIN ({least}) USING (dataset)
LEFT JOIN (SELECT dataset, count(*) AS gaps FROM gaps GROUP BY dataset) USING (dataset)
ORDER BY rows = 0, dataset"""


def holdings(session: "Session") -> list[Holding]:
    """Return the contents of a session's datasets, empty ones last."""
    names = ("dataset", "rows", "first", "newest", "gaps")
    rows = session.sql(holdings_sql(session.datasets)).rows()
    return [Holding(**dict(zip(names, row, strict=True))) for row in rows]


def changes(session: "Session", since: datetime, company: str | None = None) -> list[Change]:
    """Return what became public after `since` and up to the session's instant, by dataset, without empty ones.

    company: count only rows about this company, in the form that sql/macros/company.sql reads. Gaps are then left out,
    because they don't name a company.
    """
    gaps_sql = "SELECT dataset, count(*) FROM gaps WHERE available_at > $since::TIMESTAMPTZ GROUP BY dataset"
    lost: dict[str, int] = {} if company else dict(session.sql(gaps_sql, {"since": since}).rows())
    result = []
    for name, contract in session.contracts.items():
        for about, filters in [("true", {})] if company is None else _about(contract, company):
            ((new, revised, first, newest),) = session.sql(_counted(contract, about), {"since": since} | filters).rows()
            gaps = lost.get(name, 0)
            if new or revised or gaps:
                result.append(Change(dataset=name, new=new, revised=revised, gaps=gaps, first=first, newest=newest))
    return result


def _counted(dataset: Dataset, about: str) -> str:
    key = ", ".join(f'"{name}"' for name in dataset.key)
    return f"""
SELECT count(*) FILTER (public_at = first), count(*) FILTER (public_at > first), min(public_at), max(public_at)
FROM (
    SELECT available_at AS public_at, min(available_at) OVER (PARTITION BY {key}) AS first, {about} AS ours
    FROM {dataset.name}_revisions
)
WHERE public_at > $since::TIMESTAMPTZ AND ours"""


def _about(dataset: Dataset, company: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the SQL condition for rows about the company, and its parameters; None if no column names companies."""
    columns = {column.name for column in dataset.columns}
    of_entity = "CASE WHEN entity_kind = 'company' THEN entity_id END"
    cik = "cik" if "cik" in columns else of_entity if "entity_id" in columns else "NULL"
    labels = [text for name, text in _LABELS.items() if name in columns]
    if labels or cik != "NULL":
        about = f"is_about(${COMPANY}, {cik}, {next(iter(labels), 'NULL')}, available_at)"
        yield about, {COMPANY: company}


_LABELS = {"tickers": "tickers", "ticker": "[ticker]", "symbol": "[symbol]"}


def _iso(moment: datetime | None) -> str | None:
    return iso(moment) if moment else None
