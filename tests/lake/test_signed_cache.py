"""Signatures of cached files: a file that is as it was signed is taken, and no other one."""

import os

import pytest

from pitlake.lake.storage import signed_cache


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "cut.parquet"
    path.write_bytes(b"rows")
    signed_cache.sign(path)
    return path


def intact(path):
    """Ask as another process would, which has looked at no file yet."""
    signed_cache._trusted.clear()
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return signed_cache.is_intact(path, descriptor)
    finally:
        os.close(descriptor)


def test_a_file_is_taken_as_it_was_signed_even_if_it_was_copied_over_itself(file):
    assert intact(file)
    file.write_bytes(b"rows")
    assert [intact(file), intact(file)] == [True, True]


def test_a_file_with_other_bytes_or_the_signature_of_another_is_not_taken(file, tmp_path):
    (tmp_path / "other.parquet").write_bytes(b"rows")
    signed_cache.signature_path(tmp_path / "other.parquet").write_bytes(signed_cache.signature_path(file).read_bytes())
    assert not intact(tmp_path / "other.parquet")
    file.write_bytes(b"ROWS")
    assert not intact(file)


@pytest.mark.parametrize("signature", [b"", b"[]", b'["a", [1, 2, 3, 4]]', b'["a", 5, "b"]', b"{"])
def test_a_signature_that_can_not_be_read_is_none(file, signature):
    signed_cache.signature_path(file).write_bytes(signature)
    assert not intact(file)
