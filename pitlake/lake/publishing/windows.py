"""Windows: how many records each part of a source returned at its last poll, to notice records that are gone.

A window is a day of a partitioned dataset, an entity that a feed read completely, or the whole source: all of a
snapshot, and the source's own counts of its content. The counts of all windows are one small file per dataset that
belongs to no version. Only published runs change it, so that a run after a refused one is compared with the last good
poll.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from pitlake import clock
from pitlake.lake.publishing.drift import Finding
from pitlake.lake.publishing.stage import UNDATED, Staged
from pitlake.lake.storage.store import Store

FOLDER = "_lake/window_counts"
WHOLE = "source: "
"""The start of the names of windows that are not bounded by time."""
CLOSED_AFTER = timedelta(days=7)
"""The time after which a day's records no longer come and go by themselves."""
LEAST_SHARE = 0.98
"""The share of a window's records that must still be there."""
CLOSED, RECENT, ENTITIES, SOURCE = "closed windows", "recent windows", "entities", "the source"
REFUSED_BELOW = {SOURCE: LEAST_SHARE, CLOSED: LEAST_SHARE, RECENT: 0.0, ENTITIES: 0.5}
"""The share below which a run is refused; above it the check warns. A vendor may shorten an entity's history a bit."""
LEAST_LOST, LEAST_OF_NOTHING = 10, 5
"""Fewer lost records don't count, unless nothing is left of at least so many."""
WARNS = 0.75


@dataclass(frozen=True)
class Count:
    """The records of a window at its poll, and the poll's instant in microseconds."""

    records: int
    observed: int


def counted(staged: Staged) -> dict[str, int]:
    """Return the number of records of each window that a stage covers, without windows that were read in part."""
    counts = {f"{WHOLE}{name}": count for name, count in staged.surveyed.items()}
    if staged.dataset.partitioned:
        return counts | {name: count for name, count in staged.extracted.items() if name != UNDATED}
    if not staged.dataset.captured:
        return counts | {f"{WHOLE}records": sum(staged.extracted.values())}
    for part in staged.coverage:
        if any(last is not None for _, _, last in part.bounds):
            continue  # The records of such a part leave it without being lost.
        rows = staged.rows
        for column, first, _ in part.bounds:
            rows = rows.filter(pc.greater_equal(_days(rows[column]), pa.scalar(first)))
        spelled = ",".join(f"{column}>={first}" for column, first, _ in part.bounds)
        numbers = {str(of["values"]): of["counts"] for of in pc.value_counts(rows[staged.dataset.entity]).to_pylist()}
        for entity in part.entities or ():
            counts[f"{entity} {spelled}".strip()] = numbers.get(entity, 0)
    return counts


def findings(before: Mapping[str, Count], counts: Mapping[str, int], observed_at: datetime) -> Iterator[Finding]:
    """Yield what is lost of the windows that an earlier poll covered: of all together, otherwise of one of them."""
    observed = clock.micros(observed_at)
    shared = [name for name in counts if name in before and before[name].observed < observed]
    states: dict[str, list[str]] = {}
    for name in shared:
        states.setdefault(_state(name, observed_at), []).append(name)
    for state, names in states.items():
        alone = [[name] for name in names]
        for group in alone if state == SOURCE else (names, *alone):
            was, now = sum(before[name].records for name in group), sum(counts[name] for name in group)
            lost = was - now
            if now < LEAST_SHARE * was and (lost >= LEAST_LOST or (now == 0 and was >= LEAST_OF_NOTHING)):
                windows = group[0] if len(group) == 1 else f"{len(group)} windows"
                text = f"{now:,} of the {was:,} records that the last poll of {windows} returned"
                yield Finding(f"records of {state}", text, 1.0 if now < REFUSED_BELOW[state] * was else WARNS)
                break


def read(store: Store, dataset: str) -> dict[str, Count]:
    """Return the last counts of a dataset's windows; none if there are none or they can't be read."""
    with suppress(FileNotFoundError, ValueError, TypeError):
        return {name: Count(*count) for name, count in json.loads(store.read(_key(dataset))).items()}
    return {}


def keep(store: Store, dataset: str, counts: Mapping[str, int], observed_at: datetime) -> None:
    """Store the counts of a published run; counts of later polls stay. Raises LakeError."""
    before, observed = read(store, dataset), clock.micros(observed_at)
    new = {name: Count(count, observed) for name, count in counts.items()}
    later = {name: count for name, count in before.items() if count.observed > observed}
    stored = {name: (count.records, count.observed) for name, count in (before | new | later).items()}
    if counts:
        store.put(_key(dataset), (json.dumps(stored) + "\n").encode())


def _key(dataset: str) -> str:
    return f"{FOLDER}/{dataset}.json"


def _state(window: str, observed_at: datetime) -> str:
    """Return whether a window is closed, so that its records should not become fewer, recent, or a feed's entity."""
    if window.startswith(WHOLE):
        return SOURCE
    try:
        end = clock.end_of_new_york_day(date.fromisoformat(window))
    except ValueError:
        return ENTITIES
    return CLOSED if end + CLOSED_AFTER < observed_at else RECENT


def _days(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return days and instants as New York days in text, and texts as they are."""
    if pa.types.is_timestamp(values.type):
        values = pc.cast(pc.local_timestamp(values.cast(pa.timestamp("us", "America/New_York"))), pa.date32())
    return values.cast(pa.string())
