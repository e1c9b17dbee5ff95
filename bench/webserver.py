"""A backfill as the user interface launches it: asked of the webserver over GraphQL, and waited for.

Knows Dagster's GraphQL and nothing of the work.
"""

import json
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

LAUNCH = """mutation($asked: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $asked) {
    __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
STATE = """query($id: String!) { partitionBackfillOrError(backfillId: $id) {
    ... on PartitionBackfill { status runs(limit: 10000) { status creationTime startTime endTime } } } }"""
HEALTH = "{ instance { daemonHealth { allDaemonStatuses { required healthy } } } }"
UNDER_WAY = ("REQUESTED", "CANCELING", "FAILING")
POLL_SECONDS, PATIENCE_SECONDS = 0.5, 600.0


@dataclass(frozen=True)
class Backfill:
    """One that succeeded. Seconds since it was asked for, but `runs`.

    seen: until it counted as completed. published: until its last run had ended. created: until its first run was.
    runs: how many it took.
    """

    runs: int
    created: float
    published: float
    seen: float


def ask(url: str, query: str, **variables: Any) -> Any:
    """The data of one answer. Raises RuntimeError for errors of the query, OSError where nobody answers."""
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(f"{url}/graphql", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as reply:
        answer = json.load(reply)
    if answer.get("errors"):
        raise RuntimeError(answer["errors"][0]["message"])
    return answer["data"]


def wait_until_healthy(url: str) -> None:
    """Return once the webserver answers and every daemon has been heard of. Raises TimeoutError."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            statuses = ask(url, HEALTH)["instance"]["daemonHealth"]["allDaemonStatuses"]
        except OSError:
            statuses = []
        if statuses and all(status["healthy"] for status in statuses if status["required"]):
            return
        time.sleep(POLL_SECONDS)
    raise TimeoutError("webserver and daemon did not come up")


def backfill(
    url: str, assets: Sequence[str], partitions: Sequence[str], look: Callable[[], object] = lambda: None
) -> Backfill:
    """Launch one and wait for its end, looking every now and then. Raises RuntimeError where it is refused or fails."""
    body = {"assetSelection": [{"path": [name]} for name in assets], "partitionNames": list(partitions)}
    began = time.time()
    launched = ask(url, LAUNCH, asked=body)["launchPartitionBackfill"]
    if "backfillId" not in launched:
        raise RuntimeError(f"{launched['__typename']}: {launched.get('message', '')}")
    while True:
        look()
        state = ask(url, STATE, id=launched["backfillId"])["partitionBackfillOrError"]
        if state["status"] not in UNDER_WAY:
            return _ended(state, began)
        time.sleep(POLL_SECONDS)


def _ended(state: dict[str, Any], began: float) -> Backfill:
    runs = state["runs"]
    if state["status"] != "COMPLETED_SUCCESS" or not runs:
        raise RuntimeError(f"the backfill ended as {state['status']}: {[run['status'] for run in runs]}")
    return Backfill(
        runs=len(runs),
        created=min(run["creationTime"] for run in runs) - began,
        published=max(run["endTime"] for run in runs) - began,
        seen=time.time() - began,
    )
