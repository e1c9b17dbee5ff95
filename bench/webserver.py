"""Launches a backfill through the webserver's GraphQL, as the user interface does, and waits for it."""

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
    """A successful backfill. Times are seconds since its request. seen: when it counted as completed; published: when
    its last run ended; created: when its first run was created. runs: the number of runs.
    """

    runs: int
    created: float
    published: float
    seen: float


def ask(url: str, query: str, **variables: Any) -> Any:
    """Return the data of one answer. Raises RuntimeError for errors of the query, and OSError if there is no answer."""
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(f"{url}/graphql", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as reply:
        answer = json.load(reply)
    if answer.get("errors"):
        raise RuntimeError(answer["errors"][0]["message"])
    return answer["data"]


def wait_until_healthy(url: str) -> None:
    """Return once the webserver answers and every daemon has reported. Raises TimeoutError."""
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
    """Launch a backfill and poll until its end. Raises RuntimeError if it is refused or fails."""
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
