"""Dagster's event log on Postgres, made for long ranges: a check is planned once, and a connection is kept.

Dagster's own plans a check of a range once per partition before the run may start, 12 rows for every day of every
dataset, and connects anew for every event. Named in the settings below deploy/; nothing else calls it.
"""

from collections.abc import Mapping
from typing import Any, Self

from dagster_postgres import PostgresEventLogStorage
from dagster_postgres.utils import create_pg_engine, get_token_provider_from_config, pg_url_from_config

from resources.dagster_private import ConfigurableClassData
from resources.event_log import PlannedOnce

KEPT_CONNECTIONS = 1


class PostgresRangeEventLog(PlannedOnce, PostgresEventLogStorage):
    """Postgres as dagster-postgres has it; every process keeps one connection and closes those beyond it."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._engine = create_pg_engine(
            self.postgres_url,
            self._token_provider,
            isolation_level="AUTOCOMMIT",
            pool_size=KEPT_CONNECTIONS,
            max_overflow=-1,
            pool_pre_ping=True,
        )

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]) -> Self:
        """The storage that dagster.yaml describes."""
        return cls(
            inst_data=inst_data,
            postgres_url=pg_url_from_config(config_value),
            should_autocreate_tables=config_value.get("should_autocreate_tables", True),
            token_provider=get_token_provider_from_config(config_value),
        )
