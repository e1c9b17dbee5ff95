"""The store: the location of a lake, and small files that are written once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pitlake.errors import BadInput, LakeError
from pitlake.lake.storage import signed_cache
from pitlake.lake.storage.root import open_store
from pitlake.lake.storage.store import SCRATCH, Store


def test_the_root_is_the_argument_then_the_variable_then_the_working_directory(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert open_store(None).root == tmp_path / ".pitlake" / "lake"
    monkeypatch.setenv("PITLAKE_LAKE", "/from/variable")
    assert open_store(None).root == Path("/from/variable")
    assert open_store("/given").root == Path("/given")


@pytest.mark.parametrize("url", ["file:///a%20b/lake", "file://localhost/a%20b/lake"])
def test_a_file_url_is_a_directory(url):
    assert open_store(url).root == Path("/a b/lake")


@pytest.mark.parametrize(
    "root",
    [
        "s3:///lake",
        "s3://key:secret@bucket/lake",
        "gs://bucket/lake",
        "file://elsewhere/lake",
        "http://[x",
        "~nosuchuser/x",
        Path("~nosuchuser/x"),
    ],
)
def test_an_invalid_or_unsupported_lake_location_is_refused(root, monkeypatch):
    monkeypatch.setenv("PITLAKE_LAKE", str(root))
    for inputs in (root, None):
        with pytest.raises(BadInput, match=r"lake: .*give "):
            open_store(inputs)


@pytest.mark.parametrize("root", [5, b"lake", ["lake"]])
def test_a_lake_location_that_is_not_a_string_or_path_is_refused(root):
    with pytest.raises(BadInput, match=f"lake: is a {type(root).__name__}; give "):
        open_store(root)


def test_put_new_writes_once_and_leaves_no_scratch(tmp_path):
    store = Store(tmp_path)
    assert store.put_new("a/b.json", b"first")
    assert not store.put_new("a/b.json", b"second")
    assert store.read("a/b.json") == b"first"
    assert list(store.walk(SCRATCH)) == []


def test_exactly_one_of_many_concurrent_writers_of_a_key_wins(tmp_path):
    store = Store(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda number: store.put_new("key", str(number).encode()), range(64)))
    assert [str(number).encode() for number, first in enumerate(won) if first] == [store.read("key")]


def test_an_unreadable_file_raises_a_lake_error(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(LakeError, match="refused or could not be reached"):
        Store(tmp_path).read("a/b.json")


def test_the_key_that_signs_cached_files_is_accessible_to_its_user_only(tmp_path, monkeypatch):
    monkeypatch.setattr("platformdirs.user_state_dir", lambda name: str(tmp_path / name))
    key = signed_cache._key.__wrapped__()
    (remaining,) = (tmp_path / "pitlake").iterdir()
    assert (remaining.read_bytes(), remaining.stat().st_mode & 0o777, remaining.parent.stat().st_mode & 0o777) == (
        key,
        0o600,
        0o700,
    )


def test_walking_a_missing_folder_finds_nothing(tmp_path):
    assert list(Store(tmp_path).walk("nowhere")) == []


def test_deleting_a_missing_file_is_not_an_error(tmp_path):
    Store(tmp_path).delete("gone")


def test_a_failed_write_raises_a_single_line_error_that_names_the_path(tmp_path):
    (tmp_path / "_lake").mkdir()
    (tmp_path / SCRATCH).write_text("in the way")
    with pytest.raises(LakeError, match=f"{tmp_path}.*Not a directory") as reply:
        Store(tmp_path).put_new("a/b.json", b"first")
    assert "\n" not in str(reply.value)
    with pytest.raises(FileNotFoundError):
        Store(tmp_path).read("a/b.json")


def test_the_newest_numbered_file_is_found_from_any_starting_number(tmp_path):
    store = Store(tmp_path)
    assert store.newest("log") == -1
    for newest in range(40):
        store.put_new(f"log/{newest:020d}.json", b"")
        assert {store.newest("log", existing) for existing in range(-1, newest + 1)} == {newest}
