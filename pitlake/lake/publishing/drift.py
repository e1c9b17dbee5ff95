"""Drift: a run whose rows suggest that the source has changed its format. It may have renamed a property, changed a
unit or dropped a label.

Only rows whose content the lake lacks are compared. A revised row is compared with its previous content. A new row is
compared with stored rows that have the same values in the contract's `alike` columns. Small runs are not judged. A run
beyond a limit of the contract is refused; beyond half of the limit, the check warns.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import exp, log
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pitlake.contract import LEAST_ENTITIES, Dataset
from pitlake.lake.publishing.audit import CheckResult, Severity
from pitlake.lake.publishing.hash_index import LikelyFiles
from pitlake.lake.publishing.match_keys import GAP
from pitlake.lake.publishing.stage import Staged
from pitlake.lake.storage.arrays import as_numbers
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.tables.query import calculator, columns, quoted, reading

DRIFT = "drift"
LEAST_ROWS = 20
"""A run is not judged by fewer rows than these, nor a feed's run by revisions of fewer than LEAST_ENTITIES entities: a
correction may restate everything about one company.
"""
MOST_STAGED, MOST_STORED, MOST_BYTES = 20_000, 50_000, 64 << 20
"""The largest samples of a run and of the lake."""
LONGEST_VALUE, MOST_VALUES, LEAST_OFTEN = 40, 50, 10
"""A text column is an enumeration if its values in the lake are short, have at most MOST_VALUES different forms, and
each form has on average at least LEAST_OFTEN values.
"""
WARNS_AT, ONLY_WARNS = 0.5, 0.99
"""The part of a limit beyond which the check warns, and the largest part without a refusal."""
TOGETHER = 0.01
"""The largest difference of factors by which prices of a bar are restated together."""
VARIED = 0.8
"""A column's values vary if at least this share of those in the lake is distinct."""
CORRECTED = 0.1
"""Revisions of a smaller share of a run's known records are corrections, which only warn."""
CHARACTERS = 200
"""The number of characters at the start of a string that are checked for their kinds."""
VARYING = frozenset({"string", "json", "int", "float", "instant"})
GAP_TYPE = "unverifiable"
HISTORY = "available_at"
REASON = "let pass"
ADVICE = "fix the source, or let this one run pass with a reason (allow_drift)"
PERCENT = 100
Earlier = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Finding:
    """A difference: what differs, in words, and its size as a part of the contract's limit."""

    subject: str
    text: str
    of_limit: float


@dataclass(frozen=True)
class _Part:
    """Some rows of a run, the reference to compare them with by group, and whether their differences refuse the run or
    only warn.
    """

    name: str
    rows: str
    reference: str
    group: str
    refuses: bool


@dataclass(frozen=True)
class Measure:
    """A property of a column's values to compare: whether they are empty or negative, or the logarithm of their length
    or magnitude.
    """

    column: str
    kind: str
    sql: str


def result(staged: Staged, findings: Iterable[Finding], allowed: str) -> CheckResult:
    """Return the check result of a run. allowed: the reason to publish the run despite its findings, or blank."""
    noticed = [finding for finding in findings if finding.of_limit > WARNS_AT]
    beyond = any(finding.of_limit >= 1 for finding in noticed)
    facts: dict[str, int | str] = {"rows": staged.rows.num_rows}
    facts |= {finding.subject: finding.text for finding in sorted(noticed, key=lambda finding: -finding.of_limit)}
    if beyond:
        facts |= {REASON: allowed} if allowed else {"next": ADVICE}
    severity: Severity = "blocking" if not noticed or (beyond and not allowed) else "warning"
    return CheckResult(name=DRIFT, passed=not noticed, severity=severity, facts=facts)


def findings(
    staged: Staged, stored: LikelyFiles, gaps: LikelyFiles, earlier: Earlier, observed_at: datetime
) -> Iterator[Finding]:
    """Yield the differences between a stage and the lake's rows and gaps. earlier: by partition or entity, the number
    of records at its last poll, and now.
    """
    # The positions of the rows whose content the lake lacks or has only at another instant.
    is_fresh = np.ones(staged.rows.num_rows, bool)
    is_fresh[staged.duplicates.again] = False
    if staged.rows.num_rows >= LEAST_ROWS and (files := stored.holding(columns(staged.dataset.identity))):
        is_fresh &= ~staged.compared(files, observed_at).stored
    fresh = np.flatnonzero(is_fresh)
    yield from _gap_share(staged, len(fresh), stored, gaps)
    yield from _shared_ids(staged, stored)
    if len(fresh) < LEAST_ROWS or not stored.all:
        return
    sample = fresh[:: -(-len(fresh) // MOST_STAGED)]
    rows = staged.rows.append_column("_hash", staged.content_hash).take(pa.array(sample))
    rows = rows.append_column("_position", pa.array(sample))
    with calculator(staged=rows) as sql:
        comparison = _Comparison(staged, sql, stored, observed_at, len(fresh) / rows.num_rows)
        yield from comparison.findings(earlier)


def _gap_share(staged: Staged, fresh: int, rows: LikelyFiles, gaps: LikelyFiles) -> Iterator[Finding]:
    """Compare the share of records that could not be read or dated with that in the lake."""
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


def _shared_ids(staged: Staged, stored: LikelyFiles) -> Iterator[Finding]:
    """Count the records that share their id with another record of the run. A source that shows only the newest
    statement of a record contains each id once.
    """
    dataset, limit = staged.dataset, staged.dataset.drift.shared
    if dataset.thing == dataset.identity or dataset.newer_by or dataset.revised_at == HISTORY or not stored.all:
        return
    times = {column.name for column in dataset.columns if column.type in {"date", "instant"}}
    names = [name for name in dataset.identity if name in dataset.thing or name not in times]
    statements = f"SELECT DISTINCT {columns(dataset.identity)} FROM staged"
    counted = f"SELECT count(*) AS n FROM ({statements}) GROUP BY {columns(names)}"
    with calculator(staged=staged.rows.select(dataset.identity)) as sql:
        (shared,) = sql.execute(f"SELECT coalesce(sum(n), 0) FROM ({counted}) WHERE n > 1").fetchone() or (0,)
    if shared >= LEAST_ROWS:
        share = shared / staged.rows.num_rows
        text = f"{_percent(share)} of {staged.rows.num_rows:,} records share their {', '.join(names)} with another one"
        yield Finding("shared ids", text, share / limit)


class _Comparison:
    """The rows of a run and of the lake in DuckDB. The run's new rows, or a sample of them, are the table `staged`.

    scale: the number of new rows for each sampled row.
    """

    def __init__(
        self, staged: Staged, sql: duckdb.DuckDBPyConnection, stored: LikelyFiles, observed_at: datetime, scale: float
    ) -> None:
        self._staged, self._dataset, self._sql, self._scale = staged, staged.dataset, sql, scale
        self._stored, self._observed_at = stored, observed_at
        self._measures = list(_measures(self._dataset))
        self._texts = [c.name for c in self._dataset.columns if c.type == "string" and not c.proof]
        naming = {*self._dataset.identity, *self._dataset.key, self._dataset.entity}
        self._varied = [
            c.name for c in self._dataset.columns if c.type in VARYING and not c.proof and c.name not in naming
        ]
        alike = ", ".join(f"coalesce({quoted(name)}::VARCHAR, '')" for name in self._dataset.alike)
        measured = "".join(f", {measure.sql} AS m{place}" for place, measure in enumerate(self._measures))
        self._facts = f"concat_ws('|', {alike}) AS _alike{measured}"
        # In the form of a string all numbers are equal, because ids, years and quarters keep changing.
        self._values = "".join(
            f", regexp_replace({quoted(name)}, '[0-9]+', '0', 'g') AS v{place}, {_characters(name)} AS c{place}"
            for place, name in enumerate(self._texts)
        )
        self._values += "".join(
            f", CASE WHEN {quoted(name)}::VARCHAR NOT IN ('', '0', '0.0') THEN hash({quoted(name)}) END AS h{place}"
            for place, name in enumerate(self._varied)
        )
        self._sql.execute(f"CREATE TEMP TABLE run AS SELECT _position, {self._facts}{self._values} FROM staged")

    def findings(self, earlier: Earlier) -> Iterator[Finding]:
        """Yield the differences."""
        self._create_before()
        fresh, revised, entities = self._row(
            "SELECT (SELECT count(*) FROM run), count(*), count(DISTINCT _entity) FROM before"
        )
        if fresh < LEAST_ROWS:
            return
        known_rows = self._staged.rows.num_rows - round((fresh - revised) * self._scale)
        share, limit = min(1.0, revised * self._scale / max(known_rows, 1)), self._dataset.drift.revised
        changed, is_judged = revised - self._moved_together(), self._dataset.revised_at != HISTORY
        is_judged &= changed >= LEAST_ROWS and (entities >= LEAST_ENTITIES or not self._dataset.captured)
        if limit is not None and is_judged:
            differing = min(1.0, changed * self._scale / max(known_rows, 1))
            text = f"{_percent(differing)} of the {known_rows:,} records that the lake has differ from their rows there"
            yield Finding("revised", text, differing / limit)
        yield from self._replaced(earlier, known_rows)
        self._create_sample()
        yield from self._repeated()
        for part in (
            _Part("revised", "run SEMI JOIN before USING (_position)", "before", "_position", share >= CORRECTED),
            _Part("new", "fresh SEMI JOIN sample USING (_alike)", "sample", "_alike", True),
            _Part("new, unlike", "fresh ANTI JOIN sample USING (_alike)", "sample", "1", False),
        ):
            for finding in (*self._differences(part), *self._new_values(part)):
                yield finding if part.refuses else replace(finding, of_limit=min(finding.of_limit, ONLY_WARNS))

    def _create_before(self) -> None:
        """Create the table of the previous content of revised rows, and remove rows whose content the lake has had
        before.
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
        self._sql.execute("CREATE TEMP VIEW fresh AS SELECT run.* FROM run ANTI JOIN before USING (_position)")

    def _create_sample(self) -> None:
        """Create the table of the newest stored rows, with which new rows are compared."""
        files, rows, size = list[DataFile](), 0, 0
        for file in sorted(self._stored.all, key=lambda file: file.hi, reverse=True):
            if not files or (rows < MOST_STORED and size + file.size <= MOST_BYTES):
                files.append(file)
                rows, size = rows + file.rows, size + file.size
        most = min(MOST_STORED, int(rows * min(1, MOST_BYTES / max(size, 1))) + 1)
        self._sql.execute(
            f"CREATE TEMP TABLE sample AS SELECT available_at::DATE AS _day, {self._facts}{self._values}"
            f" FROM {self._read(files)} LIMIT {most}"
        )

    def _moved_together(self) -> int:
        """Return the number of revised rows whose prices all changed by the same factor, as after a split."""
        together = self._dataset.drift.together
        places = [p for p, m in enumerate(self._measures) if m.kind == "magnitude" and m.column in together]
        if not places:
            return 0
        moved = ", ".join(f"run.m{place} - before.m{place}" for place in places)
        spread = f"coalesce(greatest({moved}) - least({moved}), 0)"
        (count,) = self._row(f"SELECT count(*) FROM run JOIN before USING (_position) WHERE {spread} <= {TOGETHER}")
        return int(count)

    def _repeated(self) -> Iterator[Finding]:
        """Compare how often values repeat in columns whose values vary in the lake. Revisions only warn."""
        for place, name in enumerate(self._varied):
            stored, distinct = self._row(f"SELECT count(h{place}), count(DISTINCT h{place}) FROM sample")
            if stored < LEAST_ROWS or distinct < VARIED * stored:
                continue
            for rows, largest in (("run SEMI JOIN before USING (_position)", ONLY_WARNS), ("fresh", PERCENT)):
                often = f"SELECT count(*) AS n FROM {rows} WHERE h{place} IS NOT NULL GROUP BY h{place}"
                count, most = self._row(f"SELECT coalesce(sum(n), 0), coalesce(max(n), 0) FROM ({often})")
                if count >= LEAST_ROWS:
                    text = f"{_percent(most / count)} of {round(count * self._scale):,} values are the same"
                    size = most / count / self._dataset.drift.new_values
                    yield Finding(f"{name}, repeated", text, min(size, largest))

    def _read(self, files: Sequence[DataFile]) -> str:
        return reading(files, self._dataset.arrow_schema)

    def _replaced(self, earlier: Earlier, known_rows: int) -> Iterator[Finding]:
        """Compare the number of new keys in windows polled before with the number of records that are gone."""
        limit, captured = self._dataset.drift.replaced, self._dataset.captured
        positions = as_numbers(self._sql.sql("SELECT _position FROM fresh").to_arrow_table()["_position"])
        if captured:
            names = self._staged.rows[self._dataset.entity].take(pa.array(positions)).to_pylist()
        else:
            names = np.array(self._staged.partitions)[self._staged.row_partition[positions]].tolist()
        names = [name for name in names if captured or name in earlier]
        new, was = round(len(names) * self._scale), sum(was for was, _ in earlier.values())
        gone = min(new, was - (known_rows if captured else sum(now for _, now in earlier.values()) - new))
        if limit is not None and gone >= LEAST_ROWS:
            text = f"{gone:,} of the {was:,} records of the same windows have different keys than at the last poll"
            size = gone / was / limit
            is_one_case = captured and len(set(names)) < LEAST_ENTITIES
            yield Finding("replaced", text, min(size, ONLY_WARNS) if is_one_case else size)

    def _differences(self, part: "_Part") -> Iterator[Finding]:
        """Compare the measures of some rows with the averages of the reference rows in the same group."""
        group, places = part.group, range(len(self._measures))
        expected = "".join(f", avg(m{p}) AS e{p}" for p in places)
        compared = "".join(f", avg(m{p}), avg(e{p}), median(m{p} - e{p}), count(m{p} - e{p})" for p in places)
        values = self._row(
            f"SELECT count(*){compared} FROM (SELECT {group} AS _group, * FROM {part.rows})"
            f" JOIN (SELECT {group} AS _group{expected} FROM {part.reference} GROUP BY ALL) USING (_group)"
        )
        for measure, place in zip(self._measures, range(1, len(values), 4), strict=True):
            share, before, shift, count = values[place : place + 4]
            if count >= LEAST_ROWS and (measure.kind == "empty" or part.group != "1"):
                yield from self._of_measure(measure, part.name, (share, before, shift), round(count * self._scale))

    def _of_measure(
        self, measure: Measure, part: str, numbers: tuple[float, float, float], count: int
    ) -> Iterator[Finding]:
        limits, (share, before, shift) = self._dataset.drift, numbers
        subject = f"{measure.column} of {part} rows"
        if measure.kind == "empty":
            if count * (1 - before) >= LEAST_ROWS:
                text = f"{_percent(share)} of {count:,} rows are null, empty or 0, {_percent(before)} in the lake"
                yield Finding(subject, text, _excess(share, before) / limits.empty)
            return
        if measure.kind == "negative":
            text = f"{_percent(share)} of {count:,} values are negative, {_percent(before)} in the lake"
            yield Finding(f"{subject}, sign", text, min(abs(share - before) / limits.empty, ONLY_WARNS))
            return
        limit = limits.length if measure.kind == "length" else limits.magnitude
        text = f"the {measure.kind} of {count:,} values is typically {exp(shift):.3g} times that in the lake"
        yield Finding(subject, text, abs(shift) / log(limit))

    def _new_values(self, part: "_Part") -> Iterator[Finding]:
        """Compare the values of enumerations, and the characters of all strings, with the lake's.

        Values such as company names keep changing. In the lake itself, many of their forms occur on one day only.
        """
        alike = {*self._dataset.alike} - {self._dataset.entity}
        for place, name in enumerate(self._texts):
            subject = f"{name} of {part.name} rows"
            if part.group != "1" or name in alike:
                yield from self._new_forms(part, f"v{place}", f"{subject}, values", "none of the {} forms in the lake")
            yield from self._new_forms(
                part, f"c{place}", f"{subject}, characters", "written in none of the {} ways in the lake"
            )

    def _new_forms(self, part: "_Part", form: str, subject: str, text: str) -> Iterator[Finding]:
        """Compare the forms of one column with the lake's, if the lake has few."""
        lake_values = (
            f"(SELECT {form} AS v, count(*) AS n, min(_day) = max(_day) AS once FROM sample"
            f" WHERE {form} IS NOT NULL GROUP BY v)"
        )
        distinct, rows, once, short = self._row(
            "SELECT count(*), coalesce(sum(n), 0), coalesce(sum(n) FILTER (once), 0),"
            f" bool_and(length(v) <= {LONGEST_VALUE}) FROM {lake_values}"
        )
        if not short or distinct > MOST_VALUES or rows < LEAST_OFTEN * distinct:
            return
        new_values = f"count({form}) FILTER (WHERE {form} NOT IN (SELECT v FROM {lake_values}))"
        count, new = self._row(f"SELECT count({form}), {new_values} FROM {part.rows}")
        if count >= LEAST_ROWS:
            total = round(count * self._scale)
            of_limit = _excess(new / count, once / rows) / self._dataset.drift.new_values
            yield Finding(subject, f"{_percent(new / count)} of {total:,} values are {text.format(distinct)}", of_limit)

    def _row(self, query: str) -> tuple[Any, ...]:
        (row,) = self._sql.execute(query).fetchall()
        return tuple(row)


def _characters(name: str) -> str:
    """Return SQL for the kinds of characters at the start of a string: letters, points, markup, brackets, mojibake."""
    text = f"left({quoted(name)}, {CHARACTERS})"
    kinds = [f"{text} <> upper({text})", f"{text} <> lower({text})", f"left(ltrim({text}), 1) IN ('[', '{{', '\"')"]
    kinds += [f"contains({text}, '{mark}')" for mark in (".", "<", "&#", "&amp;", "Ã", "â€")]
    return f"nullif(concat({', '.join(f'({kind})::INT' for kind in kinds)}), '')"


def _measures(dataset: Dataset) -> Iterator[Measure]:
    naming = {*dataset.identity, *dataset.key}
    for column in dataset.columns:
        name, sized = quoted(column.name), column.type in {"string", "json", "strings", "vector"}
        counted, freely = column.type in {"int", "float"}, column.name not in naming
        if column.proof:
            continue
        nothing = f" OR len({name}) = 0" if sized else f" OR {name} = 0" if counted and freely else ""
        yield Measure(column.name, "empty", f"({name} IS NULL{nothing})::INT")
        if sized and freely and column.type != "strings":
            yield Measure(column.name, "length", f"ln(nullif(len({name}), 0))")
        if counted and freely:
            yield Measure(column.name, "magnitude", f"ln(abs(nullif({name}, 0)::DOUBLE))")
            yield Measure(column.name, "negative", f"({name} < 0)::INT")


def _excess(share: float, expected: float) -> float:
    """Return the share of values that are unusable, as a part of those expected to be usable."""
    return max(0.0, share - expected) / max(1 - expected, 1e-9)


def _percent(share: float) -> str:
    return f"{PERCENT * share:.3g} %"
