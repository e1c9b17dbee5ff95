"""A dataset as a Spark DataFrame has the rows of a session, for every instant, version and time zone of Spark."""

import os
import re
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from assets.graph import all_extractors
from pitlake import clock
from pitlake.clock import MICROSECOND, iso
from pitlake.datasets import all_datasets
from pitlake.errors import BadInput, BadInstant, LakeError, LakeNotFound
from pitlake.lake.lake import Lake
from pitlake.lake.tables.query import calculator
from pitlake.session import connect
from pitlake.session.digest import sha256_of
from pitlake.spark import _lake_errors, frame
from tests.agents import world
from tests.object_store import object_store, settings
from tests.shared import shared_folder
from tests.spark import lakes
from tests.spark.conftest import ROOT, TOOLS, Cluster, why_not
from tests.story import once

SHOWN = [name for name, dataset in all_datasets().items() if not dataset.open_only]
HELD = [name for name in SHOWN if name in all_extractors()]
ZONES = ("America/New_York", "Asia/Kolkata")
INSTANTS = 6
S3A = Path.home() / ".m2/repository/org/apache/hadoop/hadoop-aws"


@pytest.fixture
def present(monkeypatch):
    """An environment in which the libraries seem to be installed."""
    monkeypatch.setattr("pitlake.spark.find_spec", lambda name: find_spec("json"))


def asking(error: type[BadInput], reply: str, **question: Any) -> None:
    with pytest.raises(error, match=reply):
        frame(None, **({"dataset": "news", "as_of": "2024-05-29T17:00:00-04:00"} | question))


@pytest.mark.skipif(find_spec("pyspark") is not None, reason="pyspark is there")
def test_without_pyspark_the_error_names_the_extra():
    asking(BadInput, r"spark: pyspark is not installed; pip install 'pitlake\[spark\]'")


def test_bad_input_gives_the_same_errors_as_a_session(present, tmp_path):
    lake = Lake(tmp_path / "lake")
    lake.start()
    asking(BadInput, "as_of: missing", as_of=None, lake=lake)
    for wrong in ("2024-05-29", "2024-05-29T17:00:00", datetime(2024, 5, 29)):  # noqa: DTZ001
        asking(BadInstant, "as_of: ", as_of=wrong, lake=lake)
    asking(BadInput, "as_of: is in the future", as_of=clock.now() + timedelta(days=1), lake=lake)
    asking(BadInput, "dataset: there is no dataset 'newz'; did you mean news", dataset="newz")
    asking(BadInput, "dataset: event_returns is shown in open mode only", dataset="event_returns")
    asking(BadInput, "version: 'x' is not a whole number", version="x", lake=lake)
    asking(LakeNotFound, "the lake has no version 7", version=7, lake=lake)
    asking(LakeNotFound, "there is no lake at", lake=tmp_path / "nothing")


SAID = [
    (
        "pyspark",
        "[DATA_SOURCE_NOT_FOUND] delta\nmore",
        BadInput,
        "spark: its session does not support Delta tables; make it",
    ),
    ("pyspark", "[PATH_NOT_FOUND] no x\nmore", LakeError, r"Spark could not read news of .*: \[PATH_NOT_FOUND\] no x$"),
    ("sqlglot", "MEDIAN", BadInput, "dataset: the view of news can't be expressed in Spark SQL; `pitlake export"),
]


@pytest.mark.parametrize(("library", "message", "error", "reply"), SAID)
def test_errors_of_spark_and_sqlglot_become_one_line(monkeypatch, tmp_path, library, message, error, reply):
    raised = {name: type(name, (Exception,), {}) for name in ("PySparkException", "SqlglotError")}
    for each in ("pyspark", "sqlglot"):
        monkeypatch.setitem(sys.modules, f"{each}.errors", SimpleNamespace(**raised))
    with pytest.raises(error, match=reply), _lake_errors(Lake(tmp_path), "news"):
        raise raised["PySparkException" if library == "pyspark" else "SqlglotError"](message)


def moments(lake: Lake, name: str, versions: list[int | None]) -> list[tuple[str, int | None]]:
    """Return instants that distinguish rows: around the rows' instants, and at the edges of a month in New York."""
    files = lake.snapshot().files(name)
    existing = sorted(
        {at for file in files for at in pq.read_table(file.path, columns=["available_at"])[0].to_pylist()}
    )
    existing = existing or [datetime(2024, 1, 1, tzinfo=timezone.utc)]
    month = clock.start_of_new_york_day(clock.new_york_day(existing[len(existing) // 2]).replace(day=1))
    edges = [month - MICROSECOND, month, datetime(1990, 1, 1, tzinfo=timezone.utc), clock.now()]
    near = {moment + step * MICROSECOND for moment in existing for step in (-1, 0, 1)}
    near |= {existing[0] - timedelta(days=number) for number in range(1, INSTANTS - len(near))}
    beside = sorted(near.difference(edges))
    some = INSTANTS - len(edges)
    result = [*edges, *(beside[(len(beside) - 1) * place // (some - 1)] for place in range(some))]
    return [(iso(moment), versions[number % len(versions)]) for number, moment in enumerate(result)]


def hashed(table: pa.Table) -> str:
    """Return the hash of the rows, sorted by all columns."""
    with calculator(rows=table) as sql:
        return sha256_of(sql.sql("FROM rows ORDER BY ALL").to_arrow_table().cast(table.schema))


def compared(cluster: Any, lake: Lake, name: str, versions: list[int | None]) -> int:
    """Compare every answer of Spark for a dataset with a session's. Return the number of compared rows."""
    request = moments(lake, name, versions)
    assert len({as_of for as_of, _ in request}) == INSTANTS
    question = {"lake": str(lake.root), "dataset": name, "moments": request, "zone": ZONES[SHOWN.index(name) % 2]}
    reply = {f"{name}{kind}": cluster.ask("rows", revisions=bool(kind), **question) for kind in ("", "_revisions")}
    counted = 0
    for number, (as_of, version) in enumerate(request):
        with connect(as_of, version=version, lake=lake, datasets=[name]) as session:
            for view, every_moment in reply.items():
                due = session.sql(f"FROM {view}").arrow()
                result = every_moment.filter(pc.equal(every_moment["asked"], number)).drop_columns("asked")
                assert (result.column_names, result.schema.types) == (due.column_names, due.schema.types)
                assert hashed(result.cast(due.schema)) == hashed(due), f"{view} as of {as_of}, version {version}"
                counted += len(due)
    return counted


@pytest.fixture(scope="module")
def spark_frames(cluster, tmp_path_factory):
    return lakes.build(tmp_path_factory.mktemp("spark") / "lake")


@pytest.fixture(scope="module")
def story(cluster, tmp_path_factory):
    return once(shared_folder(tmp_path_factory) / "story", "embedded")


@pytest.mark.long
@pytest.mark.parametrize("name", SHOWN)
def test_every_dataset_equals_that_of_a_session_at_six_instants(cluster, spark_frames, name):
    lake, (before, full, compacted, _undated) = spark_frames
    rows = compared(cluster, lake, name, [full, None, before, compacted])
    assert (rows > 0) == (name != "splits")


@pytest.mark.long
@pytest.mark.parametrize("name", HELD)
def test_every_sample_dataset_equals_that_of_a_session_at_six_instants(cluster, story, name):
    assert compared(cluster, story.lake, name, [None, story.first_version]) > 0


@pytest.mark.long
def test_months_and_files_that_came_later_are_not_opened(cluster, spark_frames):
    lake, (_, full, *_) = spark_frames
    question = {"lake": str(lake.root), "version": full, "as_of": "2024-05-31T20:00:00-04:00"}
    message = cluster.ask("plan", dataset="news", **question)["plan"][0].as_py()
    assert message.count("FileScan") == 2
    assert len(re.findall(r"PartitionFilters: \[[^]]*\(available_month#\d+ <= 2024-05\)", message)) == 2
    assert len(re.findall(r"PushedFilters: \[[^]]*LessThanOrEqual\(available_at,", message)) == 2


@pytest.mark.long
def test_the_snippet_on_the_page_shows_bars_of_the_sample_world(cluster, story):
    (snippet,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/spark.md").read_text(), re.DOTALL)
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{TOOLS}", "PITLAKE_LAKE": str(story.lake.root)}
    done = subprocess.run(
        [sys.executable, "-c", snippet], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert re.search(r"\| *QBRY *\|", done.stdout), done.stderr[-4000:]


@pytest.mark.long
@pytest.mark.skipif(not S3A.is_dir(), reason="Amazon's jars are not here: make spark S3A=1")
def test_a_lake_in_an_object_store_is_read_through_s3a_with_the_documented_settings(tmp_path, monkeypatch):
    if reason := why_not():
        pytest.skip(reason)
    page = (ROOT / "docs/spark.md").read_text()
    (package,) = re.findall(r"org\.apache\.hadoop:hadoop-aws:[0-9.]+", page)
    names = re.findall(r"`(spark\.hadoop\.fs\.s3a\.[a-z.]+)`", page)
    with object_store() as url:
        for name, value in settings(url).items():
            monkeypatch.setenv(name, value)
        lake = Lake("s3://lakes/spark")
        world.publish(lake, all_datasets()["prices"])
        running = Cluster(tmp_path, dict(zip(names, (url, "true", "us-east-1"), strict=True)), package)
        moments = [("2024-05-29T17:00:00-04:00", None), ("1990-01-01T00:00:00Z", None)]
        question = {"lake": "s3://lakes/spark", "dataset": "prices", "revisions": False, "zone": ZONES[0]}
        bars = running.ask("rows", moments=moments, **question)
        running.close()
        with connect(moments[0][0], lake=lake, datasets=["prices"]) as session:
            due = session.sql("FROM prices").arrow()
    assert len(due) > 0
    assert hashed(bars.drop_columns("asked").cast(due.schema)) == hashed(due)
