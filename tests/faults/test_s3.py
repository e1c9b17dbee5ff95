"""A small sample of the campaign's object store: lost and truncated responses, for each kind of file."""

import os
from datetime import timedelta

import pytest

from pitlake.errors import LakeError
from pitlake.lake import Lake
from tests.faults.proxy import CUT, LOST, REFUSED, Proxy, once
from tests.lake.world import TOY, Toy, publish, rows, utc
from tests.object_store import object_store, settings

NOON, SEEN = utc("2024-03-05T12:00:00-05:00"), utc("2024-06-01T12:00:00-04:00")
EVER = 10_000


@pytest.fixture(scope="module")
def proxy():
    with object_store() as store, Proxy(store) as proxy:
        yield proxy


@pytest.fixture
def url(proxy, monkeypatch, tmp_path):
    proxy.fault = lambda _method, _path: None
    proxy.done.clear()
    for name, value in (settings(proxy.url) | {"PITLAKE_CACHE": str(tmp_path / "cache")}).items():
        monkeypatch.setenv(name, value)
    return f"s3://lakes/{os.urandom(6).hex()}"


def elsewhere(monkeypatch, tmp_path, url):
    """Return the lake as another machine sees it, which has no copies of its files."""
    monkeypatch.setenv("PITLAKE_CACHE", str(tmp_path / "cache of another machine"))
    return Lake(url)


def rows_of(lake):
    """Return every row, after downloading the files."""
    lake.snapshot().fetch(lake.snapshot().files("toys"))
    return rows(lake)


@pytest.mark.parametrize(
    ("kind", "method", "part"),
    [
        (LOST, "PUT", "_lake/log"),
        (LOST, "PUT", "_delta_log"),
        (LOST, "PUT", "parquet"),
        (CUT, "GET", "_lake/log"),
        (CUT, "GET", "_delta_log"),
        (CUT, "GET", "parquet"),
    ],
)
def test_a_response_lost_or_cut_once_loses_no_data_and_is_reported_correctly(
    url, proxy, monkeypatch, tmp_path, kind, method, part
):
    publish(Lake(url), [Toy("a", "x", NOON)], SEEN)
    lake = elsewhere(monkeypatch, tmp_path, url)
    proxy.fault = once(kind, method, part)
    reply = publish(lake, [Toy("b", "x", NOON)], SEEN + timedelta(days=1))
    assert proxy.done == {kind: 1}
    assert (reply.total.published, reply.version, lake.head()) == (1, 2, 2)
    assert sorted(row.key for row in rows_of(lake)) == ["a", "b"]


@pytest.mark.parametrize(
    ("kind", "method", "part"), [(CUT, "GET", "_delta_log"), (REFUSED, "PUT", "_lake/log"), (LOST, "PUT", "_delta_log")]
)
def test_a_store_that_keeps_failing_is_a_one_line_error_and_publishes_nothing(
    url, proxy, monkeypatch, tmp_path, kind, method, part
):
    publish(Lake(url), [Toy("a", "x", NOON)], SEEN)
    lake = elsewhere(monkeypatch, tmp_path, url)
    proxy.fault = once(kind, method, part, EVER)
    with pytest.raises(LakeError) as reply:
        publish(lake, [Toy("b", "x", NOON)], SEEN + timedelta(days=1))
    assert "\n" not in str(reply.value)
    assert "\x1b" not in str(reply.value)
    assert "S3cret" not in str(reply.value)
    proxy.fault = lambda _method, _path: None
    assert [row.key for row in rows_of(Lake(url))] == ["a"]
    assert publish(lake, [Toy("b", "x", NOON)], SEEN + timedelta(days=1)).total.published == 1


@pytest.mark.parametrize(("kind", "method"), [(LOST, "PUT"), (CUT, "GET"), (LOST, "POST")])
def test_compaction_and_vacuum_survive_lost_and_cut_answers(url, proxy, monkeypatch, tmp_path, kind, method):
    for name in "abc":
        publish(Lake(url), [Toy(name, "x", NOON)], SEEN)
    before = rows_of(Lake(url))
    lake = elsewhere(monkeypatch, tmp_path, url)
    proxy.fault = once(kind, method, {"PUT": "_lake/log", "GET": "parquet", "POST": "delete"}[method])
    compacted = lake.compact(TOY, before="2025-01")
    vacuumed = lake.vacuum(timedelta(0), dry_run=False)
    assert proxy.done == {kind: 1}
    assert (compacted.changed, compacted.version, lake.head()) == (True, 4, 4)
    assert len(vacuumed.files) == compacted.files_before == 3
    assert rows_of(elsewhere(monkeypatch, tmp_path / "later", url)) == before
