"""Windows: the number of records that each part of a source had at its last poll, to notice records that are gone.

A window is a day of a partitioned dataset, an entity or day that a feed read completely, or the whole source. The
latter is the whole of a snapshot, or the source's own counts of its content. The last counts of all windows are one
small file per dataset that belongs to no version. Only published runs change it, so that a run after a refused run is
compared with the last good poll. Counts of retracted runs are not used.
"""

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from datetime import date, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from pitlake import clock
from pitlake.lake.publishing.drift import Finding
from pitlake.lake.publishing.stage import UNDATED, Staged
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.storage.store import Store
from pitlake.lake.tables.query import calculator, columns, reading

FOLDER = "_lake/window_counts"
EVERY, LAST = "all", "\U0010ffff"
"""The name of all entities, and a string that sorts after all days."""
WHOLE = "source: "
"""The start of the names of windows that are not bounded by time."""
CLOSED_AFTER = timedelta(days=7)
"""The time after which the records of a day no longer change by themselves."""
LEAST_SHARE = 0.98
"""The share of a window's records that must remain."""
CLOSED, RECENT, ENTITIES, SOURCE = "closed windows", "recent windows", "entities", "the source"
REFUSED_BELOW = {SOURCE: LEAST_SHARE, CLOSED: LEAST_SHARE, RECENT: 0.0, ENTITIES: 0.6}
"""The share below which a run is refused; above it, the check warns. A vendor may shorten an entity's history."""
LEAST_LOST, LEAST_OF_NOTHING = 10, 5
"""The fewest lost records that matter, and the fewest that matter if none are left."""
WARNS = 0.75
POLLS = 3
"""The number of polls of a window whose counts are stored, in case the last ones are retracted."""


@dataclass(frozen=True)
class Count:
    """The number of records of a window at a poll, the poll's instant in microseconds, its run, and the part of the
    window that it covered (blank: all).
    """

    records: int
    observed: int
    run_id: str
    part: str = ""

    def covers(self, earlier: "Count") -> bool:
        """Return whether this poll should have all records of an earlier one."""
        return earlier.observed < self.observed and self.part in ("", earlier.part)


def counted(staged: Staged, observed_at: datetime) -> dict[str, Count]:
    """Return the number of records of each window that a stage covers."""
    poll = clock.micros(observed_at), staged.run_id
    numbers = {f"{WHOLE}{name}": count for name, count in staged.surveyed.items()}
    if staged.dataset.partitioned:
        numbers |= {name: count for name, count in staged.extracted.items() if name != UNDATED}
    elif not staged.dataset.captured:
        numbers[f"{WHOLE}records"] = sum(staged.extracted.values())
    counts = {name: Count(number, *poll) for name, number in numbers.items()}
    for covered in staged.coverage if staged.dataset.captured else ():
        rows, fixed, part = staged.rows, list[str](), list[str]()
        for column, first, last in covered.bounds:
            days = rows[column]
            if pa.types.is_timestamp(days.type):
                days = pc.cast(pc.local_timestamp(days.cast(pa.timestamp("us", "America/New_York"))), pa.date32())
            days = days.cast(pa.string())
            rows = rows.filter(pc.and_(pc.greater_equal(days, first or ""), pc.less_equal(days, last or LAST)))
            (fixed if first == last else part).append(f"{column} {first} to {last}")
        by_entity = pc.value_counts(rows[staged.dataset.entity]).to_pylist()
        records = {str(of["values"]): of["counts"] for of in by_entity}
        for entity in covered.entities or (EVERY,):
            number = rows.num_rows if covered.entities is None else records.get(entity, 0)
            counts[" ".join((entity, *fixed))] = Count(number, *poll, ", ".join(part))
    return counts


def in_lake(staged: Staged, files: Sequence[DataFile], observed_at: datetime) -> dict[str, Count]:
    """Return the numbers of earlier rows in the windows of an empty run, in case no complete poll has counted them."""
    if staged.rows.num_rows or not staged.coverage or not files:
        return {}
    names = {staged.dataset.entity, *(column for part in staged.coverage for column, *_ in part.bounds)}
    with calculator() as sql:
        earlier = f"SELECT {columns(sorted(names))} FROM {reading(files)} WHERE {clock.OBSERVED_AT} < $observed_at"
        rows = sql.sql(earlier, params={"observed_at": observed_at}).to_arrow_table()
    return counted(replace(staged, rows=rows, surveyed={}, extracted={}), clock.EPOCH)


def findings(before: Mapping[str, Count], counts: Mapping[str, Count], observed_at: datetime) -> Iterator[Finding]:
    """Yield the losses in windows that an earlier poll covered: in all windows together, otherwise in single ones."""
    states: dict[str, list[str]] = {}
    for name in (name for name in counts if name in before):
        states.setdefault(_state(name, observed_at), []).append(name)
    for state, names in states.items():
        alone = [[name] for name in names]
        for group in alone if state == SOURCE else (names, *alone):
            was, now = (sum(polls[name].records for name in group) for polls in (before, counts))
            lost = was - now
            if now < LEAST_SHARE * was and (lost >= LEAST_LOST or (now == 0 and was >= LEAST_OF_NOTHING)):
                windows = group[0] if len(group) == 1 else f"{len(group)} windows"
                text = f"{now:,} of the {was:,} records of {windows} that the lake or its last poll had"
                yield Finding(f"records of {state}", text, 1.0 if now < REFUSED_BELOW[state] * was else WARNS)
                break


def read(store: Store, dataset: str, counts: Mapping[str, Count], retracted: Container[str]) -> dict[str, Count]:
    """Return the counts of these windows at the previous poll, without counts of retracted runs."""
    stored, last = _read_all(store, dataset), dict[str, Count]()
    for name, count in counts.items():
        earlier = [of for of in stored.get(name, ()) if count.covers(of) and of.run_id not in retracted]
        if earlier:
            last[name] = earlier[-1]
    return last


def keep(store: Store, dataset: str, counts: Mapping[str, Count]) -> None:
    """Store the counts of a published run. Raises LakeError."""
    stored = _read_all(store, dataset)
    for name, count in counts.items():
        polls = {(of.observed, of.run_id): of for of in (*stored.get(name, ()), count)}
        stored[name] = sorted(polls.values(), key=lambda of: of.observed)[-POLLS:]
    if counts:
        lines = {name: [astuple(of) for of in polls] for name, polls in stored.items()}
        store.put(_key(dataset), (json.dumps(lines) + "\n").encode())


def _read_all(store: Store, dataset: str) -> dict[str, list[Count]]:
    """Return the counts of each window, oldest first; none if there are no counts or they can't be read."""
    with suppress(FileNotFoundError, ValueError, TypeError):
        stored = json.loads(store.read(_key(dataset)))
        return {name: [Count(*count) for count in counts] for name, counts in stored.items()}
    return {}


def _key(dataset: str) -> str:
    return f"{FOLDER}/{dataset}.json"


def _state(window: str, observed_at: datetime) -> str:
    """Return a window's state: closed (its records should not become fewer), recent, a feed's entity, or the source."""
    if window.startswith(WHOLE):
        return SOURCE
    try:
        end = clock.end_of_new_york_day(date.fromisoformat(window))
    except ValueError:
        return ENTITIES
    return CLOSED if end + CLOSED_AFTER < observed_at else RECENT
