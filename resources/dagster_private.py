"""What we use of Dagster that Dagster does not promise to keep: every such import is here.

The release is pinned in pyproject.toml. What each name is for, and what to do when it has moved, is said by
tests/resources/test_dagster_private.py, which a new release fails by name.
"""

from dagster._core.definitions.asset_checks.asset_check_evaluation import AssetCheckEvaluationPlanned
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.events.log import EventLogEntry
from dagster._core.instance.ref import InstanceRef
from dagster._core.launcher.base import CheckRunHealthResult, WorkerStatus
from dagster._core.launcher.default_run_launcher import DefaultRunLauncher
from dagster._core.storage.event_log import SqlEventLogStorage, SqlEventLogStorageTable
from dagster._core.storage.event_log.sqlite.consolidated_sqlite_event_log import ConsolidatedSqliteEventLogStorage
from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult
from dagster._serdes import ConfigurableClassData, deserialize_value
from dagster_shared.record import copy

__all__ = [
    "AssetCheckEvaluationPlanned",
    "CanCancelExecutionRequest",
    "CanCancelExecutionResult",
    "CheckRunHealthResult",
    "ConfigurableClassData",
    "ConsolidatedSqliteEventLogStorage",
    "DagsterUserCodeUnreachableError",
    "DefaultRunLauncher",
    "EventLogEntry",
    "InstanceRef",
    "SqlEventLogStorage",
    "SqlEventLogStorageTable",
    "WorkerStatus",
    "copy",
    "deserialize_value",
]
