"""Gathers the evidence of a soak: from the UI over GraphQL, the webhook, the report and the logs."""

import json
import re
from collections.abc import Collection, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from pitlake.report import site
from tests.soak.definitions import DAYS_A_WINDOW, FIRST
from tests.soak.house import House
from tests.soak.verdict import JOBS, Alert, Evidence, Fault, Run
from tests.soak.world import Webhook

RANGE_START = "dagster/asset_partition_range_start"
MESSAGE_CHARACTERS = 200
CAUGHT = re.compile(r"(?:caught an error|Error in config|Sensor .* failed).*", re.IGNORECASE)


def gathered(house: House, webhook: Webhook, faults: Sequence[Fault], report: Path, lake: Sequence[str]) -> Evidence:
    """Return the evidence. lake: the problems of the lake that are already known."""
    numbers = json.loads((report / site.NUMBERS).read_text())
    return Evidence(
        runs=[_run(house, run) for run in house.runs()],
        faults=list(faults),
        alerts=[Alert(at=at, title=title, body=body) for at, title, body in webhook.alerts],
        incidents={incident["run"]: incident["reasons"] for incident in numbers["incidents"]},
        page=(report / site.INDEX).read_text(),
        memory=house.memory,
        lake=list(lake),
        log_errors=CAUGHT.findall(house.log("daemon").read_text(errors="replace")),
    )


def shows(house: House, fault: Fault) -> bool:
    """Return whether the UI shows a run that the fault hit: a failed run or step, or missing answers."""
    near = [
        run for run in house.runs() if run["jobName"] == fault.job and (run["endTime"] or fault.ended) >= fault.began
    ]
    return any(fault.explains(_run(house, run)) for run in near)


def is_well(house: House, faults: Sequence[Fault]) -> bool:
    """Return whether every job has succeeded since the last fault."""
    last = max(fault.ended for fault in faults)
    well = {run["jobName"] for run in house.runs() if run["status"] == "SUCCESS" and run["startTime"] > last}
    return well >= set(JOBS)


def windows_done(runs: Collection[Run]) -> set[int]:
    """Return the windows for which a run of all datasets of the graph succeeded."""
    ended = (run for run in runs if run.job == "graph_days" and run.status == "SUCCESS")
    return {(date.fromisoformat(run.window) - FIRST).days // DAYS_A_WINDOW for run in ended}


def _run(house: House, reply: dict[str, Any]) -> Run:
    tags = {tag["key"]: tag["value"] for tag in reply["tags"]}
    question = reply["status"] in ("FAILURE", "STARTED") or reply["jobName"] == "macro_watch"
    events = house.events(reply["runId"]) if question else []
    failures = (event for event in events if event["__typename"] == "ExecutionStepFailureEvent")
    checks = (event["evaluation"] for event in events if event["__typename"] == "AssetCheckEvaluationEvent")
    return Run(
        id=reply["runId"],
        job=reply["jobName"],
        status=reply["status"],
        created=reply["creationTime"],
        started=reply["startTime"],
        ended=reply["endTime"],
        again=reply["rootRunId"] if reply["rootRunId"] != reply["runId"] else None,
        window=tags.get(RANGE_START, ""),
        why=tuple(f"{each['stepKey']}: {_chain(each['error'])}" for each in failures),
        unanswered=tuple(
            "/".join(check["assetKey"]["path"])
            for check in checks
            if check["checkName"] == "answered" and not check["success"]
        ),
    )


def _chain(error: dict[str, Any] | None) -> str:
    if error is None:
        return ""
    links = [error, *(link["error"] for link in error["errorChain"])]
    return " ← ".join(f"{each['className']} {each['message'][:MESSAGE_CHARACTERS].strip()}" for each in links)
