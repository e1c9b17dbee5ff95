"""XTDB, if Java and its jars are installed: the results of its configurations, and the end of its process."""

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from asofbench.__main__ import main
from asofbench.run import CACHE, Plan, place_of, run
from asofbench.systems import BY_NAME
from tests.processes import wait_for_end

ROOT = Path(__file__).resolve().parents[2]
CACHES = (CACHE, ROOT / ".pitlake/asofbench/peers")
STARTER = """
import sys, time
from pathlib import Path
from asofbench.adapters.xtdb import Node
node = Node(Path(sys.argv[1]))
node.call("open")
print(node.process.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def cache():
    installed = [cache for cache in CACHES if (place_of("xtdb", cache) / "whole").exists()]
    if not installed:
        pytest.skip("NOT tested on XTDB: its jars are not here: asofbench run XTDB")
    return installed[0]


def test_without_maven_xtdb_is_not_run_and_the_reason_is_recorded(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    plan = Plan(seed="seed", cache=tmp_path, scratch=tmp_path, worlds=["news"])
    [outcome] = run([BY_NAME["XTDB, live"]], plan)
    assert outcome.problem == "not installed: java and mvn must be on the path"


CLASSES = ("restatement", "vendor_rewrite", "two_bounds", "retraction", "erasure", "honest_backfill")


@pytest.mark.long
def test_no_xtdb_configuration_shows_the_future(cache, tmp_path):
    arguments = ["--worlds", "bars", "--classes", *CLASSES, "--cache", str(cache), "--out", str(tmp_path)]
    assert main(["run", "XTDB", *arguments]) == 0
    systems = json.loads((tmp_path / "results.json").read_text())["systems"]
    assert [system["leak"] for system in systems] == [[], [], []]


@pytest.mark.long
def test_the_xtdb_process_ends_with_its_starter(cache):
    command = [sys.executable, "-c", STARTER, str(place_of("xtdb", cache) / "jars")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as starter:
        process = psutil.Process(int(starter.stdout.readline()))
        starter.kill()
    wait_for_end([process])
