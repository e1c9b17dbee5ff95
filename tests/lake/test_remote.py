"""A lake in an object store, on a local S3 server: same answers, no lost commit, and a mirror that may be deleted.

`PITLAKE_RACES=100 pytest tests/lake/test_remote.py -k racing` races two writers over 200 publishes.
"""

import os
import shutil
from datetime import timedelta
from itertools import count
from pathlib import Path

import polars as pl
import pytest

from assets.external import all_feeds
from assets.feeds.feed import Scope
from assets.feeds.runs import run_feed
from pitlake.answers import receipts
from pitlake.errors import BadInput, ClockWentBack, LakeError, LakeNotFound, VersionVacuumed
from pitlake.lake import Lake
from pitlake.lake.storage.remote import RemoteStore
from pitlake.session import connect
from resources.http.capture import CaptureStore, Request
from resources.http.client import HttpClient
from tests.answers import Played, captured, happened
from tests.doors.conftest import small
from tests.lake.test_writers import FEW_ATTEMPTS, RUNS, as_long_as_it_takes, assert_whole, race, slow_beside_quick
from tests.lake.world import TOY, Toy, publish, rows, utc
from tests.object_store import object_store, settings

NUMBERS = count()
NOON, SEEN = utc("2024-03-05T12:00:00-05:00"), utc("2024-06-01T12:00:00-04:00")
QUESTIONS = (
    "FROM news ORDER BY ALL",
    "FROM news_revisions ORDER BY ALL",
    "SELECT count(*), max(available_at) FROM news",
    "FROM gaps ORDER BY ALL",
)


@pytest.fixture(scope="module")
def endpoint():
    with object_store() as url:
        yield url


@pytest.fixture
def url(endpoint, monkeypatch, tmp_path):
    for name, value in (settings(endpoint) | {"PITLAKE_CACHE": str(tmp_path / "cache")}).items():
        monkeypatch.setenv(name, value)
    return f"s3://lakes/of/test-{next(NUMBERS)}"


def another_machine(monkeypatch, tmp_path):
    monkeypatch.setenv("PITLAKE_CACHE", str(tmp_path / "cache of another machine"))


def test_answers_and_receipts_are_those_of_the_same_lake_in_a_directory(url, tmp_path, monkeypatch):
    near, far = small(tmp_path / "lake"), small(url)
    another_machine(monkeypatch, tmp_path)
    for as_of in ("2024-03-02T15:00:00Z", "2024-04-11T15:00:00Z", "2025-01-01T00:00:00Z"):
        with connect(as_of, lake=near.location) as here, connect(as_of, lake=far.location) as there:
            for sql in QUESTIONS:
                item, other = here.sql(sql), there.sql(sql)
                assert item.receipt == other.receipt
                assert item.arrow().equals(other.arrow())
                assert receipts.replay(item.receipt, far).arrow().equals(item.arrow())


def test_a_session_downloads_no_file_that_lies_wholly_after_its_as_of(url, tmp_path, monkeypatch):
    small(url)
    another_machine(monkeypatch, tmp_path)
    as_of = utc("2024-03-02T15:00:00Z")
    with connect(as_of, lake=url):
        files = Lake(url).snapshot().files("news")
    brought = [Path(file.path).exists() for file in files]
    assert brought == [file.lo <= as_of for file in files]
    assert not all(brought)


def test_runs_on_two_machines_converge_and_a_lost_mirror_loses_no_rows(url, tmp_path, monkeypatch):
    lake = Lake(url)
    assert publish(lake, [Toy("one", "x", NOON)], SEEN).changed
    shutil.rmtree(lake.root)
    another_machine(monkeypatch, tmp_path)
    again = publish(Lake(url), [Toy("one", "x", NOON), Toy("two", "x", NOON)], SEEN)
    assert (again.total.unchanged, again.total.published, again.version) == (1, 1, 2)
    shutil.rmtree(Lake(url).root)
    Lake(url).snapshot().fetch(Lake(url).snapshot().files("toys"))
    assert sorted(row.key for row in rows(Lake(url))) == ["one", "two"]


def test_vacuum_after_compaction_keeps_the_files_of_protected_versions(url):
    lake = Lake(url)
    for name in "abc":
        publish(lake, [Toy(name, "x", NOON)], SEEN)
    assert (compacted := lake.compact(TOY, before="2025-01")).changed
    remaining = lake.vacuum(timedelta(0), keep_versions=[3], dry_run=False)
    assert remaining.files == ()
    gone = lake.vacuum(timedelta(0), dry_run=False)
    assert len(gone.files) == compacted.files_before == 3
    assert sorted(row.key for row in rows(Lake(url))) == ["a", "b", "c"]
    with pytest.raises(VersionVacuumed):
        Lake(url).snapshot(3)


@as_long_as_it_takes
def test_racing_writers_do_not_lose_or_duplicate_rows(url):
    lake = Lake(url)
    published = race(lake, "own_and_common", "own_and_common")
    expected = {f"{number}{name}" for number in range(RUNS) for name in ("p", "q", " common")}
    assert sorted(row.key for row in rows(lake)) == sorted(expected)
    assert sum(published) == len(expected)
    assert_whole(lake, len(expected))


def test_a_slow_writer_succeeds_beside_a_fast_writer_that_never_pauses(url, monkeypatch):
    assert 2 <= slow_beside_quick(Lake(url), monkeypatch) <= FEW_ATTEMPTS


def test_other_engines_read_the_same_rows(url):
    from datafusion import SessionContext
    from deltalake import DeltaTable

    lake = Lake(url)
    publish(lake, [Toy(name, f"text of {name}", NOON) for name in "abc"], SEEN)
    publish(lake, [Toy("a", "other text", NOON)], SEEN + timedelta(days=1))
    store = RemoteStore(url)
    table = DeltaTable(store.table_uri("tables/toys"), storage_options=store.table_options)
    ours = sorted((row.key, row.text, row.available_at) for row in rows(lake))
    keys = {name.lower(): os.environ[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION")}
    polars = pl.scan_delta(store.table_uri("tables/toys"), storage_options=store.table_options | keys)
    assert sorted(polars.select("key", "text", "available_at").collect().rows()) == ours
    context = SessionContext()
    context.register_dataset("toys", table.to_pyarrow_dataset())
    result_rows = context.sql("SELECT key, text, available_at FROM toys").to_arrow_table().to_pylist()
    assert sorted(tuple(row.values()) for row in result_rows) == ours


def test_an_unreachable_store_raises_a_clear_error_without_secrets(url, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(LakeError, match="could not be reached") as reply:
        Lake(url).head()
    assert "S3cretS3cret" not in str(reply.value)


def test_the_error_for_a_missing_lake_names_its_url(url):
    with pytest.raises(LakeNotFound, match=url):
        Lake(url).head()


@pytest.mark.parametrize("bad", ["s3:///lake", "s3://key:secret@lakes/x", "s3://lakes/x?versionId=1"])
def test_an_invalid_s3_url_is_refused_and_the_error_hides_its_secrets(bad):
    with pytest.raises(BadInput) as reply:
        Lake(bad)
    assert "secret" not in str(reply.value)


def test_captures_in_the_object_store_can_be_replayed_on_another_machine(url, tmp_path, monkeypatch):
    feed, scope, lake = all_feeds()["polygon_splits"], Scope(tickers=("QBRY",)), Lake(url)
    played, store = Played(feed.provider), CaptureStore.of(lake.location)
    happened(feed, scope, played.fetch)
    played.keep(store)
    counts = []
    for run in ("here", "there"):
        with HttpClient(feed.provider, CaptureStore.of(url), "replay") as client:
            counts.append(run_feed(feed, scope, client, Lake(url), run_id=run).outcome.total)
        another_machine(monkeypatch, tmp_path)
    assert [(each.published, each.unchanged) for each in counts] == [(1, 0), (0, 1)]
    there = CaptureStore.of(url)
    assert there.runs() == [("here", "polygon_splits"), ("there", "polygon_splits")]
    assert [*there.every("polygon")] == [*store.every("polygon")] != []


def test_a_damaged_local_copy_of_a_capture_is_downloaded_again(url, tmp_path, monkeypatch):
    store, provider = CaptureStore.of(url), all_feeds()["polygon_splits"].provider
    remaining = store.put(captured(provider, Request("/notes"), b'{"a": 1}'))
    [body] = (path for path in (store.root / "bodies").rglob("*") if path.is_file() and path.suffix != ".sum")
    body.write_bytes(b'{"a": 2}')
    assert [*store.newest_first("polygon", remaining.request_key)] == [remaining]
    shutil.rmtree(store.root)
    store.put(remaining)
    another_machine(monkeypatch, tmp_path)
    assert [*CaptureStore.of(url).newest_first("polygon", remaining.request_key)] == [remaining]


def test_version_at_resolves_instants_for_a_lake_in_an_object_store(url, monkeypatch):
    lake, at = Lake(url), utc("2026-03-01T09:00:00Z")
    times = []
    for number in range(5):
        monkeypatch.setattr("pitlake.clock.now", lambda at=at, number=number: at + number * timedelta(hours=1))
        publish(lake, [Toy("a", f"text {number}", NOON)], SEEN + timedelta(days=number))
        times.append(lake.entry().committed_at)
    fresh = Lake(url)
    assert [fresh.version_at(moment) for moment in times] == [1, 2, 3, 4, 5]
    assert [fresh.version_at(moment - timedelta(microseconds=1)) for moment in times[1:]] == [1, 2, 3, 4]
    assert len(rows(fresh, fresh.version_at(times[2]))) == 3
    monkeypatch.setattr("pitlake.clock.now", lambda: at)
    with pytest.raises(ClockWentBack):
        publish(fresh, [Toy("a", "later", NOON)], SEEN + timedelta(days=9))
