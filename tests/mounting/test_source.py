"""Reading a table before it is mounted, and the errors if it cannot be read."""

import json
from datetime import datetime, timedelta
from types import SimpleNamespace

import obstore
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import MemoryStore

from pitlake import cli
from pitlake.errors import BadInput, MachineExhausted
from pitlake.lake.mounting import objects
from pitlake.lake.mounting.contract import Mount
from pitlake.lake.mounting.postgres import PostgresColumn, parse_url
from pitlake.lake.mounting.source import opened
from tests.mounting.test_mount import estimates


@pytest.mark.parametrize(
    "frame",
    [
        pd.Series([1], name="ticker"), pd.DataFrame({"eps": [1, "x"]}),
        pd.DataFrame([[1, 2]], columns=["eps", "eps"]),
    ],
    ids=["a series", "two types", "two columns of one name"],
)  # fmt: skip
def test_a_frame_that_arrow_cannot_read_is_refused(frame):
    with pytest.raises(BadInput, match="the table: is not a frame that Arrow can read"), opened(frame):
        pass


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_without_a_zone_are_refused_in_any_unit(lake, unit):
    at = pa.array([datetime(2024, 2, 15, 16)] * 3, pa.timestamp(unit))  # noqa: DTZ001
    with pytest.raises(BadInput, match="timezone: published_at has timestamps without"):
        lake.mount(estimates(published_at=at), "estimates", key=["ticker"], available_at="published_at")


def test_a_lag_is_a_duration_in_words():
    for lag, delay in (("", timedelta()), ("1 day", timedelta(days=1)), ("90 Minutes", timedelta(minutes=90))):
        assert Mount.delay.func(SimpleNamespace(lag=lag)) == delay
    with pytest.raises(BadInput, match="lag: 'soon' is not a duration"):
        Mount.delay.func(SimpleNamespace(lag="soon"))


@pytest.mark.parametrize("shortage", [None, MachineExhausted("memory", "the table", "torn.parquet", "is full")])
def test_a_machine_shortage_is_reported_instead_of_a_bad_file(monkeypatch, tmp_path, shortage):
    (tmp_path / "torn.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr("pitlake.machine.exhausted", lambda *_: shortage)
    with pytest.raises(type(shortage) if shortage else BadInput), opened(str(tmp_path / "torn.parquet")):
        pass


def test_a_pattern_of_an_object_store_may_have_wildcards_in_any_folder(monkeypatch):
    bucket = MemoryStore()
    for key in ("days/1.parquet", "days/later/2.parquet", "dots/2.parquet", "others/1.parquet"):
        obstore.put(bucket, key, b"")
    monkeypatch.setattr(objects, "open_bucket", lambda *_: bucket)
    keys = [key for key, _ in objects.RemoteFiles("s3://lakes/d*s/[12].parquet").state()]
    assert keys == ["days/1.parquet", "dots/2.parquet"]


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
def test_a_postgres_date_outside_the_supported_years_is_read_as_minus_infinity(kind):
    column = PostgresColumn.of("seen", kind, False, -1)
    assert (
        column.text == """CASE WHEN "seen" < '0001-01-01' OR "seen" >= '10000-01-01' THEN '-infinity' ELSE "seen" END"""
    )


@pytest.mark.parametrize("url", ["postgresql://desk:a@b@host/prices", "postgresql://desk:a/b@host/prices"])
def test_a_url_with_an_unescaped_password_is_refused_with_the_escapes_to_use(url):
    message = "is a URL that Postgres can't read; write special characters in it, such as @ and /, as %40 and %2F"
    with pytest.raises(BadInput, match=f"the table: {message}"):
        parse_url(url, "the table")


def test_mount_reports_its_result_as_json(tmp_path, capfd):
    pq.write_table(estimates(), tmp_path / "e.parquet")
    own = ["--name", "estimates", "--key", "ticker,period", "--lake", str(tmp_path / "lake")]
    assert cli.invoke(["mount", str(tmp_path / "e.parquet"), *own, "--format", "json"]) == 0
    [mounted] = json.loads(capfd.readouterr().out)
    assert (mounted["name"], mounted["rows"], mounted["published"]) == ("estimates", 3, 3)
