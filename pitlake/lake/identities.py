"""Which files of a dataset may hold rows like those of a stage, told from an index of hashes kept for each file.

An index is derived from its data file, made at the first question, and believed only while it is as it was made
(pitlake.lake.copies). It leaves files out and decides nothing: what is left is read and compared value by value.
"""

import hashlib
import json
import mmap
import os
import shutil
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from uuid import uuid4

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pitlake.contract import Dataset
from pitlake.lake import copies
from pitlake.lake.manifest import DataFile
from pitlake.lake.parallel import each
from pitlake.lake.query import calculator, columns, reading
from pitlake.lake.store import Store

FOLDER = "_lake/identities"
SUFFIX = ".hashes"
EVIDENCE = ("evidence",)

Hashes = npt.NDArray[np.uint64]


class LikelyFiles:
    """The files of a dataset in one lake version: all of them, or those that may hold rows like the staged ones."""

    def __init__(self, store: Store, dataset: Dataset, files: tuple[DataFile, ...], staged: pa.Table) -> None:
        self.all = files
        self._staged, self._folder = staged, store.path(f"{FOLDER}/{dataset.name}")
        evidence = EVIDENCE if dataset.evidence_names else ()
        every = (dataset.identity, dataset.thing, dataset.key, dataset.frozen, evidence)
        self._sets = tuple(dict.fromkeys(filter(None, every)))

    def holding(self, names: tuple[str, ...]) -> tuple[DataFile, ...]:
        """Every file with a row that has a staged one's values, nulls included, in these columns, and maybe others.

        names: the contract's identity, thing, key or frozen columns, or EVIDENCE where the contract names gaps by it.
        """
        return self._found[names]

    @cached_property
    def _found(self) -> dict[tuple[str, ...], tuple[DataFile, ...]]:
        if not self.all:
            return dict.fromkeys(self._sets, ())
        asked = _hashes("FROM staged", self._sets, staged=self._staged)
        meeting = each(lambda file: self._meets(file, asked), self.all)
        self._forget_others()
        return {
            names: tuple(file for file, meets in zip(self.all, meeting, strict=True) if meets[number])
            for number, names in enumerate(self._sets)
        }

    def _meets(self, file: DataFile, asked: Hashes) -> list[bool]:
        """Of each set of columns, whether the file has a hash that is asked for."""
        path = self._folder / self._name(file)
        with suppress(OSError), path.open("rb") as kept:
            if copies.as_made(path, kept.fileno()):
                with mmap.mmap(kept.fileno(), 0, access=mmap.ACCESS_READ) as bytes_of:
                    return _meet(np.frombuffer(bytes_of, np.uint64).reshape(len(self._sets), file.rows), asked)
        index = _hashes(f"FROM {reading([file])}", self._sets)
        with suppress(OSError):  # without it the next publish takes longer
            _keep(path, index)
        return _meet(index, asked)

    def _name(self, file: DataFile) -> str:
        """Of an index: the data file, and what was hashed by what."""
        made_of = json.dumps([self._sets, duckdb.__version__, file.rows, file.size])
        return f"{Path(file.path).stem}-{hashlib.sha256(made_of.encode()).hexdigest()[:8]}{SUFFIX}"

    def _forget_others(self) -> None:
        """Remove the indexes of files that this version does not have."""
        wanted = {self._name(file) for file in self.all}
        with suppress(OSError):
            for path in self._folder.iterdir():
                if path.name.removesuffix(copies.SUFFIX) not in wanted:
                    path.unlink(missing_ok=True)


def forget(store: Store, dataset: Dataset) -> None:
    """Give back the room that a dataset's indexes take; the next publish makes them again."""
    shutil.rmtree(store.path(f"{FOLDER}/{dataset.name}"), ignore_errors=True)


def _hashes(of: str, sets: tuple[tuple[str, ...], ...], **tables: pa.Table) -> Hashes:
    """A row for each set of columns: the hashes of all rows, sorted."""
    with calculator(**tables) as sql:
        found = sql.sql(f"SELECT {', '.join(f'hash({columns(names)})' for names in sets)} {of}").to_arrow_table()
    return np.sort(np.stack([column.to_numpy() for column in found.columns]))


def _meet(index: Hashes, asked: Hashes) -> list[bool]:
    return [_share(kept, wanted) for kept, wanted in zip(index, asked, strict=True)]


def _share(one: Hashes, other: Hashes) -> bool:
    """Whether two sorted rows have a hash in common."""
    few, many = sorted((one, other), key=len)
    places = np.minimum(np.searchsorted(many, few), len(many) - 1)
    return bool((many[places] == few).any())


def _keep(path: Path, index: Hashes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid4().hex}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(index.tobytes())
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        copies.vouch(path)
    finally:
        temporary.unlink(missing_ok=True)
