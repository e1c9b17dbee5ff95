"""Drift: a run whose rows differ from the lake's as they do when a source has changed its form, such as a renamed
property, another unit or a lost label.

Only rows whose content the lake lacks are compared. A revised row is compared with its previous content, a new row with
stored rows that have the same values in the contract's `alike` columns. Runs of a few rows are not judged. Beyond a
limit of the contract the run is refused, beyond half of it the check warns.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import exp, log

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pitlake.contract import Column, Dataset
from pitlake.lake.publishing.audit import CheckResult
from pitlake.lake.publishing.hash_index import LikelyFiles
from pitlake.lake.publishing.match_keys import GAP
from pitlake.lake.publishing.stage import Staged
from pitlake.lake.storage.arrays import Positions
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.tables.query import calculator, columns, quoted, reading

DRIFT = "drift"
LEAST_ROWS, LEAST_ENTITIES = 20, 3
"""A run is not judged by fewer rows than these, nor a feed's run by revisions of fewer entities: a correction may
restate everything about one company.
"""
MOST_STAGED, MOST_STORED, MOST_BYTES = 20_000, 50_000, 64 << 20
"""The largest samples of a run and of the lake."""
LONGEST_VALUE, MOST_VALUES = 40, 50
"""A text column is an enumeration if the lake has at most this many values of at most this length, each often."""
WARNS_AT = 0.5
"""The part of a limit beyond which the check warns."""
GAP_TYPE = "unverifiable"
HISTORY = "available_at"
REASON = "let pass"
ADVICE = "fix the source, or let this one run pass with a reason (allow_drift)"
PERCENT = 100


@dataclass(frozen=True)
class Finding:
    """One difference: what differs, in words, and its size as a part of the contract's limit."""

    subject: str
    text: str
    of_limit: float


@dataclass(frozen=True)
class Measure:
    """A property of a column's values that is compared: whether they are empty, or the logarithm of their length or
    magnitude.
    """

    column: str
    kind: str
    sql: str


def result(staged: Staged, findings: Iterable[Finding], allowed: str) -> CheckResult:
    """Return the check of a run. allowed: the reason to let the run pass in spite of its findings, or blank."""
    noticed = [finding for finding in findings if finding.of_limit > WARNS_AT]
    beyond = any(finding.of_limit >= 1 for finding in noticed)
    facts: dict[str, int | str] = {"rows": staged.rows.num_rows}
    facts |= {finding.subject: finding.text for finding in sorted(noticed, key=lambda finding: -finding.of_limit)}
    if beyond:
        facts |= {REASON: allowed} if allowed else {"next": ADVICE}
    severity = "blocking" if not noticed or (beyond and not allowed) else "warning"
    return CheckResult(name=DRIFT, passed=not noticed, severity=severity, facts=facts)


def findings(staged: Staged, stored: LikelyFiles, gaps: LikelyFiles, observed_at: datetime) -> Iterator[Finding]:
    """Yield the differences between a stage and the lake's rows and gaps."""
    fresh = _fresh(staged, stored, observed_at)
    yield from _gap_share(staged, len(fresh), stored, gaps)
    if len(fresh) < LEAST_ROWS or not stored.all:
        return
    sample = fresh[:: -(-len(fresh) // MOST_STAGED)]
    rows = staged.rows.append_column("_hash", staged.content_hash).take(pa.array(sample))
    with calculator(staged=rows.append_column("_position", pa.array(np.arange(rows.num_rows)))) as sql:
        yield from _Comparison(staged.dataset, sql, stored, observed_at).findings(len(fresh) / rows.num_rows, staged)


def _fresh(staged: Staged, stored: LikelyFiles, observed_at: datetime) -> Positions:
    """Return the positions of the rows whose content the lake lacks."""
    fresh = np.ones(staged.rows.num_rows, bool)
    fresh[staged.duplicates.again] = False
    if staged.rows.num_rows >= LEAST_ROWS and (files := stored.holding(columns(staged.dataset.identity))):
        fresh &= ~staged.compared(files, observed_at).stored
    return np.flatnonzero(fresh)


def _gap_share(staged: Staged, fresh: int, rows: LikelyFiles, gaps: LikelyFiles) -> Iterator[Finding]:
    """Compare the share of records that could not be read or dated."""
    limits = staged.dataset.drift
    chosen = staged.gaps.filter(pc.equal(staged.gaps["gap_type"], GAP_TYPE))
    chosen = chosen.filter(pc.invert(pc.is_in(chosen["reason"], pa.array(limits.waiting, pa.string()))))
    if not rows.all or chosen.num_rows < LEAST_ROWS:
        return
    reasons = pc.value_counts(chosen["reason"]).to_pylist()
    new, stored = chosen.num_rows, 0
    if gaps.all:
        with calculator(staged=chosen) as sql:
            table = reading(gaps.all)
            unknown = f"SELECT count(*) FROM staged ANTI JOIN {table} USING ({columns(GAP)})"
            (new,) = sql.execute(unknown).fetchone() or (0,)
            (stored,) = sql.execute(f"SELECT count(*) FROM {table} WHERE gap_type = '{GAP_TYPE}'").fetchone() or (0,)
    if new < LEAST_ROWS:
        return
    expected = stored / (stored + sum(file.rows for file in rows.all))
    share = new / (new + fresh)
    reason = max(reasons, key=lambda count: count["counts"])["values"]
    text = f"{_percent(share)} of {new + fresh:,} new records can't be used, {_percent(expected)} in the lake: {reason}"
    yield Finding("gaps", text, _excess(share, expected) / limits.gaps)


class _Comparison:
    """One run's rows beside the lake's, in DuckDB. The run's fresh rows are the table `staged`."""

    def __init__(
        self, dataset: Dataset, sql: duckdb.DuckDBPyConnection, stored: LikelyFiles, observed_at: datetime
    ) -> None:
        self._dataset, self._sql, self._stored, self._observed_at = dataset, sql, stored, observed_at
        self._measures = list(_measures(dataset))
        measured = ", ".join(f"{measure.sql} AS m{place}" for place, measure in enumerate(self._measures))
        alike = "concat_ws('|', 'all'" + "".join(f", coalesce({quoted(n)}::VARCHAR, '')" for n in dataset.alike) + ")"
        self._facts = f"{alike} AS _alike" + (f", {measured}" if measured else "")
        self._sql.execute(f"CREATE TEMP TABLE run AS SELECT _position, {self._facts} FROM staged")

    def findings(self, scale: float, staged: Staged) -> Iterator[Finding]:
        """Yield the differences. scale: the number of fresh rows for each sampled one."""
        self._create_before()
        (fresh,) = self._sql.execute("SELECT count(*) FROM run").fetchone() or (0,)
        if fresh < LEAST_ROWS:
            return
        yield from self._revised(fresh, scale, staged)
        self._create_sample()
        new = "SELECT run.* FROM run ANTI JOIN before USING (_position)"
        yield from self._differences("revised", "SELECT run.* FROM run", "before", "_position", scale)
        yield from self._differences("new", new, "sample", "_alike", scale)
        yield from self._new_values(scale)

    def _create_before(self) -> None:
        """Create the table of the previous contents of revised rows, and remove the rows whose content the lake had at
        any time.
        """
        files = self._stored.holding(columns(self._dataset.identity)) or self._stored.all[:1]
        order = ", ".join(f"e.{quoted(name)} DESC NULLS LAST" for name in self._dataset.revision_order)
        same = " AND ".join(f"e.{quoted(n)} IS NOT DISTINCT FROM s.{quoted(n)}" for n in self._dataset.identity)
        join = f"""
            SELECT s._position, bool_or(e.content_hash = s._hash) OVER (PARTITION BY s._position) AS _stored, e.*
            FROM staged s JOIN {self._read(files)} e ON {same} WHERE e.available_at <= $observed
            QUALIFY row_number() OVER (PARTITION BY s._position ORDER BY {order}) = 1"""
        self._sql.execute(
            f"CREATE TEMP TABLE before AS SELECT _position, _stored, {quoted(self._dataset.entity)} AS _entity,"
            f" {self._facts} FROM ({join})",
            {"observed": self._observed_at},
        )
        self._sql.execute("DELETE FROM run WHERE _position IN (SELECT _position FROM before WHERE _stored)")
        self._sql.execute("DELETE FROM before WHERE _stored")

    def _create_sample(self) -> None:
        """Create the table of stored rows that new rows are compared with: the newest."""
        files, rows, size = list[DataFile](), 0, 0
        for file in sorted(self._stored.all, key=lambda file: file.hi, reverse=True):
            if not files or (rows < MOST_STORED and size + file.size <= MOST_BYTES):
                files.append(file)
                rows, size = rows + file.rows, size + file.size
        most = min(MOST_STORED, int(rows * min(1, MOST_BYTES / max(size, 1))) + 1)
        self._sql.execute(
            f"CREATE TEMP TABLE sample AS SELECT {self._facts}{self._values()} FROM {self._read(files)} LIMIT {most}"
        )

    def _read(self, files: Sequence[DataFile]) -> str:
        return reading(files, self._dataset.arrow_schema)

    def _revised(self, fresh: int, scale: float, staged: Staged) -> Iterator[Finding]:
        """Compare the revised rows with all rows of the run that the lake knows."""
        limit = self._dataset.drift.revised
        counts = "SELECT count(*), count(DISTINCT _entity) FROM before"
        revised, entities = self._sql.execute(counts).fetchone() or (0, 0)
        if limit is None or self._dataset.revised_at == HISTORY or revised < LEAST_ROWS:
            return
        if self._dataset.captured and entities < LEAST_ENTITIES:
            return
        known = staged.rows.num_rows - round((fresh - revised) * scale)
        share = min(1.0, revised * scale / max(known, 1))
        text = f"{_percent(share)} of the {known:,} records that the lake has differ from their rows there"
        yield Finding("revised", text, share / limit)

    def _differences(self, part: str, rows: str, reference: str, group: str, scale: float) -> Iterator[Finding]:
        """Compare the measures of some rows with what the rows of the reference in the same group let expect."""
        if not self._measures:
            return
        places = range(len(self._measures))
        expected = ", ".join(f"avg(m{p}) AS e{p}" for p in places)
        compared = ", ".join(f"avg(m{p}), avg(e{p}), median(m{p} - e{p}), count(m{p} - e{p})" for p in places)
        values = self._sql.execute(
            f"SELECT count(*), {compared} FROM ({rows})"
            f" JOIN (SELECT {group}, {expected} FROM {reference} GROUP BY {group}) USING ({group})"
        ).fetchone() or (0,)
        for measure, place in zip(self._measures, range(1, len(values), 4), strict=False):
            share, before, shift, count = values[place : place + 4]
            if count >= LEAST_ROWS:
                yield from self._of_measure(measure, part, (share, before, shift), round(count * scale))

    def _of_measure(
        self, measure: Measure, part: str, numbers: tuple[float, float, float], count: int
    ) -> Iterator[Finding]:
        limits, (share, before, shift) = self._dataset.drift, numbers
        subject = f"{measure.column} of {part} rows"
        if measure.kind == "empty":
            if count * (1 - before) >= LEAST_ROWS:
                text = f"{_percent(share)} of {count:,} rows are null or empty, {_percent(before)} in the lake"
                yield Finding(subject, text, _excess(share, before) / limits.empty)
            return
        limit = limits.length if measure.kind == "length" else limits.magnitude
        text = f"the {measure.kind} of {count:,} values is typically {exp(shift):.3g} times that in the lake"
        yield Finding(subject, text, abs(shift) / log(limit))

    def _enumerations(self) -> list[Column]:
        naming = {*self._dataset.identity, *self._dataset.key, self._dataset.entity, *self._dataset.alike}
        return [c for c in self._dataset.columns if c.type == "string" and not c.proof and c.name not in naming]

    def _values(self) -> str:
        """Return the values of possible enumerations as columns. Digits count as equal: years and quarters go on."""
        return "".join(f", {_value(column.name)} AS v{place}" for place, column in enumerate(self._enumerations()))

    def _new_values(self, scale: float) -> Iterator[Finding]:
        """Compare the values of enumerations with those of the lake."""
        for place, column in enumerate(self._enumerations()):
            known = f"(SELECT v{place} AS v, count(*) AS n FROM sample WHERE v{place} IS NOT NULL GROUP BY ALL)"
            facts = f"SELECT count(*), coalesce(sum(n), 0), bool_and(length(v) <= {LONGEST_VALUE}) FROM {known}"
            distinct, rows, short = self._sql.execute(facts).fetchone() or (0, 0, False)
            if not short or distinct > MOST_VALUES or rows < 10 * distinct:
                continue
            of_run = f"""SELECT {_value(column.name)} AS v FROM staged JOIN run USING (_position)
                WHERE _alike IN (SELECT _alike FROM sample)"""
            query = f"SELECT count(v), count(v) FILTER (WHERE v NOT IN (SELECT v FROM {known})) FROM ({of_run})"
            count, new = self._sql.execute(query).fetchone() or (0, 0)
            if count >= LEAST_ROWS:
                text = f"{_percent(new / count)} of {round(count * scale):,} values are none of the lake's {distinct}"
                yield Finding(f"{column.name} values", text, new / count / self._dataset.drift.new_values)


def _value(name: str) -> str:
    return f"regexp_replace({quoted(name)}, '[0-9]', '0', 'g')"


def _measures(dataset: Dataset) -> Iterator[Measure]:
    naming = {*dataset.identity, *dataset.key}
    for column in dataset.columns:
        name, sized = quoted(column.name), column.type in {"string", "json", "strings", "vector"}
        if column.proof:
            continue
        yield Measure(column.name, "empty", f"({name} IS NULL{f' OR len({name}) = 0' if sized else ''})::INT")
        if sized and column.type != "strings" and column.name not in naming:
            yield Measure(column.name, "length", f"ln(nullif(len({name}), 0))")
        if column.type in {"int", "float"} and column.name not in naming:
            yield Measure(column.name, "magnitude", f"ln(abs(nullif({name}, 0)::DOUBLE))")


def _excess(share: float, expected: float) -> float:
    """Return the part of what was expected to be usable that is not."""
    return max(0.0, share - expected) / max(1 - expected, 1e-9)


def _percent(share: float) -> str:
    return f"{PERCENT * share:.3g} %"
