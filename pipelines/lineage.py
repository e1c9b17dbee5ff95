"""OpenLineage: reports the start and end of each run, and the datasets that it publishes and reads, to a service.

openlineage-python reads the address from the environment. Events name datasets and contain no rows.
"""

import os

import dagster as dg

from pitlake import __version__, clock

ADDRESS, NAMESPACE = "OPENLINEAGE_URL", "OPENLINEAGE_NAMESPACE"
PRODUCER = f"urn:pitlake:{__version__}"
STATES = {
    dg.DagsterRunStatus.STARTED: "START",
    dg.DagsterRunStatus.SUCCESS: "COMPLETE",
    dg.DagsterRunStatus.FAILURE: "FAIL",
    dg.DagsterRunStatus.CANCELED: "ABORT",
}


def sensors() -> list[dg.SensorDefinition]:
    """Return a sensor for each state of a run, or [] without an address."""
    return [_sensor(status) for status in STATES] if os.environ.get(ADDRESS) else []


def _sensor(status: dg.DagsterRunStatus) -> dg.SensorDefinition:
    @dg.run_status_sensor(
        name=f"lineage_{STATES[status].lower()}",
        run_status=status,
        default_status=dg.DefaultSensorStatus.RUNNING,
        monitor_all_code_locations=True,  # This includes runs of `dg launch`, which have no code location.
        description=f"Sends OpenLineage's event {STATES[status]} of each run.",
    )
    def send(context: dg.RunStatusSensorContext) -> None:
        state = STATES[status]
        from openlineage.client import OpenLineageClient
        from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState

        run, namespace = context.dagster_run, os.environ.get(NAMESPACE, "pitlake")
        repository, record = context.repository_def, context.instance.get_run_record_by_id(run.run_id)
        if repository is None or record is None or not repository.has_job(run.job_name):
            return
        outputs = run.asset_selection or repository.get_job(run.job_name).asset_layer.selected_asset_keys
        inputs = {parent for key in outputs for parent in repository.asset_graph.get(key).parent_keys} - outputs
        seconds = record.start_time if state == "START" else record.end_time
        event = RunEvent(
            eventType=RunState[state],
            eventTime=clock.iso(clock.from_micros(round(seconds * 1_000_000)) if seconds else clock.now()),
            run=Run(runId=run.run_id),
            job=Job(namespace=namespace, name=run.job_name),
            producer=PRODUCER,
            inputs=[InputDataset(namespace=namespace, name=key.to_user_string()) for key in sorted(inputs)],
            outputs=[OutputDataset(namespace=namespace, name=key.to_user_string()) for key in sorted(outputs)],
        )
        OpenLineageClient().emit(event)

    return send
