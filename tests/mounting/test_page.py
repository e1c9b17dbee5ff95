"""docs/mount.md: its commands and its Python run in order in one folder, and show the expected output."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import obstore
import pyarrow.parquet as pq
import pytest
from obstore.store import S3Store

from tests.cli.conftest import ROOT
from tests.house.test_docs import blocks
from tests.mounting.origins import execute, needs_postgres
from tests.mounting.test_mount import estimates
from tests.object_store import object_store, settings

SHOWN = {
    1: ["QBG", "0.44", "3 new"],
    2: ["[('QBG', 1)]"],
    3: [],
    4: ["of_duckdb: 3 rows read", "of_delta: 3 rows read", "of_iceberg: 3 rows read"],
    5: ["of_postgres: 3 rows read"],
    6: ["of_s3: 3 rows read"],
    7: ["0.41", "0.42", "observed", "1 new"],
    8: ["3 unchanged", "watching: checks every 2 seconds", "no longer watched"],
    9: ['name = "estimates"', "# estimates: Mounted table estimates"],
}
PATIENCE_SECONDS = 120


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("mount")


@pytest.fixture(scope="module")
def store(place):
    """A bucket with the name and objects of the page."""
    pq.write_table(estimates(), place / "1.parquet")
    with object_store() as url:
        urllib.request.urlopen(urllib.request.Request(f"{url}/research", method="PUT")).close()
        keys = settings(url)
        bucket = S3Store(
            "research", endpoint=url, client_options={"allow_http": True}, region=keys["AWS_REGION"],
            access_key_id=keys["AWS_ACCESS_KEY_ID"], secret_access_key=keys["AWS_SECRET_ACCESS_KEY"],
        )  # fmt: skip
        obstore.put(bucket, "days/1.parquet", place / "1.parquet")
        yield keys


@pytest.fixture(scope="module")
def database(server):
    """The variables that locate a database with the name and table of the page."""
    if server is None:
        return {}
    execute(server, "CREATE ROLE analyst LOGIN PASSWORD 'of-analyst'")
    execute(server, "CREATE DATABASE research", alone=True)
    execute(
        server,
        "CREATE TABLE estimates (ticker text, period date, eps numeric, published_at timestamptz)",
        "INSERT INTO estimates SELECT 'QBG', '2024-03-31', n, '2024-01-30'::timestamptz + n * INTERVAL '1 day'"
        " FROM generate_series(1, 3) n",
        "GRANT SELECT ON estimates TO analyst",
        database="research",
    )
    return {"PGPORT": str(server.port), "PGPASSWORD": "of-analyst"}


BLOCKS = blocks("mount.md")


def needs_a_server(block):
    return "postgresql:" in block.text


def typed(block, place, surroundings):
    """Run a block, stop it once it watches, and return its output."""
    command = ["bash", "-euc", block.text] if block.language == "sh" else [sys.executable, "-c", block.text]
    with (
        (place / "shown").open("w+") as output,
        subprocess.Popen(
            command, cwd=place, env=surroundings, stdout=output, stderr=output, start_new_session=True
        ) as running,
    ):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "--watch" in block.text and "watching" not in Path(output.name).read_text():
            assert running.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        if "--watch" in block.text:
            os.killpg(running.pid, signal.SIGINT)
        code = running.wait(PATIENCE_SECONDS)
        content = Path(output.name).read_text()
    assert code == 0, content
    return content


@pytest.fixture(scope="module")
def shown(place, store, database):
    """A function that returns the output of a block by number. Earlier blocks run once before it."""
    texts = {}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    surroundings = {"PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(place), "PITLAKE_LAKE": str(place / "my-lake")}

    def until(number):
        for block in BLOCKS:
            if block.number <= number and block.number not in texts and (database or not needs_a_server(block)):
                texts[block.number] = typed(block, place, surroundings | store | database)
        return texts[number]

    return until


@pytest.mark.parametrize(
    "block",
    [pytest.param(each, marks=needs_postgres if needs_a_server(each) else (), id=str(each)) for each in BLOCKS],
)
def test_each_block_of_the_mount_page_runs_and_shows_the_expected_output(block, shown):
    assert block.runs
    text = shown(block.number)
    assert [part for part in SHOWN[block.number] if part not in text] == []
    assert "0.47" not in text or block.number != 1
