"""Reads a table by its contract. Its rows are typed, dated, and checked as a whole before anything is staged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pitlake.clock import AVAILABLE_AT, iso
from pitlake.contract import BASIS, LEAST_REFUSED, OBSERVED, SOURCE_DATE
from pitlake.datasets._shared import FUTURE
from pitlake.errors import BadInput
from pitlake.lake.mounting import contract
from pitlake.lake.mounting.contract import Mount, MountedColumn
from pitlake.lake.mounting.rows import literal
from pitlake.lake.mounting.source import EXAMPLES, LONGEST_EXAMPLE, LOOKED_AT, NAIVE, REAL, Source, Survey
from pitlake.lake.publishing.match_keys import REFUSED, repeated
from pitlake.lake.publishing.stage import Stage, Staged, StagedGap, staged_schema
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.tables.query import columns, quoted, reading
from pitlake.times import ISO, MixedMidnights, are_days
from pitlake.times.sql import ColumnForm, in_sql, part

AT_ONCE = 122_880
"""The number of rows in a batch: as many as DuckDB reads from a file at a time."""
REASON, VALUE = "reason of gap", "refused value"
GAP, REFUSED_VALUE, CONTENT, KNOWN, ENDED = (
    quoted(name) for name in (REASON, VALUE, "hash of content", "instant of start", "instant of end")
)
"""Names that no column of a lake can have."""
FEW = 1_000
"""The most rows of a small table."""
_NEVER = "9999-01-01"
_DAY = r"\b\d{4}-\d\d-\d\d"
_MIDNIGHT = r"^(\d+-\d\d-\d\d)([T ]00:00(:00(\.0+)?)?)?$"


def _day(day: str, condition: str = "true") -> str:
    """Return SQL for a day of Python's calendar; null for other days, and if the condition does not hold."""
    return f"CASE WHEN {condition} AND {_is_in_calendar(day, 'DATE')} THEN {day} END"


def _is_in_calendar(value: str, kind: str) -> str:
    at = "" if kind == "DATE" else " 00:00:00+00"
    return f"{value} >= {kind} '0001-01-01{at}' AND {value} < {kind} '10000-01-01{at}'"


TYPED = {
    ("date", "text"): _day(f"try_cast(regexp_extract(trim({{0}}), '{_MIDNIGHT}', 1) AS DATE)"),
    ("date", "time"): _day("{0}::DATE", "{0}::DATE::TIMESTAMP = {0}::TIMESTAMP"),
    ("date", ""): _day("try_cast({0} AS DATE)"),
    ("int", "text"): r"CASE WHEN regexp_full_match(trim({0}), '[+-]?\d+(\.0*)?') THEN try_cast({0} AS BIGINT) END",
    ("int", "real"): "CASE WHEN {0} = trunc({0}) THEN try_cast({0} AS BIGINT) END",
    ("int", ""): "try_cast({0} AS BIGINT)",
    ("float", ""): "CASE WHEN NOT isnan(try_cast({0} AS DOUBLE)) THEN try_cast({0} AS DOUBLE) END",
    ("bool", ""): "try_cast({0} AS BOOLEAN)",
    ("json", "text"): "CASE WHEN json_valid({0}) THEN {0} END",
    ("json", ""): "to_json({0})::VARCHAR",
    ("strings", ""): "try_cast({0} AS VARCHAR[])",
    ("vector", ""): "try_cast({0} AS FLOAT[])",
}
"""SQL that converts a value to a type of the lake, by that type and by the kind of the source column."""


@dataclass(frozen=True)
class MountReading:
    """A table read by its contract, at the instant of a mount."""

    source: Source
    mount: Mount
    observed_at: datetime

    def check(self) -> None:
        """Raise BadInput if the table as a whole is invalid."""
        zoneless = [
            mounted.source
            for mounted in self.mount.columns
            if not self.mount.timezone
            and mounted.column.type == "instant"
            and self.source.types[mounted.source] in (*NAIVE, "VARCHAR")
            and self._survey(mounted).without_zone
        ]
        if zoneless:
            problem = f"{', '.join(zoneless)} has timestamps without a time zone"
            raise BadInput("timezone", problem, "name the zone they are in, such as America/New_York or UTC")
        self.counts_as_days  # noqa: B018 - raises
        readable = f"SELECT 1 FROM {self._statements} WHERE {GAP} IS NULL LIMIT 1"
        if not self.source.connection.execute(readable).fetchall():
            next_step = "name other columns for the key and the knowledge time, or the times' format with --time-format"
            raise BadInput("the table", f"no row can be mounted ({self._words()})", next_step)
        counts = {reason: count for reason, count in self._reasons() if reason != FUTURE.reason}
        refused, total = sum(counts.values()), self.rows
        if refused >= LEAST_REFUSED and refused > self.mount.most_refused * total:
            problem = f"{refused:,} of {total:,} rows can't be mounted ({self._words()})"
            next_step = "correct the options, such as --time-format, or allow a share of gaps with --most-refused 0.5"
            raise BadInput("the table", problem, next_step)
        for mounted in self.mount.columns:
            name, kind = quoted(mounted.source), self.source.types[mounted.source]
            if mounted.column.name not in self.mount.key or kind not in REAL:
                continue
            is_rounded = f"isfinite({name}) AND abs({name}) >= {2**53 if kind == 'DOUBLE' else 2**24}"
            text = f"SELECT 1 FROM {self.source.rows} WHERE {is_rounded} LIMIT 1"
            if self.source.connection.execute(text).fetchall():
                problem = f"{mounted.source} has numbers so large that floats round them, so two rows may look like one"
                raise BadInput("key", problem, "store the column as integers or texts")
        self._refuse_two_contents()

    def _survey(self, mounted: MountedColumn) -> Survey:
        return self.source.survey(mounted.source, self._forms[mounted.source], times=self._times)

    @cached_property
    def _times(self) -> str:
        """Return the SQL name of the table's rows together with the times of its columns."""
        names = list(dict.fromkeys(mounted.source for mounted in self.mount.columns))
        rows = in_sql(f"(SELECT {columns(names)} FROM {self.source.rows})", self._forms, names)
        return self._named("times", f"SELECT * FROM {rows}")

    @cached_property
    def _typed_rows(self) -> str:
        return self._named("typed", self._of_rows)

    @cached_property
    def _statements(self) -> str:
        """Return the SQL name of all statements, each with the reason and the value of its gap, if any."""
        return self._named("statements", self._of_statements)

    def _named(self, name: str, text: str) -> str:
        """Name a query. A small table is copied, because planning the query takes longer than reading its rows."""
        kind = "TABLE" if self.rows <= FEW else "VIEW"
        self.source.connection.execute(f"CREATE {kind} {name} AS {text}")
        return name

    @cached_property
    def counts_as_days(self) -> bool:
        """Return whether midnights of the knowledge column mean the end of their day. Raises BadInput."""
        of_mount = [mounted for mounted in self.mount.columns if mounted.column.name in self._dating]
        answers = []
        for mounted in of_mount:
            survey = self._survey(mounted)
            if mounted.column.type == "date" and survey.has_clock:
                problem = f"{mounted.source} was mounted as days and now also has {survey.clock_times:,} clock times"
                raise BadInput("available_at", problem, "mount the table under another name")
            try:
                answers.append(are_days(survey.midnights, survey.clock_times, self.mount.midnights))
            except MixedMidnights as mixed:
                problem = f"{mounted.source} has {mixed}, so its midnights may be days"
                next_step = (
                    "give --midnights end if they are days, available at their end, or --midnights instants; for a "
                    f'mounted table, write midnights = "end" or "instants" in {contract.key_of(self.mount.name)}'
                )
                raise BadInput("midnights", problem, next_step) from None
        return any(answers)

    @property
    def _dating(self) -> tuple[str, ...]:
        """Return the columns whose times date the rows."""
        return (*self.mount.dating, self.mount.until)

    @cached_property
    def _forms(self) -> dict[str, ColumnForm]:
        """Return the format of each column of times, by the column's name in the table."""
        mount, forms = self.mount, {}
        for mounted in mount.columns:
            name, kind = mounted.source, self.source.types[mounted.source]
            is_known = mounted.column.name in self._dating
            is_spelled = bool(mount.time_format) and (is_known or mounted.column.name == mount.valid_at)
            if is_known or mounted.column.type == "instant" or (is_spelled and mounted.column.type == "date"):
                form = mount.time_format if is_spelled else ISO
                forms[name] = ColumnForm(
                    kind, form, mount.timezone, self.source.zones.get(name, ""), has_unset=is_known
                )
        return forms

    @cached_property
    def rows(self) -> int:
        """Return the number of rows of the table."""
        return int(self.source.connection.execute(f"SELECT count(*) FROM {self.source.rows}").fetchall()[0][0])

    def _words(self) -> str:
        parts = []
        for reason, count in self._reasons():
            is_refused = f"{GAP} = {literal(reason)}"
            text = f"SELECT DISTINCT {REFUSED_VALUE} FROM {self._statements} WHERE {is_refused} LIMIT {EXAMPLES}"
            values = sorted(value for (value,) in self.source.connection.execute(text).fetchall() if value)
            such_as = f", such as {', '.join(values)}" if values else ""
            parts.append(f"{count:,} rows: {reason}{such_as}")
        return "; ".join(parts)

    def _refuse_two_contents(self) -> None:
        instant = f", {AVAILABLE_AT}" if self.mount.available_at else ""
        by = f"{columns(self.mount.key)}{instant}"
        # Keys that only the lake's types make equal, such as nanoseconds, are two rows. Strings may write a time twice.
        raw = (
            quoted(f"raw of {mounted.column.name}")
            for mounted in self.mount.columns
            if mounted.column.name in self.mount.key and self.source.types[mounted.source] != "VARCHAR"
        )
        content = ", ".join([*(quoted(mounted.column.name) for mounted in self.mount.columns), *raw])
        # The hashes of the statements with several contents. Grouping by the columns themselves takes several times as
        # long, and most tables have no such rows.
        hashes = f"hash({by}) AS statement, hash({content}) AS content"
        text = f"SELECT {hashes} FROM {self._statements} WHERE {GAP} IS NULL"
        batches = [*self.source.connection.sql(text).to_arrow_reader(AT_ONCE)]
        statements, contents = (np.concatenate([batch[place].to_numpy() for batch in batches]) for place in range(2))
        places = repeated(statements)
        places = places[np.argsort(statements[places])]
        first, second = places[:-1], places[1:]
        is_suspect = (statements[first] == statements[second]) & (contents[first] != contents[second])
        suspects = np.unique(statements[first][is_suspect])
        if not len(suspects):
            return
        self.source.connection.register("suspects", pa.table({"suspect": suspects}))
        examples = self.source.connection.execute(
            f"SELECT any_value(evidence) FROM (SELECT {by}, evidence, hash({content}) AS {CONTENT} "
            f"FROM {self._statements} WHERE {GAP} IS NULL AND hash({by}) IN (FROM suspects)) "
            f"GROUP BY {by} HAVING min({CONTENT}) <> max({CONTENT}) LIMIT {EXAMPLES}"
        ).fetchall()
        if examples:
            of = " and known at the same time" if self.mount.available_at else ""
            problem = f"rows with the same key{of} differ, such as {', '.join(text for (text,) in examples)}"
            raise BadInput("key", problem, "name more columns, or the column with the times at which rows became known")

    def _reasons(self) -> list[tuple[str, int]]:
        refused = f"FROM {self._statements} WHERE {GAP} IS NOT NULL"
        text = f"SELECT {GAP}, count(*) {refused} GROUP BY ALL ORDER BY 2 DESC, 1"
        return self.source.connection.execute(text).fetchall()

    def later_values(self) -> dict[str, int]:
        """Return the columns with days or instants after their own row became known, and the number of such rows."""
        last_day = f"(timezone({literal(self.mount.zone)}, {AVAILABLE_AT} - INTERVAL 1 MICROSECOND))::DATE"
        counts = {}
        for mounted in self.mount.columns:
            name = quoted(mounted.column.name)
            if mounted.column.name == self.mount.available_at:
                continue
            if mounted.column.type == "instant":
                counts[mounted.column.name] = f"{name} > {AVAILABLE_AT} AND {name} < TIMESTAMPTZ '{_NEVER} 00:00:00+00'"
            elif mounted.column.type == "date" or self._holds_days(mounted):
                day = name if mounted.column.type == "date" else f"try_cast(left(trim({name}), 10) AS DATE)"
                counts[mounted.column.name] = f"{day} > {last_day} AND {day} < DATE '{_NEVER}'"
            elif mounted.column.type in ("json", "strings"):
                texts = f"regexp_extract_all({name}::VARCHAR, '{_DAY}')"
                latest = f"list_max([try_cast(day AS DATE) FOR day IN {texts} IF day < '{_NEVER}'])"
                counts[mounted.column.name] = f"{latest} > {last_day}"
        if not counts:
            return {}
        filtered = ", ".join(f"count(*) FILTER ({condition})" for condition in counts.values())
        text = f"SELECT {filtered} FROM {self._typed_rows} WHERE {AVAILABLE_AT} IS NOT NULL"
        row_counts = self.source.connection.execute(text).fetchall()[0]
        return {name: count for name, count in zip(counts, row_counts, strict=True) if count}

    def _holds_days(self, mounted: MountedColumn) -> bool:
        """Return whether the first values of a string column are days."""
        if mounted.column.type != "string" or self.source.types[mounted.source] != "VARCHAR":
            return False
        if not self.source.resembles_times(mounted.source, LOOKED_AT):
            return False
        survey = self.source.survey(mounted.source, ColumnForm("VARCHAR"), LOOKED_AT)
        return survey.days > 0 and not survey.unreadable

    @property
    def _of_statements(self) -> str:
        """Return SQL for the staged columns of every statement, and the reason and value of its gap."""
        mount = self.mount
        rows = self._typed_rows
        if mount.until:
            # If the end is not after the start, there is no time at which the row had no end.
            is_start = f"NOT is_end AND ({ENDED} IS NULL OR {KNOWN} IS NULL OR {ENDED} > {KNOWN})"
            is_end = f"is_end AND {ENDED} IS NOT NULL AND {KNOWN} IS NOT NULL"
            replaced = f"CASE WHEN is_end THEN {quoted(mount.until)} END AS {quoted(mount.until)}"
            replaced += f", CASE WHEN is_end THEN greatest({KNOWN}, {ENDED}) ELSE {KNOWN} END AS {AVAILABLE_AT}"
            rows = (
                f"(SELECT * EXCLUDE (is_end) REPLACE ({replaced}) "
                f"FROM {rows}, (VALUES (false), (true)) AS ends(is_end) WHERE ({is_start}) OR ({is_end}))"
            )
        name = f"concat_ws('/', {', '.join(map(_as_text, mount.key))})"
        no_key = f"list_contains([{', '.join(f'{quoted(column)} IS NULL' for column in mount.key)}], true)"
        raw = ", ".join(_as_text(f"raw of {mounted.column.name}") for mounted in mount.columns)
        evidence = f"'{mount.name}#' || {name} || if({no_key}, '~' || md5(concat_ws(';', {raw})), '')"
        basis = SOURCE_DATE if mount.available_at else OBSERVED
        reason, value = self._gap(no_key)
        return (
            f"SELECT *, {evidence} AS evidence, {reason} AS {GAP}, {value} AS {REFUSED_VALUE}, '{basis}' AS {BASIS}, "
            f"'provider_metadata' AS available_at_source FROM {rows}"
        )

    @property
    def _of_rows(self) -> str:
        """Return SQL for the typed columns of every row, its values as in the table, and its instants."""
        mount = self.mount
        typed = [f"{self._typed(mounted)} AS {quoted(mounted.column.name)}" for mounted in mount.columns]
        raw = [f"{quoted(mounted.source)} AS {quoted(f'raw of {mounted.column.name}')}" for mounted in mount.columns]
        by_name = {mounted.column.name: mounted for mounted in mount.columns}
        dating = filter(None, self._dating)
        instants = [f"{part('is_unset', by_name[name].source)} AS {quoted(f'is unset: {name}')}" for name in dating]
        known_at = f"'{iso(self.observed_at)}'::TIMESTAMPTZ"
        if mount.available_at:
            # A row without an end or an edit takes effect at its other times.
            known_at = f"greatest({', '.join(self._counted(by_name[name]) for name in mount.dating)})"
            instants.append(f"{known_at} AS {KNOWN}")
        instants += [f"{self._counted(by_name[mount.until])} AS {ENDED}"] if mount.until else []
        instants.append(f"{known_at} AS {AVAILABLE_AT}")
        return f"SELECT {', '.join((*typed, *raw, *instants))} FROM {self._times}"

    def _counted(self, mounted: MountedColumn) -> str:
        """Return SQL for the instant at which a time of the knowledge column takes effect, including the lag."""
        seconds = int(self.mount.delay.total_seconds())
        return f"{self._instant(mounted)} + to_seconds({seconds})" if seconds else self._instant(mounted)

    def _instant(self, mounted: MountedColumn) -> str:
        instant, end = part("instant", mounted.source), part("end", mounted.source)
        is_known = mounted.column.name in self._dating
        return f"coalesce({end}, {instant})" if is_known and self.counts_as_days else instant

    def _gap(self, no_key: str) -> tuple[str, str]:
        """Return SQL for the reason of a row's gap, which is null without a gap, and for the refused value."""
        mount = self.mount
        unreadable = {
            mounted.column.name: self._is_unreadable(mounted)
            for mounted in mount.columns
            if mounted.column.name != mount.available_at
        }
        cases = [
            (unreadable.pop(name), contract.UNREADABLE.format(name), name) for name in mount.key if name in unreadable
        ]
        cases.append((no_key, contract.NO_KEY.reason, ""))
        time_column = mount.available_at
        if time_column:
            raw, its_value = quoted(f"raw of {time_column}"), quoted(time_column)
            cases += [
                (f"{raw} IS NULL", contract.NO_TIME.reason, ""),
                (quoted(f"is unset: {time_column}"), contract.UNSET_TIME.reason, time_column),
                (f"{AVAILABLE_AT} > '{iso(self.observed_at)}'::TIMESTAMPTZ", FUTURE.reason, ""),
                (f"{AVAILABLE_AT} IS NULL OR {its_value} IS NULL", contract.BAD_TIME.reason, time_column),
            ]
        cases += [(when, contract.UNREADABLE.format(name), name) for name, when in unreadable.items()]
        reasons = " ".join(f"WHEN {when} THEN {literal(reason)}" for when, reason, _ in cases)
        values = " ".join(
            f"WHEN {when} THEN left({quoted(f'raw of {name}')}::VARCHAR, {LONGEST_EXAMPLE})"
            if name
            else f"WHEN {when} THEN NULL"
            for when, _, name in cases
        )
        return f"CASE {reasons} END", f"CASE {values} END"

    def _is_unreadable(self, mounted: MountedColumn) -> str:
        """Return SQL for whether a column's value does not fit. NaN is null, and so is an unset end."""
        name, raw = mounted.column.name, quoted(f"raw of {mounted.column.name}")
        if name in self.mount.not_before:
            return f"{raw} IS NOT NULL AND {quoted(name)} IS NULL AND NOT {quoted(f'is unset: {name}')}"
        if name == self.mount.until:
            return f"{raw} IS NOT NULL AND {ENDED} IS NULL AND NOT {quoted(f'is unset: {name}')}"
        nan = f" AND NOT isnan({raw})" if self.source.types[mounted.source] in REAL else ""
        return f"{raw} IS NOT NULL AND {quoted(name)} IS NULL{nan}"

    def _typed(self, mounted: MountedColumn) -> str:
        """Return SQL for a column's value in the lake's type; null for a value that does not fit."""
        name, kind = quoted(mounted.source), self.source.types[mounted.source]
        if mounted.column.type == "instant":
            at = self._instant(mounted)
            return f"CASE WHEN {_is_in_calendar(at, 'TIMESTAMPTZ')} THEN {at} END"
        if mounted.column.type == "date" and mounted.source in self._forms:
            return part("day", mounted.source)
        if kind == "TIMESTAMPTZ_NS":  # DuckDB casts it to no other type of time.
            name = f"{name}::TIMESTAMPTZ"
        family = "text" if kind == "VARCHAR" else "time" if kind.startswith("TIMESTAMP") else "other"
        family = "real" if kind in REAL or kind.startswith("DECIMAL") else family
        typed = TYPED.get((mounted.column.type, family)) or TYPED.get((mounted.column.type, ""), "{0}::VARCHAR")
        return typed.format(name)

    def stage_into(self, stage: Stage, progress: Callable[[str], None]) -> None:
        """Stage every statement as a row or a gap."""
        total, done = self.rows, 0
        schema = staged_schema(self.mount.dataset)
        chosen = f"SELECT {columns(schema.names)}, {GAP}, {REFUSED_VALUE} FROM {self._statements}"
        for batch in self.source.connection.sql(chosen).to_arrow_reader(AT_ONCE):
            table = pa.Table.from_batches([batch])
            is_row = pc.is_null(table[REASON])
            others = table.select((REASON, VALUE, "evidence")).filter(pc.invert(is_row)).to_pylist()
            gaps = []
            for row in others:
                type_of = FUTURE.type if row[REASON] == FUTURE.reason else contract.NO_TIME.type
                value = f"{REFUSED}{row[VALUE]}" if row[VALUE] is not None else ""
                gaps.append(StagedGap(type_of, row[REASON], f"{row['evidence']}{value}"))
            rows = (table.filter(is_row) if gaps else table).select(schema.names).cast(schema)
            stage.add(None, rows, gaps, extracted=table.num_rows)
            done += table.num_rows
            progress(f"mounting: {done:,} of {total:,} rows ({done / total:.0%})")

    def deletions(self, staged: Staged, files: Sequence[DataFile]) -> list[StagedGap]:
        """Return a gap for each row of the lake that was removed from the table. staged: the rows of the table."""
        if self.mount.partial or not files:
            return []
        others = staged.compared(tuple(files), self.observed_at).others
        if not len(others):
            return []
        names = columns(self.mount.dataset.identity)
        instant_column = quoted(self.mount.available_at) if self.mount.available_at else ""
        at = f" || '@' || {instant_column}::VARCHAR" if instant_column else ""
        self.source.connection.register("others", pa.table({"content_hash": others}))
        self.source.connection.execute(
            f"CREATE TABLE other AS SELECT DISTINCT evidence, {names} FROM {reading(files)} "
            "SEMI JOIN others USING (content_hash)"
        )
        pairs = " AND ".join(
            f"other.{quoted(name)} IS NOT DISTINCT FROM here.{quoted(name)}" for name in self.mount.dataset.identity
        )
        gone = self.source.connection.execute(
            f"SELECT evidence{at} FROM other "
            f"ANTI JOIN (SELECT {names} FROM {self._statements}) AS here ON {pairs} ORDER BY 1"
        ).fetchall()
        return [StagedGap(contract.DELETED.type, contract.DELETED.reason, locator) for (locator,) in gone]


def _as_text(column: str) -> str:
    return f"coalesce({quoted(column)}::VARCHAR, '')"
