"""The command line as a process: pipes, signals, start-up."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from pitlake.cli import INTERRUPTED, READER_GONE
from tests.cli.conftest import AFTER, ROOT, process
from tests.processes import ended, wait_for_end


def test_sql_can_come_through_a_pipe(lake):
    with process("query", "--as-of", AFTER, "--format", "json", "-", lake=lake, stdin=subprocess.PIPE) as running:
        out, _ = running.communicate("SELECT 41 + 1 AS answer", timeout=240)
    assert (running.returncode, json.loads(out)) == (0, [{"answer": 42}])


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
@pytest.mark.parametrize("command", [("query", "-"), ("shell",)], ids=["query", "shell"])
def test_invalid_utf_8_on_stdin_gives_one_clear_line(lake, monkeypatch, command, errors):
    monkeypatch.setenv("PYTHONIOENCODING", f"utf-8:{errors}")
    question = (command[0], "--as-of", AFTER, *command[1:])
    with process(*question, lake=lake, stdin=subprocess.PIPE, text=False) as running:
        out, complaint = running.communicate(b"SELECT '\xff'", timeout=240)
    assert (running.returncode, out) == (2, b"")
    assert b"UTF-8" in complaint
    assert complaint.count(b"\n") == 1


def test_parquet_goes_through_a_pipe_byte_for_byte(lake, tmp_path):
    question = ("query", "--as-of", AFTER, "--format", "parquet", "SELECT id, title FROM news ORDER BY id")
    with process(*question, lake=lake, text=False) as running:
        piped, _ = running.communicate(timeout=240)
    with process(*question, "-o", str(tmp_path / "file"), lake=lake) as running:
        running.communicate(timeout=240)
    assert piped[:4] == piped[-4:] == b"PAR1"
    assert (tmp_path / "file").read_bytes() == piped


def test_output_to_dev_stdout_appends_and_does_not_replace_the_file(lake, tmp_path):
    with (tmp_path / "log").open("w") as log:
        log.write("earlier\n")
        log.flush()
        question = ("query", "--as-of", AFTER, "--format", "csv", "-o", "/dev/stdout", "SELECT 1 AS a")
        with process(*question, lake=lake, stdout=log) as running:
            running.communicate(timeout=240)
    assert (tmp_path / "log").read_text() == "earlier\na\n1\n"
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_a_closed_pipe_ends_the_command_without_a_traceback(lake):
    question = ("query", "--as-of", AFTER, "--format", "csv", "SELECT * FROM range(1000000)")
    with process(*question, lake=lake) as running:
        assert running.stdout.readline() == "range\n"
        running.stdout.close()
        complaint = running.stderr.read()
        assert (running.wait(240), complaint) == (READER_GONE, "")


def test_an_interrupt_stops_a_query_and_leaves_no_processes(lake):
    endless = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE hash(a.range, b.range) = 1"
    with process(
        "query", "--as-of", AFTER, endless, lake=lake, start_new_session=True, bufsize=0, text=False
    ) as running:
        children = wait_for_children(running.pid)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=240)
    assert (running.returncode, out, err.strip()) == (INTERRUPTED, b"", b"pitlake: interrupted")
    wait_for_end(children)


def wait_for_children(pid):
    import psutil

    def works(child):
        try:
            return child.cpu_times().user > 0.5
        except psutil.NoSuchProcess:
            return False

    parent = psutil.Process(pid)
    while not (busy := [child for child in parent.children(recursive=True) if works(child)]):
        assert not ended(parent)
        time.sleep(0.01)
    return busy


def test_help_starts_without_the_heavy_libraries():
    code = (
        "import sys, pitlake.cli; print(sorted({'duckdb', 'pandas', 'pyarrow', 'dagster', 'rich'} & set(sys.modules)))"
    )
    output = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


def test_a_lake_opens_without_pandas_and_the_library_of_object_stores(lake):
    code = (
        "import sys; from pitlake.lake import Lake; Lake(sys.argv[1]).snapshot().files('news')[0]; "
        "print({'pandas', 'obstore'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, str(lake)]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout == "set()\n"


HEAVY = {"asyncio", "dagster", "duckdb", "exchange_calendars", "pandas", "polars", "pydantic", "pyarrow", "sqlalchemy",
         "tenacity", "wordllama"}  # fmt: skip
NEEDED = {
    ("query", "--as-of", AFTER, "SELECT title FROM news"): {"pyarrow"},
    ("query", "--as-of", AFTER, "--format", "json", "SELECT * FROM lake_info"): {"pyarrow"},
    ("search", "--as-of", AFTER, "headline"): {"pyarrow"},
    ("versions",): {"pyarrow"},
    ("datasets",): {"pyarrow"},
    ("datasets", "--as-of", AFTER): {"pyarrow"},
    ("describe", "news"): {"pyarrow"},
    ("forge", "views"): {"pydantic"},
    ("forge", "search", "/memory/views/", "growth"): {"asyncio", "pydantic"},
}
"""The libraries in HEAVY that each of these commands may import."""


@pytest.mark.parametrize(("command", "needed"), NEEDED.items(), ids=[" ".join(command[::3]) for command in NEEDED])
def test_a_command_imports_no_heavy_library_that_it_does_not_need(lake, tmp_path, command, needed):
    code = (
        "import sys; from pitlake.cli import invoke; failed = invoke(sys.argv[2:]); "
        "print(*sorted(set(sys.argv[1].split()) & set(sys.modules)), file=sys.stderr); sys.exit(failed)"
    )
    arguments = [sys.executable, "-c", code, " ".join(HEAVY), *command]
    environment = os.environ | {"PITLAKE_LAKE": str(lake), "FORGE_LAKE": str(tmp_path / "forge")}
    if command[0] == "query":
        environment["XDG_CACHE_HOME"] = str(tmp_path)  # An empty cache, in which nothing is cut yet.
    outcome = subprocess.run(arguments, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    assert set(outcome.stderr.splitlines()[-1].split()) == needed
