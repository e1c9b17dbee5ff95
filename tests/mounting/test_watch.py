"""`pitlake mount --watch` mounts changes to a table; Ctrl-C ends it, but an error does not."""

import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import duckdb
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import ROOT
from tests.mounting.origins import execute, in_delta, in_duckdb, in_parquet, in_postgres, needs_postgres
from tests.mounting.test_mount import estimates, rows

PATIENCE_SECONDS = 60
MOUNT = ("mount", "--name", "estimates", "--key", "ticker,period", "--available-at", "published_at", "--every", "1")


class Watching:
    """A running command and the lines it prints."""

    def __init__(self, process):
        self.process, self.lines, self._seen = process, [], 0
        threading.Thread(target=lambda: self.lines.extend(iter(process.stderr.readline, "")), daemon=True).start()

    def until(self, text):
        """Wait for a line that contains `text`, after the lines of earlier waits."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            for number in range(self._seen, len(self.lines)):
                if text in self.lines[number]:
                    self._seen = number + 1
                    return
            time.sleep(0.05)
        raise AssertionError(f"no line with {text!r} in {self.lines}")


@contextmanager
def watching(lake, table, *options):
    place, name = table if isinstance(table, tuple) else (table, None)
    command = [sys.executable, "-m", "pitlake", *MOUNT, place, "--watch", "--lake", lake.location, *options]
    command += ["--table", name] if name else []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield Watching(process)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_SECONDS) == 0
        finally:
            process.kill()


def test_watching_remounts_a_growing_folder_and_survives_errors(lake, tmp_path):
    folder = tmp_path / "days"
    folder.mkdir()
    pq.write_table(estimates().slice(0, 1), folder / "1.parquet")
    with watching(lake, str(folder), "--midnights", "instants") as watched:
        watched.until("1 row read, 1 new")
        watched.until("watching")
        pq.write_table(estimates().slice(1, 1), folder / "2.parquet")
        watched.until("2 rows read, 1 new, 1 unchanged")
        (folder / "3.parquet").write_bytes(b"half of a file")
        watched.until("the table: can't be read")
        time.sleep(3)
        pq.write_table(estimates().slice(2), folder / "3.parquet")
        watched.until("3 rows read, 1 new, 2 unchanged")
        for file in folder.iterdir():
            file.unlink()
        watched.until("there is no file")
        assert sum("can't be read" in line for line in watched.lines) == 1
    assert len(rows(lake, None)) == 3
    assert watched.lines[-1] == "estimates is no longer watched\n"


def test_a_table_that_does_not_change_is_not_mounted_again(lake, tmp_path):
    with watching(lake, in_parquet(estimates(), tmp_path, None)) as watched:
        watched.until("watching")
        time.sleep(3)
        assert len(watched.lines) == 4
    assert len(lake.polls("estimates")) == 1


def test_watching_waits_until_a_file_is_no_longer_being_written(lake, tmp_path):
    place = tmp_path / "own.csv"
    place.write_text("ticker,period,eps,published_at\nA,q1,1,2024-02-01\n")
    with watching(lake, str(place)) as watched:
        watched.until("watching")
        for letter in "B,q1,123456,2024-02-01\n":
            with place.open("a") as file:
                file.write(letter)
            time.sleep(0.2)
        watched.until("2 rows read, 1 new, 1 unchanged, 0 gaps")
    assert rows(lake, None) == [("A", "q1", 1), ("B", "q1", 123456)]
    assert sum("rows read" in line for line in watched.lines) == 1


@pytest.mark.parametrize("outcome", [in_delta, in_duckdb, pytest.param(in_postgres, marks=needs_postgres)])
def test_a_table_that_grows_is_mounted_again(lake, tmp_path, server, outcome):
    with watching(lake, outcome(estimates().slice(0, 2), tmp_path, server)) as watched:
        watched.until("2 rows read, 2 new")
        watched.until("watching")
        outcome(estimates(), tmp_path, server)
        watched.until("3 rows read, 1 new, 2 unchanged")


def test_watching_reads_a_duckdb_file_once_its_writer_closes(lake, tmp_path):
    place, name = in_duckdb(estimates(), tmp_path, None)
    with watching(lake, (place, name)) as watched:
        watched.until("watching")
        with duckdb.connect(place) as database:
            database.execute("UPDATE mine.own SET eps = 9 WHERE ticker = 'B'")
            watched.until("own.duckdb can't be opened")
        watched.until("3 rows read, 1 new")


@needs_postgres
def test_watching_continues_after_a_postgres_table_is_dropped_and_recreated(lake, tmp_path, server):
    with watching(lake, in_postgres(estimates().slice(0, 2), tmp_path, server)) as watched:
        watched.until("watching")
        execute(server, "DROP TABLE own")
        watched.until("there is no table 'own'")
        in_postgres(estimates(), tmp_path, server)
        watched.until("3 rows read, 1 new, 2 unchanged")
        assert server.password not in "".join(watched.lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.csv", "--watch"), "there is no file nowhere.csv"),
        (("pyproject.toml", "--watch"), "files that end in .toml"),
        (("nowhere.csv", "--watch", "--every", "0"), "--every"),
    ],
)
def test_bad_input_at_the_start_is_an_error(lake, arguments, message):
    command = [sys.executable, "-m", "pitlake", *MOUNT, *arguments, "--lake", lake.location]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert (finished.returncode, message in finished.stderr) == (2, True), finished.stderr
