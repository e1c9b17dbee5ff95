"""The lake log: versions without gaps, pins merged with other writers' pins, and conflicts that are detected."""

import pytest

from pitlake.errors import LakeConflict, LakeError, LakeNotFound
from pitlake.lake.storage.log import LOG, LakeLog
from pitlake.lake.storage.store import Store

FACTS = {"operation": "publish", "run_id": "r", "dataset": "toys", "counts": {}}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


@pytest.fixture
def log(store):
    log = LakeLog(store)
    log.start()
    return log


def test_reading_the_head_of_a_log_that_was_not_started_raises_lake_not_found(store):
    with pytest.raises(LakeNotFound, match=r"there is no lake at .*pitlake mount"):
        LakeLog(store).head()


def test_starting_twice_changes_nothing(log):
    first = log.head()
    log.start()
    assert log.head() == first
    assert (first.version, first.operation, first.tables) == (0, "init", {})


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8, 9, 33])
def test_a_fresh_reader_finds_the_head_of_a_log_of_any_length(store, log, count):
    for number in range(count):
        log.append(log.head(), {"toys": number}, **FACTS)
    assert LakeLog(store).head().version == count
    assert [entry.version for entry in LakeLog(store).entries()] == list(range(count, -1, -1))


def test_an_entry_comes_back_as_it_was_written(store, log):
    entry = log.append(log.head(), {"toys": 3}, **{**FACTS, "counts": {"published": 2}})
    assert LakeLog(store).entry(1) == entry


def test_concurrent_entries_for_different_tables_are_merged(log):
    base = log.head()
    log.append(base, {"toys": 1}, **FACTS)
    entry = log.append(base, {"games": 5}, **FACTS)
    assert (entry.version, entry.parent, entry.tables) == (2, 1, {"toys": 1, "games": 5})


def test_an_entry_for_a_table_that_changed_meanwhile_is_a_conflict(log):
    base = log.head()
    log.append(base, {"toys": 1}, **FACTS)
    with pytest.raises(LakeConflict, match="toys"):
        log.append(base, {"toys": 2}, **FACTS)
    assert log.head().tables == {"toys": 1}


@pytest.mark.parametrize("version", [-1, 1, 99])
def test_a_version_that_never_existed_is_not_found(log, version):
    with pytest.raises(LakeNotFound, match=f"no version {version}; the newest is 0"):
        log.entry(version)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"version": 0}'])
def test_a_damaged_log_entry_raises_an_error(store, content):
    store.put_new(f"{LOG}/{0:020d}.json", content)
    with pytest.raises(LakeError, match="damaged"):
        LakeLog(store).head()


def test_a_missing_log_entry_raises_an_error(store, log):
    for number in range(2):
        log.append(log.head(), {"toys": number}, **FACTS)
    store.delete(f"{LOG}/{1:020d}.json")
    with pytest.raises(LakeError, match="missing"):
        log.entry(1)


@pytest.mark.parametrize(
    "reply", [False, LakeError("no answer came"), OSError("no answer came")], ids=["taken", "lake", "os"]
)
def test_a_writer_recognises_its_own_entry_when_the_stores_reply_is_lost(log, store, monkeypatch, reply):
    put = store.put_new

    def lost(key, content):
        put(key, content)
        if isinstance(reply, Exception):
            raise reply
        return reply

    monkeypatch.setattr(store, "put_new", lost)
    entry = log.append(log.head(), {"toys": 0}, **FACTS)
    assert (entry.version, log.head()) == (1, entry)


def test_an_identical_entry_from_another_writer_is_a_conflict(log, store, monkeypatch):
    base, put = log.head(), store.put_new
    other = LakeLog(Store(store.root))

    def overtaken(key, content):
        monkeypatch.setattr(store, "put_new", put)
        other.append(base, {"toys": 0}, **FACTS)
        return put(key, content)

    monkeypatch.setattr(store, "put_new", overtaken)
    with pytest.raises(LakeConflict):
        log.append(base, {"toys": 0}, **FACTS)
    assert log.head().version == 1


def test_the_error_says_when_it_is_unknown_whether_an_entry_was_written(log, store, monkeypatch):
    def gone(*_):
        raise LakeError("the store could not be reached")

    base = log.head()
    monkeypatch.setattr(log, "head", lambda: base)
    monkeypatch.setattr(store, "put_new", gone)
    monkeypatch.setattr(store, "read", gone)
    with pytest.raises(LakeError, match="it is unknown whether version 1 was published"):
        log.append(base, {"toys": 0}, **FACTS)
