"""Spark for tests: a cluster of two workers in a separate process, if `make spark` has run and Java is installed."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / ".pitlake/spark-tools"
MASTER = "local-cluster[2,1,1024]"
# It runs for minutes, too short for the second compiler to pay off. Its time zone is an unusual one.
JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Duser.timezone=Australia/Lord_Howe"
STARTED = "started"


def why_not() -> str:
    """Return why Spark can't run here; empty if it can."""
    if not (TOOLS / "pyspark").is_dir():
        return "pyspark is not here: make spark"
    java = shutil.which("java")
    reply = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr if java else ""
    number = reply.partition('version "')[2].split(".")[0]
    return "" if number.isdigit() and int(number) >= 17 else "Spark needs Java 17 or newer"


class Cluster:
    """A running cluster."""

    def __init__(self, folder: Path, settings: dict[str, str], *packages: str) -> None:
        self._folder, self._log = folder, folder / "log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.cluster", MASTER, json.dumps(settings), *packages],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(TOOLS), "JAVA_TOOL_OPTIONS": JVM},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._hears(STARTED), self._log.read_text()[-4000:]

    def ask(self, what: str, **question: Any) -> pa.Table:
        """Return the answer from tests.spark.cluster to a request for "rows" or a "plan"."""
        into = self._folder / "answer"
        self._process.stdin.write(json.dumps(question | {"what": what, "into": str(into)}) + "\n")
        self._process.stdin.flush()
        assert self._hears(str(into)), self._log.read_text()[-4000:]
        with pa.OSFile(str(into)) as file:
            return pa.ipc.open_file(file).read_all()

    def _hears(self, word: str) -> bool:
        return any(line.strip() == word for line in iter(self._process.stdout.readline, ""))

    def close(self) -> None:
        self._process.communicate(timeout=120)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    if reason := why_not():
        pytest.skip(reason)
    running = Cluster(tmp_path_factory.mktemp("cluster"), {})
    yield running
    running.close()
