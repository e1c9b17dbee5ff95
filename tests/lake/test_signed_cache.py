"""Signatures of cached files: a file is used only if it is unchanged since it was signed."""

import pytest

from pitlake.lake.storage import signed_cache


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "cut.parquet"
    path.write_bytes(b"rows")
    signed_cache.sign(path)
    return path


def intact(path):
    """Return whether a file is intact, as checked by a process that has not read it yet."""
    signed_cache._trusted.clear()
    with path.open("rb") as file:
        return signed_cache.is_intact(path, file.fileno())


def test_a_signed_file_is_intact_even_after_a_rewrite_with_the_same_bytes(file):
    assert intact(file)
    file.write_bytes(b"rows")
    assert [intact(file), intact(file)] == [True, True]


def test_a_file_with_altered_bytes_or_another_files_signature_is_not_intact(file, tmp_path):
    (tmp_path / "other.parquet").write_bytes(b"rows")
    signed_cache.signature_path(tmp_path / "other.parquet").write_bytes(signed_cache.signature_path(file).read_bytes())
    assert not intact(tmp_path / "other.parquet")
    file.write_bytes(b"ROWS")
    assert not intact(file)


@pytest.mark.parametrize("signature", [b"", b"[]", b'["a", [1, 2, 3, 4]]', b'["a", 5, "b"]', b"{"])
def test_a_file_with_an_unreadable_signature_is_not_intact(file, signature):
    signed_cache.signature_path(file).write_bytes(signature)
    assert not intact(file)
