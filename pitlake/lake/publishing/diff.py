"""The difference between a stage and a lake version: each staged row and gap is compared with the stored ones of its
record.

Only this module decides when a record's content became available. It writes nothing.

If the lake had no row of this identity at the time of the observation, the row keeps its staged available_at. Otherwise
the row is compared with the newest revision at that time. Equal content is unchanged. Different content is a new
revision. It becomes available at the source's date of the change (the contract's revised_at) if that date is later, and
otherwise when observed.

In a source-dated history (revised_at = "available_at") each instant of an identity is a separate statement. A statement
that the lake already has is unchanged. Different content for the same instant is dated by its observation.

If a poll has seen a record with different content, as a row or as a gap, the new content is always dated after that
poll, because the source did not have it then. A gap about a record that was seen before is dated by its observation.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pitlake import clock
from pitlake.contract import BASES, BETWEEN_POLLS, OBSERVED, SOURCE_DATE, Dataset
from pitlake.lake.publishing.hash_index import MANY, LikelyFiles
from pitlake.lake.publishing.match_keys import GAP, hashes
from pitlake.lake.publishing.observations import HISTORY, EarlierObservations
from pitlake.lake.publishing.polls import NEVER
from pitlake.lake.publishing.stage import Staged
from pitlake.lake.storage.arrays import Positions, as_micros, as_numbers
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.tables.query import calculator, columns, quoted, reading

PLACES = {name: place for place, name in enumerate(BASES)}
AS_STAGED = -1


@dataclass(frozen=True)
class NewRows:
    """The staged rows to publish.

    positions: ascending positions in the stage. available: instants in microseconds. revised: which rows have another
    date than staged. basis: for each instant, an index in BASES or AS_STAGED. seen_later: the positions of rows that
    are not published, because the lake has a later response about them. stored: positions of rows that the lake has.
    """

    positions: Positions
    available: Positions
    revised: npt.NDArray[np.bool_]
    basis: npt.NDArray[np.signedinteger[Any]]
    seen_later: Positions = field(default_factory=lambda: np.empty(0, np.int64))
    stored: Positions = field(default_factory=lambda: np.empty(0, np.int64))

    def without(self, places: Positions) -> "NewRows":
        """Return the rows except those at these places."""
        if not len(places):
            return self
        mask = np.ones(len(self.positions), bool)
        mask[places] = False
        fields = (self.positions[mask], self.available[mask], self.revised[mask], self.basis[mask])
        return NewRows(*fields, self.seen_later, self.stored)


@dataclass(frozen=True)
class NewGaps:
    """Staged gaps to publish: their positions (ascending), and their available_at in microseconds."""

    positions: Positions
    available: Positions


class RowFindings:
    """The facts about each staged row that decide its date, with instants in microseconds.

    Attributes: stored: whether the lake already has the row. claimed: the date that the source claims, or NEVER.
    stated: whether the lake has exactly this statement of a source-dated history. floor: the earliest instant at which
    the row can be available. changed: whether the lake has different content of the same identity. last_seen: the last
    time the record was seen with different content.
    """

    def __init__(self, staged: Staged) -> None:
        count = staged.rows.num_rows
        self.stored = np.zeros(count, bool)
        self.stored[staged.duplicates.again] = True
        self.claimed = staged.available
        self.stated, self.floor = np.zeros(count, bool), np.broadcast_to(NEVER, count)
        self.changed, self.last_seen = np.zeros(count, bool), np.broadcast_to(NEVER, count)

    def change(self, positions: Positions, claimed: Positions | int, before: Positions | int = NEVER) -> None:
        """Mark rows as changed content of known identities. before: the instants of the newest stored content."""
        self.claimed, self.last_seen = self.claimed.copy(), self.last_seen.copy()
        self.changed[positions], self.claimed[positions], self.last_seen[positions] = True, claimed, before

    def apply_polls(self, observations: EarlierObservations) -> None:
        if not observations.exist:
            return
        new = np.flatnonzero(~self.stored & (self.claimed > NEVER))
        changed = self.changed[new]
        seen = observations.of_rows(new[changed], new[~changed])
        self.last_seen = np.maximum(self.last_seen, seen, out=seen)
        polled = observations.polled_before(new)
        covered = polled > NEVER
        self.last_seen[new[covered]] = np.maximum(self.last_seen[new[covered]], polled[covered])

    def new_rows(self, staged: Staged, observed_at: datetime) -> NewRows:
        """Return the rows that remain to be published.

        A row is dated by its claim if that is proven, otherwise by its observation, and never before its floor.
        """
        observed = clock.micros(observed_at)
        seen = self.changed | (self.last_seen > NEVER)
        proven = ~seen
        if staged.dataset.trusts_dates:
            proven |= (self.claimed > self.last_seen) & (self.claimed <= observed)
        available = np.maximum(self.claimed, staged.available)
        available[~proven] = observed
        np.maximum(available, self.floor, out=available)
        revised = self.changed | (available != staged.available)
        positions = np.flatnonzero(~self.stored & ~(self.stated & ~proven))
        basis = np.where(proven, np.int8(AS_STAGED), np.int8(PLACES[OBSERVED]))
        if staged.dataset.captured:
            by_source = pc.equal(staged.basis, SOURCE_DATE).combine_chunks().to_numpy(zero_copy_only=False)
            basis[seen & proven & by_source] = PLACES[BETWEEN_POLLS]
        return NewRows(
            positions, available[positions], revised[positions], basis[positions], stored=np.flatnonzero(self.stored)
        )


def new_rows(
    staged: Staged,
    stored: LikelyFiles,
    observations: EarlierObservations,
    observed_at: datetime,
    followed: Mapping[str, LikelyFiles],
) -> NewRows:
    """Return the staged rows that are not stored yet. followed: the files of the datasets that the rows refer to."""
    dataset, findings = staged.dataset, RowFindings(staged)
    if staged.rows.num_rows:
        if files := stored.holding(columns(dataset.identity)):
            judge = _against_history if dataset.revised_at == HISTORY else _against_newest
            judge(staged, files, observed_at, findings)
        if dataset.frozen and (files := stored.holding(columns(dataset.frozen))):
            # Rows added to a frozen result are revisions, so that the past of the result does not change.
            there = f"FROM staged s SEMI JOIN {reading(files)} e ON {_same(dataset.frozen, dataset.frozen, 's', 'e')}"
            query = f"SELECT s._position AS position {there} AND e.available_at <= $observed"
            (position,) = _query_staged(query, staged, dataset.frozen, observed=observed_at)
            findings.change(position[~findings.stored[position] & ~findings.changed[position]], NEVER)
        findings.apply_polls(observations)
        if dataset.follows:
            findings.floor = observations.floors(np.flatnonzero(~findings.stored), followed)
    fresh = findings.new_rows(staged, observed_at)
    if dataset.captured:
        later = np.flatnonzero(observations.seen_later(fresh.positions))
        fresh = replace(fresh.without(later), seen_later=fresh.positions[later])
    history = dataset.revised_at == HISTORY
    judged = np.flatnonzero(fresh.revised) if history else slice(None)
    overruled = np.zeros(len(fresh.positions), bool)
    overruled[judged] = observations.overruled(fresh.positions[judged], fresh.available[judged])
    fresh = fresh.without(np.flatnonzero(overruled))
    if not history:
        return fresh
    # Of two rows with the same content and date, the one that the source dated remains.
    places = np.flatnonzero(np.isin(fresh.available, fresh.available[fresh.revised]))
    places = places[np.argsort(fresh.revised[places], kind="stable")]
    contents = pc.dictionary_encode(staged.content_hash.take(pa.array(fresh.positions[places]))).combine_chunks()
    statements = np.stack([contents.indices.to_numpy(), fresh.available[places]])
    _, first = np.unique(statements, axis=1, return_index=True)
    return fresh.without(np.delete(places, first))


def stored_in(files: Sequence[DataFile], staged: Staged, stored: Positions) -> Positions:
    """Return the positions in `stored` whose content is in one of these files."""
    if not len(stored) or not files:
        return np.empty(0, np.int64)
    contents = f"(SELECT content_hash FROM {reading(files)})"
    query = f"SELECT _position FROM staged SEMI JOIN {contents} ON content_hash = _hash ORDER BY _position"
    return _query_staged(query, staged, staged.dataset.identity, stored)[0]


def new_gaps(
    staged: Staged,
    stored: LikelyFiles,
    observations: EarlierObservations,
    observed_at: datetime,
    late: datetime | None = None,
) -> NewGaps:
    """Return the staged gaps that the lake version lacks.

    Two gaps are equal if their type, reason and locator are equal.

    late: the current instant, if there were polls after the observation. Gaps of captures are then not dated before it.
    """
    positions = _unknown_gaps(staged, stored)
    observed = clock.micros(observed_at)
    available = as_micros(staged.gaps[clock.AVAILABLE_AT], null=NEVER)[positions]
    dated = available > NEVER
    available[~dated] = observed
    available[dated] = np.where(observations.of_gaps(positions[dated]), observed, available[dated])
    if late is not None and staged.dataset.captured:
        available[:] = clock.micros(late)
    return NewGaps(positions, available)


def _unknown_gaps(staged: Staged, stored: LikelyFiles) -> Positions:
    if not staged.gaps.num_rows:
        return np.empty(0, np.int64)
    key = columns(GAP)
    files = stored.like(key, hashes("FROM staged", [key], staged=staged.gaps)[key])
    unless_stored = f"WHERE NOT EXISTS (FROM {reading(files)} k WHERE {_same(GAP, GAP, 's', 'k')})" if files else ""
    gaps = staged.gaps.select(GAP).append_column("position", pa.array(np.arange(staged.gaps.num_rows)))
    with calculator(staged=gaps) as sql:
        first = f"SELECT min(position) AS position FROM staged s {unless_stored} GROUP BY {key} ORDER BY position"
        return as_numbers(sql.sql(first).to_arrow_table()["position"])


def _against_newest(staged: Staged, files: tuple[DataFile, ...], observed_at: datetime, findings: RowFindings) -> None:
    left = None
    if staged.rows.num_rows >= MANY:
        # The rows whose content is the only content that the lake has of their identity.
        as_stored, others = staged.compared(files, observed_at)
        if len(others):
            names = staged.dataset.identity
            several = f"SELECT {columns(names)} FROM {reading(files)} SEMI JOIN others USING (content_hash)"
            query = f"SELECT s._position FROM staged s SEMI JOIN ({several}) e ON {_same_identity(staged.dataset)}"
            (positions,) = _query_staged(query, staged, names, others=pa.table({"content_hash": others}))
            as_stored = as_stored & ~np.isin(np.arange(len(as_stored)), positions)
        findings.stored[as_stored] = True
        left = np.flatnonzero(~as_stored)
        if not len(left):
            return
    position, seen, newest, same, dated_so = _newest(staged, files, observed_at, left)
    unchanged = (seen & same) | dated_so
    findings.stored[position[unchanged]] = True
    changed = seen & ~unchanged
    column = staged.dataset.revised_at
    dates = as_micros(staged.rows[column], null=NEVER) if column else np.full(staged.rows.num_rows, NEVER)
    findings.change(position[changed], dates[position[changed]], newest[changed])


def _newest(
    staged: Staged, files: Sequence[DataFile], observed_at: datetime, only: Positions | None
) -> list[Positions]:
    """Return facts about each staged row (all, or `only` some) whose identity is in the lake: its position, whether the
    lake had the identity at the observation, the instant of the newest revision at that time, whether that revision has
    the same content, and whether this content already has this date.
    """
    order = ", ".join(f"e.{quoted(name)} DESC NULLS LAST" for name in staged.dataset.revision_order)
    facts = """s._position, e.available_at <= $observed AS _seen, epoch_us(e.available_at) AS _newest,
        e.content_hash = s._hash AS _same"""
    joined = f"FROM staged s JOIN {reading(files)} e ON {_same_identity(staged.dataset)}"
    every = f"SELECT {facts}, _same AND e.available_at = $observed AS _stated {joined}"
    # Few identities have more than one revision, so a window over all rows would cost more than the join.
    only_newest = f"""
        SELECT {facts}, bool_or(_same AND e.available_at = $observed) OVER (PARTITION BY s._position) AS _stated
            {joined}
        QUALIFY row_number() OVER (PARTITION BY s._position ORDER BY _seen DESC, {order}) = 1"""
    names = staged.dataset.identity
    joined_rows = _query_staged(every, staged, names, only, observed=observed_at)
    revisions = np.bincount(joined_rows[0], minlength=staged.rows.num_rows)
    if revisions.max(initial=0) <= 1:
        return joined_rows
    several = _query_staged(only_newest, staged, names, np.flatnonzero(revisions > 1), observed=observed_at)
    single = revisions[joined_rows[0]] == 1
    return [np.concatenate([column[single], more]) for column, more in zip(joined_rows, several, strict=True)]


def _against_history(staged: Staged, files: Sequence[DataFile], _observed_at: datetime, findings: RowFindings) -> None:
    query = f"""
        SELECT s._position AS position,
            bool_or(e.available_at = s.available_at) AS dated,
            bool_or(e.content_hash = s._hash AND (e.available_at = s.available_at
                OR (e.available_at > s.available_at AND e.available_at = e.observed_at))) AS stated
        FROM staged s JOIN {reading(files)} e ON {_same_identity(staged.dataset)}
        GROUP BY s._position"""
    position, dated, same_statement = _query_staged(query, staged, (*staged.dataset.identity, "available_at"))
    findings.stored[position[dated & same_statement]] = True
    findings.stated[position[same_statement]] = True
    findings.change(position[dated & ~same_statement], NEVER)


def _query_staged(
    query: str,
    staged: Staged,
    names: Iterable[str],
    only: Positions | None = None,
    observed: datetime | None = None,
    **tables: pa.Table,
) -> list[Positions]:
    """Return the columns of a query over the staged rows (all, or `only` some), which SQL calls `staged`."""
    table = staged.rows.select(list(names)).append_column("_hash", staged.content_hash)
    table = table.append_column("_position", pa.array(np.arange(table.num_rows)))
    if only is not None:
        table = table.take(pa.array(only))
    with calculator(staged=table, **tables) as sql:
        answer = sql.sql(query, params={"observed": observed} if observed else {}).to_arrow_table()
    return [as_numbers(column) for column in answer.columns]


def _same_identity(dataset: Dataset) -> str:
    required = [name for name in dataset.identity if not dataset.arrow_schema.field(name).nullable]
    return _same(dataset.identity, required, "s", "e")


def _same(names: Iterable[str], never_null: Iterable[str], left: str, right: str) -> str:
    plain = frozenset(never_null)
    return " AND ".join(
        f"{left}.{quoted(name)} {'=' if name in plain else 'IS NOT DISTINCT FROM'} {right}.{quoted(name)}"
        for name in names
    )
