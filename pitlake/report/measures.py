"""The figures of one dataset in one lake version for the quality report, by SQL over the version's files.

A test compares every number with a query over the same version. This module draws nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import duckdb

from pitlake import clock
from pitlake.contract import Dataset, gap_table_name
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.audit import CheckResult, freshness
from pitlake.lake.publishing.check_results import CheckReport
from pitlake.lake.storage.manifest import DataFile, Snapshot
from pitlake.lake.tables.newest import newest_record
from pitlake.lake.tables.query import calculator, columns, quoted, reading
from pitlake.report import at_version, late
from pitlake.report.anomalies import Anomaly, anomalies
from pitlake.report.clocks import clocks
from pitlake.report.late import LateArrivals
from pitlake.report.revisions import RevisionCounter, Revisions

DRIFT = "drift"
MOST_EXAMPLES = 5
CELL_CHARACTERS = 160


@dataclass(frozen=True)
class Day:
    """The counts of a New York day: new rows, rows that revise an earlier row of their key, and gaps by type."""

    rows: int = 0
    revisions: int = 0
    gaps: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Counts:
    """The number of rows, keys and gaps of a dataset in a version."""

    rows: int = 0
    keys: int = 0
    revised_keys: int = 0
    gaps: int = 0

    @property
    def revisions(self) -> int:
        """Return the number of rows that revise an earlier row of their key."""
        return self.rows - self.keys

    @property
    def revised_share(self) -> float:
        """Return the share of keys with more than one revision."""
        return self.revised_keys / self.keys if self.keys else 0.0


@dataclass(frozen=True)
class Example:
    """A source record named by a failing check. `row` is its newest row in the lake; empty if there is none."""

    evidence: str
    row: Mapping[str, str]
    links: tuple[str, ...]


@dataclass(frozen=True)
class Drift:
    """The share of a field's values that a provider has changed: `changed` of `compared` values, with the 95 % interval
    of the share, as measured by the dataset `drift`.
    """

    source: str
    field: str
    measured_at: datetime
    compared: int
    changed: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class ColumnChange:
    """The share of nulls in a column, in the version and in its base; None without rows. is_added: whether the column
    was added to the contract after the dataset's table was created.
    """

    name: str
    type: str
    nulls: float | None
    nulls_before: float | None
    is_added: bool


@dataclass(frozen=True, kw_only=True)
class Measures:
    """The figures of a dataset in the report.

    Lags are between available_at and observed_at, in seconds; `days` has the New York days with any content, `undated`
    the gaps without a day by type. `before` has the counts of the base version. `newest` is the newest available_at,
    `polled` the last poll of the source.
    """

    dataset: Dataset
    counts: Counts
    before: Counts
    days: Mapping[date, Day]
    undated: Mapping[str, int]
    reasons: Sequence[tuple[str, str, int]]
    sources: Mapping[str, int]
    lags: Mapping[str, int]
    lag_quantiles: tuple[float, float, float] | None
    late: LateArrivals
    newest: datetime | None
    observed: datetime | None
    polled: datetime | None
    freshness: CheckResult
    anomalies: Sequence[Anomaly]
    check_reports: Sequence[CheckReport]
    examples: Mapping[str, Sequence[Example]]
    drift: Sequence[Drift]
    columns: Sequence["ColumnChange"]

    @property
    def gaps(self) -> Mapping[str, int]:
        """Return the gaps by type, undated ones included."""
        counts = Counter(self.undated)
        for day in self.days.values():
            counts.update(day.gaps)
        return dict(counts)

    @property
    def failing(self) -> Sequence[CheckResult]:
        """Return the failing checks of the newest run."""
        return [check for check in self.check_reports[0].checks if not check.passed] if self.check_reports else ()


def measure(lake: Lake, dataset: Dataset, snapshot: Snapshot, base: Snapshot, at: datetime) -> Measures:
    """Measure a dataset in a version. base: the version to compare with. at: the instant for freshness.

    Raises LakeError if files can't be read.
    """
    files = _files(snapshot, dataset.name)
    with calculator(1) as sql:  # Each additional thread keeps rows in memory.
        seen = clocks(sql, files)
        base_files, counter = _files(base, dataset.name), RevisionCounter(sql, dataset)
        revisions = counter.of(files)
        revised_before = revisions if base_files == files else counter.of(base_files)
        gaps: defaultdict[date | None, dict[str, int]] = defaultdict(dict)
        if gap_files := _files(snapshot, gap_table_name(dataset.name)):
            query = f"SELECT try_cast(partition AS DATE), gap_type, count(*) FROM {reading(gap_files)} GROUP BY ALL"
            for day, kind, count in _ask(sql, query):
                gaps[day][kind] = count
        rows, revised = seen.days, revisions.by_day
        days: dict[date | None, Day] = {
            day: Day(rows.get(day, 0) if day else 0, revised.get(day, 0) if day else 0, gaps.get(day, {}))
            for day in {*rows, *gaps}
        }
        undated = days.pop(None, Day()).gaps
        dated = {day: what for day, what in days.items() if day is not None}
        check_reports = at_version.check_reports(lake, dataset.name, snapshot.version)
        polls = lake.polls(dataset.name)
        return Measures(
            dataset=dataset,
            counts=_counts(dataset, snapshot, revisions),
            before=_counts(dataset, base, revised_before),
            days=dated,
            undated=undated,
            reasons=_reasons(sql, dataset, snapshot),
            sources=seen.sources,
            lags=seen.lags,
            lag_quantiles=seen.quantiles,
            late=late.arrivals(sql, dataset, files, seen.hours, polls),
            newest=seen.newest,
            observed=seen.observed,
            polled=clock.from_micros(polls[0].observed) if polls else None,
            freshness=freshness(dataset, newest_record(dataset, files, snapshot.fetch), at, lake.ends_at),
            anomalies=anomalies({day: what.rows for day, what in dated.items()}),
            check_reports=check_reports,
            examples=_examples(sql, dataset, files, check_reports),
            drift=_drift(sql, dataset, snapshot),
            columns=_columns(sql, dataset, files, base_files, lake.added_columns(dataset)),
        )


def _files(snapshot: Snapshot, table: str) -> tuple[DataFile, ...]:
    files = snapshot.files(table)
    snapshot.fetch(files)
    return files


def _ask(sql: duckdb.DuckDBPyConnection, query: str, **parameters: object) -> list[tuple[Any, ...]]:
    return sql.sql(query, params=parameters or None).fetchall()


def _counts(dataset: Dataset, snapshot: Snapshot, revisions: Revisions) -> Counts:
    rows = sum(file.rows for file in snapshot.files(dataset.name))
    gaps = sum(file.rows for file in snapshot.files(gap_table_name(dataset.name)))
    return Counts(rows=rows, keys=rows - revisions.rows, revised_keys=revisions.keys, gaps=gaps)


def _reasons(sql: duckdb.DuckDBPyConnection, dataset: Dataset, snapshot: Snapshot) -> list[tuple[str, str, int]]:
    files = _files(snapshot, gap_table_name(dataset.name))
    if not files:
        return []
    query = f"SELECT gap_type, reason, count(*) FROM {reading(files)} GROUP BY ALL ORDER BY 3 DESC, 1, 2"
    return [(kind, reason, count) for kind, reason, count in _ask(sql, query)]


def _drift(sql: duckdb.DuckDBPyConnection, dataset: Dataset, snapshot: Snapshot) -> list[Drift]:
    """Return the newest measurement of each field, most drift first; none if nothing was measured."""
    files = _files(snapshot, DRIFT)
    if not files:
        return []
    query = f"""
        SELECT source, field, measured_at, compared, changed, share, low, high FROM {reading(files)}
        WHERE dataset = $dataset
        QUALIFY row_number() OVER (PARTITION BY source, field ORDER BY measured_at DESC, available_at DESC) = 1
        ORDER BY share DESC, source, field"""
    return [Drift(*row) for row in _ask(sql, query, dataset=dataset.name)]


def _columns(
    sql: duckdb.DuckDBPyConnection,
    dataset: Dataset,
    files: Sequence[DataFile],
    earlier: Sequence[DataFile],
    added: frozenset[str],
) -> list[ColumnChange]:
    """Return the null rate of each column that may be null, and the columns that were added."""
    now = _nulls(sql, files)
    before = now if files == earlier else _nulls(sql, earlier)
    rows, rows_before = (sum(file.rows for file in some) for some in (files, earlier))
    return [
        ColumnChange(
            column.name,
            column.type,
            now.get(column.name, rows) / rows if rows else None,
            before.get(column.name, rows_before) / rows_before if rows_before else None,
            column.name in added,
        )
        for column in dataset.columns
        if not column.required and column.type not in {"strings", "vector"}
    ]


def _nulls(sql: duckdb.DuckDBPyConnection, files: Sequence[DataFile]) -> dict[str, int]:
    """Return the number of nulls in each column by the files' statistics. A missing column has only nulls."""
    if not files:
        return {}
    paths = [file.path for file in files]
    query = """
        SELECT path_in_schema, sum(num_values)::BIGINT, sum(coalesce(stats_null_count, 0))::BIGINT
        FROM parquet_metadata($paths) GROUP BY 1"""
    rows = sum(file.rows for file in files)
    return {name: rows - (values - nulls) for name, values, nulls in _ask(sql, query, paths=paths)}


def _examples(
    sql: duckdb.DuckDBPyConnection, dataset: Dataset, files: Sequence[DataFile], check_reports: Sequence[CheckReport]
) -> dict[str, list[Example]]:
    """Return the records named by each failing check of the newest run, with their rows in the lake."""
    failing = [check for check in check_reports[0].checks if not check.passed] if check_reports else []
    return {
        check.name: [_example(sql, dataset, files, evidence) for evidence in check.examples[:MOST_EXAMPLES]]
        for check in failing
    }


def _example(sql: duckdb.DuckDBPyConnection, dataset: Dataset, files: Sequence[DataFile], evidence: str) -> Example:
    names = ["available_at", *dataset.business_columns]
    query = f"""
        SELECT {columns(names)} FROM {reading(files, dataset.arrow_schema)} WHERE evidence = $evidence
        ORDER BY {", ".join(f"{quoted(name)} DESC NULLS LAST" for name in dataset.revision_order)} LIMIT 1"""
    rows = _ask(sql, query, evidence=evidence) if files and not dataset.open_only else []
    row = {name: _text(value) for name, value in zip(names, rows[0], strict=True) if value is not None} if rows else {}
    links = [text for text in (evidence, *row.values()) if text.startswith(("https://", "http://")) and " " not in text]
    return Example(evidence, row, tuple(dict.fromkeys(links)))


def _text(value: Any) -> str:
    if value is None:
        return ""
    text = value.isoformat() if isinstance(value, (datetime, date)) else str(value)
    return text if len(text) <= CELL_CHARACTERS else f"{text[:CELL_CHARACTERS]}…"
