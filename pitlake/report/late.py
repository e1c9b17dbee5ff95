"""Late arrivals: rows that a poll found although an earlier complete poll covered their day and did not contain them.

They keep their source's date. Their number shows how many rows may still arrive for times before `as_of`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import duckdb
import pyarrow as pa

from pitlake import clock
from pitlake.contract import INSTANT, Dataset
from pitlake.lake.publishing.polls import Poll
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.tables.query import quoted, reading
from pitlake.report.clocks import HOUR_OF, LAG_OF, START

MOST_LISTED = 20
EVER = ("0001-01-01", "9999-12-31")
POLLS = pa.schema(
    [("observed", INSTANT), ("first_day", pa.string()), ("last_day", pa.string()), ("entities", pa.int64())]
)
ENTITIES = pa.schema([("number", pa.int64()), ("entity", pa.string())])
# Find the poll that missed each row: the last poll before the row's first observation that covered its day and entity,
# at or after the row's own instant. For most rows, the hours alone show that no poll missed them. The other rows have
# few pairs of day and entity.
DAY = "strftime(available_at AT TIME ZONE 'America/New_York', '%Y-%m-%d')"
MISSED = f"""
WITH
    hourly AS (SELECT hour, lag, observed AS seen, {START} AS available_at, {DAY} AS day FROM hours),
    maybe AS (
        SELECT DISTINCT hour, lag FROM hourly
        JOIN polls ON observed < seen AND observed >= available_at AND day BETWEEN first_day AND last_day
    ),
    rows AS (
        SELECT available_at, observed_at, evidence, {{entity}}::VARCHAR AS entity, {DAY} AS day
        FROM {{rows}} WHERE ({HOUR_OF}, {LAG_OF}) IN (FROM maybe)
    ),
    places AS (SELECT day, entity, observed_at, min(available_at) AS first FROM rows GROUP BY ALL),
    missed AS (
        SELECT day, places.entity, observed_at, max(observed) AS missed_at
        FROM places
        JOIN polls ON observed < observed_at AND observed >= first AND day BETWEEN first_day AND last_day
        WHERE entities IS NULL OR places.entity IS NULL
            OR EXISTS (FROM entities WHERE entities.number = polls.entities AND entities.entity = places.entity)
        GROUP BY ALL
    ),
    late AS (
        SELECT rows.*, missed_at, epoch_us(rows.observed_at) - epoch_us(rows.available_at) AS lag
        FROM rows JOIN missed
            ON rows.day = missed.day AND rows.observed_at = missed.observed_at
            AND rows.entity IS NOT DISTINCT FROM missed.entity
        WHERE missed_at >= rows.available_at
    )
SELECT available_at, missed_at, observed_at, evidence, count(*) OVER (), median(lag) OVER () / 1e6,
    max(lag) OVER () / 1e6
FROM late ORDER BY observed_at DESC, available_at DESC, evidence LIMIT {{limit}}
"""


@dataclass(frozen=True)
class Arrival:
    """A row that came late: its date, the last poll that missed it, and the poll that found it."""

    available_at: datetime
    missed_at: datetime
    observed_at: datetime
    evidence: str


@dataclass(frozen=True)
class LateArrivals:
    """The late arrivals of a dataset, newest first. Lags are between available_at and observed_at, in seconds."""

    count: int = 0
    median: float = 0.0
    largest: float = 0.0
    newest: Sequence[Arrival] = ()


def arrivals(
    sql: duckdb.DuckDBPyConnection,
    dataset: Dataset,
    files: Sequence[DataFile],
    hours: pa.Table | None,
    polls: Sequence[Poll],
) -> LateArrivals:
    """Find the late arrivals among a version's rows. hours: from the rows' Clocks."""
    if hours is None or not polls:
        return LateArrivals()
    sets: dict[frozenset[str], int] = {}
    spans = [
        {
            "observed": clock.from_micros(poll.observed),
            "first_day": first,
            "last_day": last,
            "entities": None if poll.entities is None else sets.setdefault(poll.entities, len(sets)),
        }
        for poll in polls
        for first, last in ((EVER,) if poll.days is None else poll.days)
    ]
    names = [{"number": number, "entity": name} for entities, number in sets.items() for name in entities]
    sql.register("hours", hours)
    sql.register("polls", pa.Table.from_pylist(spans, POLLS))
    sql.register("entities", pa.Table.from_pylist(names, ENTITIES))
    query = MISSED.format(entity=quoted(dataset.entity), rows=reading(files), limit=MOST_LISTED)
    late_rows = sql.sql(query).fetchall()
    if not late_rows:
        return LateArrivals()
    count, median, largest = late_rows[0][4:]
    return LateArrivals(count, median, largest, [Arrival(*row[:4]) for row in late_rows])
