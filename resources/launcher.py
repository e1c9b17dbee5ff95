"""Dagster's own launcher, which also says whether a run's process is still there, so that a run that died is told of.

Without this a run whose code server died with it would count as started for ever, and keep its place among the runs.
Named in deploy/dagster-postgres.yaml; asked by Dagster's run monitoring, which marks such a run as failed.
"""

from typing import Any

import grpc  # type: ignore[import-untyped]
from dagster import DagsterRun

from resources.dagster_private import (
    CanCancelExecutionRequest,
    CanCancelExecutionResult,
    CheckRunHealthResult,
    DagsterUserCodeUnreachableError,
    DefaultRunLauncher,
    WorkerStatus,
    deserialize_value,
)

ANSWER_SECONDS = 30
MISSES_THAT_COUNT = 2


class WatchedRunLauncher(DefaultRunLauncher):
    """Runs are processes of the code server that started them: it knows which of them live.

    A server that answers late is busy; one that is not there twice in a row is gone, and its runs with it.
    """

    def __init__(self, inst_data: Any = None) -> None:
        super().__init__(inst_data)
        self._misses: dict[str, int] = {}

    @property
    def supports_check_run_worker_health(self) -> bool:
        """It does."""
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """RUNNING as long as nothing speaks against it; NOT_FOUND when the run's process is gone."""
        client = self._get_grpc_client_for_termination(run.run_id)  # type: ignore[no-untyped-call]
        if client is None:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "not yet known where it runs")
        request = CanCancelExecutionRequest(run_id=run.run_id)
        try:
            answer = deserialize_value(client.can_cancel_execution(request, ANSWER_SECONDS), CanCancelExecutionResult)
        except DagsterUserCodeUnreachableError as problem:
            return self._missed(run.run_id, problem)
        self._misses.pop(run.run_id, None)
        if answer.can_cancel:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.NOT_FOUND, "the code server has no such process")

    def _missed(self, run_id: str, problem: DagsterUserCodeUnreachableError) -> CheckRunHealthResult:
        cause = problem.__cause__
        if isinstance(cause, grpc.RpcError) and cause.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "the code server is busy")
        misses = self._misses[run_id] = self._misses.get(run_id, 0) + 1
        if misses < MISSES_THAT_COUNT:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "the code server did not answer once")
        del self._misses[run_id]
        return CheckRunHealthResult(WorkerStatus.NOT_FOUND, "the code server that ran it is gone")
