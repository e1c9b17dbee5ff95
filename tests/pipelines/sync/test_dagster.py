"""The job of external feeds, when only some feeds are configured."""

import dagster as dg

from pipelines.definitions import build_definitions
from resources.lake import LakeResource

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def test_a_run_with_only_some_feeds_configured_succeeds(edgar, lake):
    job = build_definitions(resources={"lake": LakeResource(root=str(lake.root))}).resolve_job_def("external_feeds")
    config = {"mode": "refresh", "ciks": ["1000"]}
    question = {"sec_filings": {"config": {**config, "options": {"headers": "none"}}}, "sec_facts": {"config": config}}
    with dg.DagsterInstance.ephemeral() as instance:
        result = job.execute_in_process(instance=instance, run_config=QUIET | {"ops": question}, raise_on_error=False)
        failed = [event.step_key for event in result.get_step_failure_events()]
    assert (result.success, failed) == (True, [])
    assert lake.head() == 2
    assert {entry.dataset for entry in lake.versions() if entry.dataset} == {"sec_filings", "sec_facts"}
