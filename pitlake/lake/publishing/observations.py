"""Earlier and later observations of staged records: which polls saw a record, as a row or as a gap, and when.

A row is matched by the contract's `thing` and by its names: its evidence without the response's address, and the gap
names of the contract. `diff` decides what an observation means for a record's date.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pitlake import clock
from pitlake.contract import INSTANT, SOURCE_CLOCK
from pitlake.lake.publishing.hash_index import LikelyFiles
from pitlake.lake.publishing.match_keys import EVIDENCE, LOCATOR, Hashes, hashes, named, names, spelled
from pitlake.lake.publishing.polls import FOREVER, NEVER, Bounds, Coverage, Polls
from pitlake.lake.publishing.stage import UNDATED, Staged
from pitlake.lake.storage.arrays import Positions, as_numbers
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.tables.query import calculator, columns, quoted, reading

HISTORY = "available_at"
OPEN = ""
# For each staged record with matches in the lake: when the last match was seen, and the day and entity of the newest.
SEEN = """
SELECT _position, max(epoch_us(observed_at)), arg_max(day, newer), arg_max(entity, newer)
FROM (SELECT *, (available_at, available_at = observed_at) AS newer FROM ({like}) WHERE observed_at {until} $observed)
GROUP BY _position"""
# For each staged record with matches: when a match was first seen after the observation, and its entity.
SINCE = """
SELECT _position, epoch_us(min(observed_at) FILTER (WHERE observed_at > $observed)), arg_max(entity, observed_at)
FROM ({like}) GROUP BY _position"""
# For each staged row: the last complete poll of its day and entity before the observation, and the first after it.
POLLED = """
SELECT _position, max(poll.last), min(poll.next) FROM staged JOIN poll ON {entity} AND {within} GROUP BY _position"""
# For each staged record with matches: when the newest match as of the observation and the next one became available,
# when a match was first seen after the observation, and the day and entity of the newest match.
OVERRULING = """
SELECT _position,
    epoch_us(max(available_at) FILTER (WHERE known)), epoch_us(min(available_at) FILTER (WHERE NOT known)),
    epoch_us(min(observed_at) FILTER (WHERE observed_at > $observed)),
    arg_max(day, newer) FILTER (WHERE known), arg_max(entity, newer) FILTER (WHERE known)
FROM (SELECT *, available_at <= $observed AS known, (available_at, available_at = observed_at) AS newer FROM ({like}))
GROUP BY _position"""


class EarlierObservations:
    """The times at which polls of one lake version saw staged records, before and after the run's observation."""

    def __init__(
        self, staged: Staged, rows: LikelyFiles, gaps: LikelyFiles, polls: Polls, observed_at: datetime
    ) -> None:
        self._staged, self._dataset, self._polls = staged, staged.dataset, polls
        self._rows, self._gaps, self._observed = rows, gaps, observed_at

    @property
    def exist(self) -> bool:
        """Return whether there was an earlier observation, of any record or of none.

        If the lake has neither rows nor gaps of the dataset, no run that found some was completed.
        """
        return bool(self._rows.all or self._gaps.all or self._polls.found_nothing)

    def of_rows(self, stored: Positions, unknown: Positions) -> Positions:
        """Return, per staged row, the time of the last poll that saw its record, in microseconds, or NEVER.

        stored: positions of rows whose identity is in the lake. unknown: positions of the other rows.
        """
        last = np.full(self._staged.rows.num_rows, NEVER)
        dataset = self._dataset
        self._note(last, stored, self._rows_like(dataset.thing), until="<=")
        if dataset.thing != dataset.identity or dataset.revised_at == HISTORY:
            self._note(last, unknown, self._rows_like(dataset.thing))
        if self._rows.all or self._gaps.all:
            name_hashes = _hashed(self._staged.rows, unknown, names(dataset))
            if dataset.evidence_names:
                self._note(
                    last, unknown, self._rows_like(("evidence",), self._rows.like(EVIDENCE, name_hashes[EVIDENCE]))
                )
            self._note(last, unknown, self._gaps_like(np.concatenate([*name_hashes.values()])))
        return last

    def polled_before(self, positions: Positions) -> Positions:
        """Return, per staged row, the time of the last earlier poll that covered its day and entity completely, or
        NEVER. In microseconds. Rows dated by the source's own clock are left out.
        """
        if not len(positions) or not self._dataset.captured or not self._polls.coverage:
            return np.broadcast_to(NEVER, len(positions))
        dated = pc.not_equal(self._staged.basis, SOURCE_CLOCK).combine_chunks().to_numpy(zero_copy_only=False)
        undated = np.flatnonzero(dated[positions])
        last = np.full(len(positions), NEVER)
        last[undated] = self._polled(positions[undated])[0]
        return last

    def seen_later(self, positions: Positions) -> npt.NDArray[np.bool_]:
        """Return which staged rows the lake has a later response about: one with the same record, or a complete
        response for the day and entity of the record.
        """
        if not len(positions) or self._polls.newest:
            return np.zeros(len(positions), bool)
        observed = clock.micros(self._observed)
        later = self._polled(positions)[1] < FOREVER
        place_of = {int(position): place for place, position in enumerate(positions)}
        name_hashes = _hashed(self._staged.rows, positions, names(self._dataset))
        gaps = self._gaps_like(np.concatenate([*name_hashes.values()])) if self._gaps.all else None
        for like in filter(None, (self._rows_like(self._dataset.thing), gaps)):
            for position, seen, entity in self._query_staged(positions, SINCE.format(like=like)):
                after = FOREVER if seen is None else seen
                after = min(after, *(self._polls.next(**where) for where in self._where(position, OPEN, entity)))
                later[place_of[position]] |= observed < after < FOREVER
        return later

    def _polled(self, positions: Positions) -> tuple[Positions, Positions]:
        """Return, per staged row, the times of the complete polls of its day and entity just before and just after the
        observation, in microseconds; NEVER and FOREVER if there are none.
        """
        last, following = np.full(len(positions), NEVER), np.full(len(positions), FOREVER)
        if not len(positions) or not self._dataset.captured or not self._polls.coverage:
            return last, following
        place_of = {int(position): place for place, position in enumerate(positions)}
        entities = frozenset(
            map(str, pc.unique(self._staged.rows[self._dataset.entity].take(pa.array(positions))).to_pylist())
        )
        for names_of_bounds, table in polls_by_columns(self._polls.coverage, entities, clock.micros(self._observed)):
            whole = f"(poll.entity IS NULL OR poll.entity = staged.{quoted(self._dataset.entity)}::VARCHAR)"
            conditions = []
            for number, name in enumerate(names_of_bounds):
                text = f"staged.{quoted(name)}::VARCHAR"
                if self._dataset.arrow_schema.field(name).type == INSTANT:
                    text = f"strftime(staged.{quoted(name)} AT TIME ZONE 'America/New_York', '%Y-%m-%d')"
                conditions.append(  # A null may be within the bounds.
                    f"({text} IS NULL OR ((poll.first_{number} IS NULL OR {text} >= poll.first_{number})"
                    f" AND (poll.until_{number} IS NULL OR {text} <= poll.until_{number})))"
                )
            query = POLLED.format(entity=whole, within=" AND ".join(conditions) or "true")
            for position, before, after in self._query_staged(positions, query, names_of_bounds, poll=table):
                place = place_of[position]
                last[place] = max(last[place], before)
                following[place] = min(following[place], after)
        return last, following

    def overruled(self, positions: Positions, available: Positions) -> npt.NDArray[np.bool_]:
        """Return which staged rows, with these instants, a later poll contradicts. The poll saw the same record, and
        the lake has different content of it until the next revision.
        """
        overruled = np.zeros(len(positions), bool)
        dataset, observed = self._dataset, clock.micros(self._observed)
        if not len(positions) or self._polls.newest:
            return overruled
        alike = self._rows_like(dataset.identity if dataset.revised_at == HISTORY else dataset.thing)
        if alike is None:
            return overruled
        place_of = {int(position): place for place, position in enumerate(positions)}
        for position, newest_then, next_at, seen, day, entity in self._query_staged(
            positions, OVERRULING.format(like=alike)
        ):
            if newest_then is not None and newest_then <= available[place_of[position]]:
                after = FOREVER if seen is None else seen
                after = min(after, *(self._polls.next(**where) for where in self._where(position, day, entity)))
                overruled[place_of[position]] = observed < after < (FOREVER if next_at is None else next_at)
        return overruled

    def floors(self, positions: Positions, followed: Mapping[str, LikelyFiles]) -> Positions:
        """Return, per staged row, the newest instant of the rows that it refers to, in microseconds, or NEVER."""
        floors = np.full(self._staged.rows.num_rows, NEVER)
        for column, dataset, name in self._dataset.follows:
            if not followed[dataset].all:
                continue
            hashed = _hashed(self._staged.rows, positions, [quoted(column)])
            if not (files := followed[dataset].like(spelled(name), hashed[quoted(column)])):
                continue
            table = self._staged.rows.select([column]).append_column("_position", _numbered(len(floors)))
            texts = f"SELECT {spelled(name)} AS name, available_at FROM {reading(files)}"
            query = f"""
                SELECT _position, max(epoch_us(available_at)) AS newest
                FROM staged JOIN ({texts}) k ON staged.{quoted(column)} = k.name
                WHERE available_at <= $observed GROUP BY _position"""
            with calculator(staged=table.take(pa.array(positions))) as sql:
                newest = sql.sql(query, params={"observed": self._observed}).to_arrow_table()
            floors[as_numbers(newest["_position"])] = as_numbers(newest["newest"])
        return floors

    def of_gaps(self, positions: Positions) -> npt.NDArray[np.bool_]:
        """Return which staged gaps have a name that was seen before, as a row or as a gap; all gaps if a complete poll
        may have been without them.
        """
        if self._dataset.captured and any(at < clock.micros(self._observed) for at, _ in self._polls.coverage):
            return np.ones(len(positions), bool)
        gaps = self._staged.gaps.select(["locator"]).append_column("_position", _numbered(self._staged.gaps.num_rows))
        locator_hashes = _hashed(gaps, positions, [LOCATOR])[LOCATOR]
        likely = {name: self._rows.like(name, locator_hashes) for name in names(self._dataset)}
        likely |= {LOCATOR: self._gaps.like(LOCATOR, locator_hashes)}
        stored_names = " UNION ALL ".join(
            f"SELECT {name} AS name, observed_at FROM {reading(files)}" for name, files in likely.items() if files
        )
        if not stored_names:
            return np.zeros(len(positions), bool)
        with calculator(staged=gaps.take(pa.array(positions))) as sql:
            matches = sql.sql(
                f"SELECT _position FROM staged SEMI JOIN (FROM ({stored_names}) WHERE observed_at < $observed) k "
                f"ON {LOCATOR} = k.name",
                params={"observed": self._observed},
            ).to_arrow_table()
        return np.isin(positions, as_numbers(matches["_position"]))

    def _rows_like(self, names: tuple[str, ...], files: tuple[DataFile, ...] | None = None) -> str | None:
        """Return SQL for the stored rows that match a staged row in these columns, or None.

        files: the files that may contain them, if the index does not have the columns.
        """
        files = self._rows.holding(columns(names)) if files is None else files
        if not files:
            return None
        entity, day = f"e.{quoted(self._dataset.entity)}::VARCHAR", f"'{OPEN}'"
        if self._dataset.partitioned:  # The day of a row dated by its observation is unknown.
            new_york = "strftime(e.available_at AT TIME ZONE 'America/New_York', '%Y-%m-%d')"
            day = f"CASE WHEN e.available_at = e.observed_at THEN '{OPEN}' ELSE {new_york} END"
        same = " AND ".join(f"s.{quoted(name)} IS NOT DISTINCT FROM e.{quoted(name)}" for name in names)
        return f"""SELECT s._position, e.observed_at, e.available_at, {day} AS day, {entity} AS entity
            FROM staged s JOIN {reading(files)} e ON {same}"""

    def _gaps_like(self, name_hashes: Hashes) -> str | None:
        """Return SQL for the stored gaps that have one of the staged rows' names, by their hashes, or None."""
        if not (files := self._gaps.like(LOCATOR, name_hashes)):
            return None
        day = f"CASE WHEN g.partition = '{UNDATED}' THEN '{OPEN}' ELSE g.partition END"
        dataset, same = self._dataset, f"{named('g.locator')} = s.name"
        if dataset.newer_by and {*dataset.newer_by} <= {*dataset.thing}:
            # A record's date is part of it, so a future record at a poll is not a record from before that poll.
            same += " AND (g.gap_type <> 'pit_excluded' OR s.available_at IS NULL OR s.available_at > g.observed_at)"
        return f"""SELECT s._position, g.observed_at, g.observed_at AS available_at, {day} AS day, '' AS entity
            FROM (SELECT _position, available_at, unnest([{", ".join(names(dataset))}]) AS name FROM staged) s
            JOIN {reading(files)} g ON {same}"""

    def _note(self, last: Positions, positions: Positions, like: str | None, until: str = "<") -> None:
        """Record, for each of these rows, the last poll that saw its record.

        Another part of the record, observed at the same instant, is not an earlier observation. A run may therefore
        publish its days in any order.
        """
        if like is None:
            return
        for place, observed, day, entity in self._query_staged(positions, SEEN.format(like=like, until=until)):
            polls = [self._polls.last(**where) for where in self._where(place, day, entity)]
            if not self._dataset.partitioned or self._dataset.revised_at != HISTORY:
                # In a source-dated history, statements with different dates do not contradict each other.
                polls.append(observed)
            last[place] = max(last[place], *polls)

    def _where(self, place: int, day: str, entity: str | None) -> list[dict[str, str | None]]:
        """Return the days or entities under which polls, then and now, would have found the record of a staged row."""
        staged, dataset = self._staged, self._dataset
        if not dataset.partitioned:
            own = staged.rows[dataset.entity][place].as_py()
            return [{"entity": name or None} for name in {str(own or ""), entity or str(own or "")}]
        now: dict[str, str | None] = {"day": staged.partitions[staged.row_partition[place]]}
        return [now] if dataset.revised_at == HISTORY else [now, {"day": day or None}]

    def _query_staged(
        self, positions: Positions, query: str, more: Iterable[str] = (), **tables: pa.Table
    ) -> Iterator[tuple[Any, ...]]:
        """Run a query about these staged rows, which SQL calls `staged`, as of the observation.

        more: other columns that the query needs. tables: other tables, by name.
        """
        if not len(positions):
            return
        dataset, rows = self._dataset, self._staged.rows
        needed = (*dataset.identity, *dataset.columns_of_gap_names, "evidence", "available_at", dataset.entity, *more)
        table = rows.select(list(dict.fromkeys(needed))).append_column("_position", _numbered(rows.num_rows))
        parameters = {"observed": self._observed} if "$observed" in query else {}
        with calculator(staged=table.take(pa.array(positions)), **tables) as sql:
            answer = sql.sql(query, params=parameters).to_arrow_table()
        yield from zip(*(column.to_pylist() for column in answer.columns), strict=True)


def polls_by_columns(
    polls: Iterable[tuple[int, Coverage]], entities: frozenset[str], observed: int
) -> Iterator[tuple[tuple[str, ...], pa.Table]]:
    """Yield the polls that may have covered some of these entities, grouped by the columns that bound the polls.

    For each entity (null: all) and bounds: the last poll before the observation, or NEVER, and the first poll after it,
    or FOREVER.
    """
    edges: dict[tuple[str | None, Bounds], tuple[int, int]] = {}
    for at, poll in polls:
        for entity in (None,) if poll.entities is None else poll.entities & entities:
            last, following = edges.get((entity, poll.bounds), (NEVER, FOREVER))
            edge = (max(last, at), following) if at < observed else (last, min(following, at))
            edges[entity, poll.bounds] = edge
    by_columns: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for (entity, bounds), (last, following) in edges.items():
        line = {"entity": entity, "last": last, "next": following}
        for number, (_, first, until) in enumerate(bounds):
            line |= {f"first_{number}": first, f"until_{number}": until}
        by_columns.setdefault(tuple(name for name, _, _ in bounds), []).append(line)
    for names_of_bounds, lines in by_columns.items():
        texts = [f"{edge}_{number}" for number in range(len(names_of_bounds)) for edge in ("first", "until")]
        fields = [
            ("entity", pa.string()),
            ("last", pa.int64()),
            ("next", pa.int64()),
            *((text, pa.string()) for text in texts),
        ]
        yield names_of_bounds, pa.Table.from_pylist(lines, pa.schema(fields))


def _hashed(table: pa.Table, positions: Positions, kinds: Collection[str]) -> dict[str, Hashes]:
    """Return the hashes of the rows at these positions, by kind."""
    if not len(positions):
        return dict.fromkeys(kinds, np.empty(0, np.uint64))
    return {kind: values[positions] for kind, values in hashes("FROM asked", kinds, asked=table).items()}


def _numbered(count: int) -> pa.Array:
    return pa.array(np.arange(count))
