"""Dagster's event log on SQLite, made for long ranges of days: a batch is one transaction, a check is planned once.

Dagster's own SQLite storage commits every partition's event alone, opens the file anew each time, and plans a check
of a range once per partition although it is evaluated once; that is most of a long backfill. Named in dagster.yaml;
`postgres_event_log` has the last of it for Postgres. It overrides private methods of the Dagster release that is
pinned, and is tested against it.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Self

import dagster as dg
import sqlalchemy as sql

from resources.dagster_private import (
    AssetCheckEvaluationPlanned,
    ConfigurableClassData,
    ConsolidatedSqliteEventLogStorage,
    EventLogEntry,
    SqlEventLogStorage,
    SqlEventLogStorageTable,
    copy,
)

ONE_ASSET_EVENT_EACH = frozenset({dg.DagsterEventType.ASSET_MATERIALIZATION, dg.DagsterEventType.ASSET_OBSERVATION})
BUSY_SECONDS = 60
HOMELESS = ".pitlake/dagster"


class PlannedOnce(SqlEventLogStorage):
    """A storage that plans a check of a range of partitions once, not once per partition: it is evaluated once."""

    def _store_asset_check_evaluation_planned(self, event: EventLogEntry, event_id: int | None) -> None:
        planned = event.get_dagster_event().event_specific_data
        if isinstance(planned, AssetCheckEvaluationPlanned) and _is_range(planned):
            once = copy(planned, partitions_subset=None)
            event = event._replace(dagster_event=event.get_dagster_event()._replace(event_specific_data=once))
        super()._store_asset_check_evaluation_planned(event, event_id)


class RangeEventLog(PlannedOnce, ConsolidatedSqliteEventLogStorage):
    """One SQLite file for all runs, in `base_dir`: by default DAGSTER_HOME, or the checkout's own when there is none.

    Batches come when DAGSTER_EVENT_BATCH_SIZE is set.
    """

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        """What dagster.yaml may say."""
        return {"base_dir": dg.Field(dg.StringSource, is_required=False)}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]) -> Self:
        """The storage that dagster.yaml describes."""
        return cls(
            inst_data=inst_data, base_dir=config_value.get("base_dir") or os.environ.get("DAGSTER_HOME") or HOMELESS
        )

    @cached_property
    def _engine(self) -> sql.Engine:
        engine = sql.create_engine(self._conn_string, connect_args={"timeout": BUSY_SECONDS})
        sql.event.listen(engine, "connect", _trust_the_system)
        return engine

    @contextmanager
    def _connect(self) -> Iterator[sql.Connection]:
        with self._engine.connect() as connection, connection.begin():
            yield connection

    def dispose(self) -> None:
        """Close the file."""
        self._engine.dispose()
        super().dispose()  # type: ignore[no-untyped-call]

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Store asset events of one type in one transaction; others one by one, as Dagster does."""
        kinds = {event.get_dagster_event().event_type for event in events}
        if len(kinds) != 1 or not kinds <= ONE_ASSET_EVENT_EACH:
            super().store_event_batch(events)
            return
        insert: Any = self.prepare_insert_event_batch(events)
        with self._connect() as connection:
            ids = sorted(row[0] for row in connection.execute(insert.returning(SqlEventLogStorageTable.c.id)))
            self._store_asset_event_tags(connection, events, ids)
            stored = zip(events, ids, strict=True)
            newest = {event.get_dagster_event().asset_key: (event, event_id) for event, event_id in stored}
            for event, event_id in newest.values():
                self._store_asset_event(connection, event, event_id)


def _is_range(planned: AssetCheckEvaluationPlanned) -> bool:
    """Whether a check is planned for several partitions: then it is evaluated once, without a partition."""
    return planned.partitions_subset is not None and len(planned.partitions_subset) != 1


def _trust_the_system(connection: Any, _record: object) -> None:
    """Commits survive a crash of Dagster, the last ones not a power cut: the lake does not depend on this log."""
    connection.execute("PRAGMA synchronous = NORMAL")
