"""`pitlake agents run`: the program can't read the lake's files in any way, and queries a server instead."""

import json
import os
import subprocess
import sys

import pytest

from tests.agents import world
from tests.agents.harness import ROOT

RUN = [sys.executable, "-m", "pitlake", "agents", "run", "--as-of", world.PIT, "--"]
ASK = [
    {"id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": {"name": "query", "arguments": {"sql": "SELECT title FROM news"}}},
]  # fmt: skip


def run(lake, folder, *command, **more):
    env = os.environ | {"PITLAKE_LAKE": str(lake), "PYTHONPATH": str(ROOT), "PITLAKE_CACHE": f"{lake.parent}/cache",
                        "POLYGON_API_KEY": "a secret", **more}  # fmt: skip
    return subprocess.run(
        [*RUN, *command], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120
    )


ATTEMPTS = """
cat {lake}/_lake/canary.json {lake}/*/* {lake}/_lake/log/*
find {lake} -type f -exec cat {{}} +
umount {lake}; cat {lake}/_lake/canary.json
mount -t tmpfs none {lake}; mount --bind / {own}/mnt; cat {own}/mnt{lake}/_lake/canary.json
unshare -Urm sh -c 'umount {lake}; umount -l {lake}; cat {lake}/_lake/canary.json'
unshare -Urm sh -c 'mount --bind / {own}/mnt; cat {own}/mnt{lake}/_lake/canary.json'
unshare -Urm sh -c 'mount --bind {above} {own}/mnt; cat {own}/mnt/lake/_lake/canary.json'
unshare -Urmpf --mount-proc sh -c 'cat {lake}/_lake/canary.json'
for p in /proc/[0-9]*; do cat $p/root{lake}/_lake/canary.json $p/cwd/../lake/_lake/canary.json $p/environ; done
nsenter -t $PPID -m -U cat {lake}/_lake/canary.json
nsenter -t 1 -m cat {lake}/_lake/canary.json
mv {above} {above}.moved; cat {above}.moved/lake/_lake/canary.json; mv {above}.moved {above}
ln {lake}/_lake/canary.json {own}/hard; cat {own}/hard; ls -R {lake}
cat {cache}/canary.json; env
touch {root}/pitlake/planted.py
"""


@pytest.fixture
def places(tmp_path, marked_lake):
    lake, own = tmp_path / "above" / "lake", tmp_path / "own"
    (lake.parent / "cache").mkdir(parents=True)
    (own / "mnt").mkdir(parents=True)
    subprocess.run(["cp", "-r", str(marked_lake), str(lake)], check=True)
    for place in (lake / "_lake", lake.parent / "cache"):
        (place / "canary.json").write_text(world.MARK)
    return lake, own


def test_no_attempt_of_a_confined_program_reads_the_lake(places):
    lake, own = places
    tried = ATTEMPTS.format(lake=lake, own=own, above=lake.parent, cache=lake.parent / "cache", root=ROOT)
    done = run(lake, own, "sh", "-c", tried)
    assert done.returncode != 0
    assert "Read-only file system" in done.stderr
    assert not (ROOT / "pitlake" / "planted.py").exists()
    assert [each for each in (world.MARK, "a secret", "PITLAKE_LAKE") if each in done.stdout + done.stderr] == []
    assert (lake / "_lake" / "canary.json").read_text() == world.MARK


def test_the_server_outside_answers_only_as_of_the_instant(places):
    lake, own = places
    text = "".join(json.dumps({"jsonrpc": "2.0"} | each) + "\n" for each in ASK)
    (own / "asked").write_text(text)
    server = ROOT / ".claude" / "lake-server"
    done = run(lake, own, "sh", "-c", f"(cat asked; sleep 20) | sh {server}")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    (reply,) = [answer["result"] for answer in answers if answer.get("id") == 2]
    assert "guidance raised" in json.dumps(reply)
    assert not world.marked(json.dumps(reply))


def test_a_program_whose_working_directory_is_in_the_lake_is_not_run(places):
    lake, _ = places
    done = run(lake, lake / "_lake", "true")
    assert done.returncode == 2
    assert "the working directory is in" in done.stderr


def test_agents_run_returns_the_programs_exit_code_and_reports_a_missing_program(places):
    lake, own = places
    assert run(lake, own, "sh", "-c", "exit 7").returncode == 7
    done = run(lake, own, "no-such-program")
    assert (done.returncode, "No such file" in done.stderr) == (2, True)
