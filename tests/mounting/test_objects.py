"""Files and Delta tables in an object store, a real S3 server on the loopback."""

import os

import obstore
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from obstore.store import S3Store

from pitlake import cli
from pitlake.lake.mounting.source import find_origin
from tests.mounting.test_mount import EARLY, estimates, mounted, rows
from tests.object_store import BUCKET, object_store, settings


@pytest.fixture(scope="module")
def endpoint():
    with object_store() as url:
        yield url


@pytest.fixture
def bucket(endpoint, monkeypatch):
    for name, value in settings(endpoint).items():
        monkeypatch.setenv(name, value)
    return S3Store(BUCKET, endpoint=endpoint, client_options={"allow_http": True})


def put(bucket, folder, key, table):
    pq.write_table(table, folder / "own.parquet")
    obstore.put(bucket, key, folder / "own.parquet")


def test_files_folders_and_patterns_of_an_object_store_can_be_mounted(bucket, lake, tmp_path):
    put(bucket, tmp_path, "days/1.parquet", estimates().slice(0, 1))
    put(bucket, tmp_path, "days/2.parquet", estimates().slice(1, 1))
    put(bucket, tmp_path, "days/later/3.parquet", estimates().slice(2))
    assert mounted(lake, "s3://lakes/days/1.parquet", partial=True, midnights="instants").rows == 1
    for place in ("s3://lakes/days", "s3://lakes/days/*.parquet", "s3://lakes/d*s/[12].parquet"):
        assert lake.mount(place, "estimates").rows == 2
    assert lake.mount("s3://lakes/days/*/*.parquet", "estimates").published == 1
    assert rows(lake, EARLY) == [("A", "q1", 1.0), ("A", "q2", 2.0)]
    before = find_origin("s3://lakes/days").state()
    assert find_origin("s3://lakes/days").state() == before
    put(bucket, tmp_path, "days/2.parquet", estimates(eps=[1.0, 2.5, 3.0]).slice(1, 1))
    assert find_origin("s3://lakes/days").state() != before


def test_a_delta_table_in_an_object_store_can_be_mounted(bucket, endpoint, lake):
    options = {"aws_allow_http": "true", "aws_endpoint_url": endpoint, **{k: os.environ[k] for k in settings(endpoint)}}
    write_deltalake("s3://lakes/delta", estimates(), storage_options=options)
    assert mounted(lake, "s3://lakes/delta").published == 3
    write_deltalake("s3://lakes/delta", estimates(ticker=["C"] * 3), mode="append", storage_options=options)
    assert lake.mount("s3://lakes/delta", "estimates").published == 3


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("s3://lakes/nowhere.parquet", "the table: there is no file s3://lakes/nowhere.parquet"),
        ("s3://nowhere/own.parquet", "the table: s3://nowhere/own.parquet can't be read: no such bucket"),
        ("s3://", "the table: s3:// without a plain bucket"),
    ],
)
def test_the_error_for_a_missing_object_or_bucket_names_its_url(bucket, lake, capfd, place, message):
    assert cli.invoke(["mount", place, "--name", "own", "--key", "ticker", "--lake", lake.location]) == 2
    assert capfd.readouterr().err.startswith(f"pitlake: {message}")
