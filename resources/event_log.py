"""Dagster's event log on SQLite, with two changes for long ranges of days. Named in dagster.yaml.

Dagster commits every partition's event separately, which takes 13 ms of CPU for each day and dataset. It also plans a
check of a range once per partition although it is evaluated once, which needs more variables than SQLite allows.
"""

from collections.abc import Sequence
from typing import Any

import dagster as dg
import sqlalchemy as sql
from dagster._core.storage.event_log import ConsolidatedSqliteEventLogStorage

ASSET_EVENTS = frozenset({dg.DagsterEventType.ASSET_MATERIALIZATION, dg.DagsterEventType.ASSET_OBSERVATION})


class RangeEventLog(ConsolidatedSqliteEventLogStorage):
    """One SQLite file for all runs; a batch of DAGSTER_EVENT_BATCH_SIZE asset events is one transaction."""

    def store_event_batch(self, events: Sequence[dg.EventLogEntry]) -> None:
        """Store asset events of one type in one transaction; others one by one, like Dagster."""
        types = {event.get_dagster_event().event_type for event in events}
        if len(types) != 1 or not types <= ASSET_EVENTS:
            super().store_event_batch(events)
            return
        insert: Any = self.prepare_insert_event_batch(events)
        with self.index_connection() as connection:  # type: ignore[no-untyped-call]
            ids = sorted(row[0] for row in connection.execute(insert.returning(sql.literal_column("id"))))
            self._store_asset_event_tags(connection, events, ids)
            stored = zip(events, ids, strict=True)
            newest = {event.get_dagster_event().asset_key: (event, event_id) for event, event_id in stored}
            for event, event_id in newest.values():
                self._store_asset_event(connection, event, event_id)

    def _store_asset_check_evaluation_planned(self, event: dg.EventLogEntry, event_id: int | None) -> None:
        planned: Any = event.get_dagster_event().event_specific_data
        if planned.partitions_subset is not None and len(planned.partitions_subset) != 1:
            once = type(planned)(asset_key=planned.asset_key, check_name=planned.check_name, partitions_subset=None)
            event = event._replace(dagster_event=event.get_dagster_event()._replace(event_specific_data=once))
        super()._store_asset_check_evaluation_planned(event, event_id)
