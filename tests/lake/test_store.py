"""The store: where the lake is, and small files that are written once and for all."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pitlake.errors import BadInput
from pitlake.lake.store import SCRATCH, Store, resolve_root


def test_the_root_is_the_argument_then_the_variable_then_the_working_directory(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert resolve_root(None) == tmp_path / ".pitlake" / "lake"
    monkeypatch.setenv("PITLAKE_LAKE", "/from/variable")
    assert resolve_root(None) == Path("/from/variable")
    assert resolve_root("/given") == Path("/given")


@pytest.mark.parametrize("url", ["file:///a%20b/lake", "file://localhost/a%20b/lake"])
def test_a_file_url_is_a_directory(url):
    assert resolve_root(url) == Path("/a b/lake")


@pytest.mark.parametrize("url", ["s3://bucket/lake", "file://elsewhere/lake"])
def test_other_urls_are_refused(url):
    with pytest.raises(BadInput, match="lake"):
        resolve_root(url)


def test_put_new_writes_once_and_leaves_no_scratch(tmp_path):
    store = Store(tmp_path)
    assert store.put_new("a/b.json", b"first")
    assert not store.put_new("a/b.json", b"second")
    assert store.read("a/b.json") == b"first"
    assert list(store.walk(SCRATCH)) == []


def test_of_many_writers_of_one_key_exactly_one_wins(tmp_path):
    store = Store(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda number: store.put_new("key", str(number).encode()), range(64)))
    assert [str(number).encode() for number, first in enumerate(won) if first] == [store.read("key")]


def test_walking_a_missing_folder_finds_nothing(tmp_path):
    assert list(Store(tmp_path).walk("nowhere")) == []


def test_deleting_what_is_gone_is_no_error(tmp_path):
    Store(tmp_path).delete("gone")
