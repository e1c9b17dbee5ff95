"""What we use of Dagster beyond its public names is there, in one file, and each name says what to do when it moves."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOME = "resources/dagster_private.py"
PRODUCT = ("pitlake", "local_servers", "assets", "checks", "resources", "pipelines", "sample", "scripts", "bench")
PRIVATE = re.compile(r"dagster(_\w+)?\.(.*\.)?_|dagster_shared")

EVENT_LOG = "of the event log (resources/event_log.py), where a batch is one transaction and a check is planned once: "
LAUNCHER = "of the launcher (resources/launcher.py), which also says which runs live: "
HEALTH = LAUNCHER + "find how the code server is asked about a run, or use its own health check"
WHEN_IT_MOVES = {
    "AssetCheckEvaluationPlanned": EVENT_LOG
    + "find what plans a check; if one event stands for a range, drop PlannedOnce",
    "CanCancelExecutionRequest": HEALTH,
    "CanCancelExecutionResult": HEALTH,
    "CheckRunHealthResult": LAUNCHER + "take what check_run_worker_health of RunLauncher returns",
    "ConfigurableClassData": EVENT_LOG + "take what from_config_value of the storages is given",
    "ConsolidatedSqliteEventLogStorage": EVENT_LOG + "find the SQLite storage with one file for all runs; without one, "
    "name Dagster's own in dagster.yaml and hold `make bench PARTS=platform` against the old figures",
    "DagsterUserCodeUnreachableError": LAUNCHER + "take what the gRPC client raises where no server answers",
    "DefaultRunLauncher": LAUNCHER + "find the launcher that starts a run in the code server",
    "EventLogEntry": EVENT_LOG + "take what store_event of the storages is given",
    "InstanceRef": "of the demo, which keeps an instance beside its lake: find how one is made from a folder",
    "SqlEventLogStorage": EVENT_LOG + "find the class that both SQL storages share",
    "SqlEventLogStorageTable": EVENT_LOG + "find the table of events",
    "WorkerStatus": LAUNCHER + "take what CheckRunHealthResult is made of",
    "copy": EVENT_LOG + "find how a record of Dagster's is copied with a field changed",
    "deserialize_value": LAUNCHER + "find how an answer of the code server is read",
}


def imported(path):
    """Every (module, name) a file imports; a module imported whole has no name."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


USED = list(imported(ROOT / HOME))


@pytest.mark.parametrize(("module", "name"), USED)
def test_what_is_private_is_still_there(module, name):
    try:
        getattr(import_module(module), name)
    except (ImportError, AttributeError):
        pytest.fail(f"{module} has no {name} any more. It is {WHEN_IT_MOVES[name]}")


def test_each_name_says_what_to_do_when_it_moves():
    assert sorted(WHEN_IT_MOVES) == sorted(name for _, name in USED)


def test_nothing_else_reaches_behind_dagster_s_public_names():
    files = (path for package in PRODUCT for path in (ROOT / package).rglob("*.py"))
    found = {
        str(path.relative_to(ROOT))
        for path in files
        if any(PRIVATE.match(f"{module}.{name}") for module, name in imported(path))
    }
    assert found == {HOME}
