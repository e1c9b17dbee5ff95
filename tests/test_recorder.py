"""The recorder: a file is whole or absent, and a lock lasts as long as its file is open."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from pitlake.recorder import drafted, lock, write_whole


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_concurrent_writers_of_a_file_leave_one_whole_content_and_no_draft(tmp_path):
    contents = [bytes([number]) * 99_999 for number in range(64)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda content: write_whole(tmp_path / "file", content), contents))
    (content,) = files(tmp_path).values()
    assert content in contents


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_block_that_raises_leaves_the_old_file_and_no_draft(tmp_path, overwrite):
    def interrupted():
        with drafted(tmp_path / "file", overwrite=overwrite) as draft:
            draft.write(b"half of")
            raise KeyboardInterrupt

    write_whole(tmp_path / "file", b"old")
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert files(tmp_path) == {"file": b"old"}


def test_a_durable_draft_is_forced_to_disk_before_it_gets_its_path(tmp_path, monkeypatch):
    path, synced = tmp_path / "file", []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append((os.fstat(file).st_size, path.exists())))
    with drafted(path, durable=True) as draft:
        draft.write(b"rows")
    assert (synced, path.read_bytes()) == ([(4, False)], b"rows")


def test_a_lock_is_released_when_its_file_is_closed(tmp_path):
    with (tmp_path / "lock").open("w") as first, (tmp_path / "lock").open("w") as second:
        assert (lock(first), lock(second)) == (True, False)
        first.close()
        assert lock(second)
