"""What is left of an erased entity in a system's files: its words, as bytes or in the pages of Parquet."""

import importlib
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from asofbench.adapters.base import Unable

Words = set[str]


def words_of(entity: str, rows: Iterable[dict[str, Any]]) -> Words:
    """Return the words that only texts about this entity contain."""
    texts = " ".join(row["text"] for row in rows if row["entity"] == entity)
    return {word.strip(".;,") for word in texts.split() if word.startswith("zq")}


def remaining(folder: Path, words: Collection[str]) -> Words:
    """Return those of the words that are in a file of the folder."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {word for word in words if any(word.encode() in content for content in map(_content, files))}


def erased(adapter: Any, entity: str, words: Collection[str]) -> Words:
    """Erase an entity, and return its words that are in the files after it.

    Raises Unable if there are files, but the words can't be read in them before: then nothing is proven.
    """
    before = remaining(adapter.folder, words)
    has_files = any(file.is_file() for file in adapter.folder.rglob("*"))
    adapter.erase(entity)
    if has_files and before != set(words):
        raise Unable("its files can't be searched")
    return remaining(adapter.folder, words)


def _content(file: Path) -> bytes:
    content = file.read_bytes()
    return content + _texts_of_parquet(file) if content.startswith(b"PAR1") else content


def _texts_of_parquet(file: Path) -> bytes:
    """Return the texts of a Parquet file by the library that is installed, if there is one."""
    with suppress(ImportError):
        table = importlib.import_module("pyarrow.parquet").ParquetFile(file).read()
        return "\n".join(str(cell) for column in table.columns for cell in column.to_pylist()).encode()
    with suppress(ImportError):
        rows = importlib.import_module("duckdb").sql(f"FROM read_parquet('{file}')").fetchall()
        return "\n".join(str(row) for row in rows).encode()
    return b""
