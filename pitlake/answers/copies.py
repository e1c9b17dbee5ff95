"""Destinations of a copied session: Delta tables below a folder or a prefix, or Iceberg tables of a catalog."""

from typing import Literal, Protocol

import pyarrow as pa
from deltalake import write_deltalake
from deltalake.exceptions import DeltaError

from pitlake import machine
from pitlake.errors import BadInput, LakeError
from pitlake.lake.mounting.iceberg import SCHEME, catalog_of, problems
from pitlake.lake.storage.root import open_store
from pitlake.lake.storage.store import Store

DELTA, ICEBERG = "delta", "iceberg"
NAMESPACE, CATALOG = "lake", "catalog.db"
"""The namespace of a copy in a folder, and the file of its catalog."""


class Target(Protocol):
    """A destination for the tables of a copy."""

    def create(self, name: str, schema: pa.Schema) -> None:
        """Make an empty table. Raises an error if it exists."""
        ...

    def append(self, name: str, rows: pa.Table) -> None:
        """Add rows to a table, which is created if necessary."""
        ...

    def clear(self) -> None:
        """Remove everything."""
        ...


def open_target(target: str, form: str) -> Target:
    """Return an empty target. Raises BadInput."""
    if not target:
        raise BadInput("--to", "is empty", "name a folder or a prefix")
    if target.startswith(f"{SCHEME}://"):
        if form != ICEBERG:
            raise BadInput("--to", f"{target} is an Iceberg catalog", "add --format iceberg")
        return _InCatalog(target)
    if form == ICEBERG and "://" in target:
        next_step = "name a folder, or iceberg://catalog/namespace for a catalog whose tables are there"
        raise BadInput("--to", f"an Iceberg catalog can't be created at {target}", next_step)
    try:
        store = open_store(target)
    except BadInput as problem:
        raise BadInput("--to", problem.problem, problem.next_step) from None
    if next(store.walk(""), None) is not None:
        raise BadInput("--to", "already contains files", "name a folder or a prefix that is empty or new")
    return _InFolder(target, store) if form == ICEBERG else _Deltas(store)


class _Deltas:
    """A folder or prefix with one Delta table per name."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create(self, name: str, schema: pa.Schema) -> None:
        self._put(name, schema.empty_table(), "error")

    def append(self, name: str, rows: pa.Table) -> None:
        self._put(name, rows, "append")

    def _put(self, name: str, rows: pa.Table, mode: Literal["error", "append"]) -> None:
        store, whole = self._store, rows.combine_chunks()  # Delta writes several chunks in any order
        try:
            write_deltalake(store.table_uri(name), whole, mode=mode, storage_options=store.table_options)
        except (DeltaError, OSError) as problem:
            if shortage := machine.exhausted(problem, "the copy", store.location):
                raise shortage from None
            raise LakeError(f"{store.location} could not be written: {str(problem).splitlines()[0]}") from problem

    def clear(self) -> None:
        for file in list(self._store.walk("")):
            self._store.delete(file.key)


class _InCatalog:
    """Tables in a new namespace of a pyiceberg catalog. url: iceberg://<catalog>/<namespace>."""

    def __init__(self, url: str) -> None:
        self._place, self._space = url, url.partition("://")[2].partition("/")[2]
        if not self._space:
            raise BadInput("--to", f"{url} names no namespace", "write iceberg://CATALOG/NAMESPACE")
        with problems(url, "--to"):
            self._catalog = catalog_of(url)
            self._catalog.create_namespace(self._space)

    def create(self, name: str, schema: pa.Schema) -> None:
        with problems(self._place, "--to"):
            self._catalog.create_table((*self._space.split("."), name), schema)

    def append(self, name: str, rows: pa.Table) -> None:
        with problems(self._place, "--to"):
            table = self._catalog.create_table_if_not_exists((*self._space.split("."), name), rows.schema)
            if len(rows):
                table.append(rows)

    def clear(self) -> None:
        for name in self._catalog.list_tables(self._space):
            self._catalog.purge_table(name)
        self._catalog.drop_namespace(self._space)


class _InFolder(_InCatalog):
    """Tables below a folder, with a catalog in an SQLite file in the same folder."""

    def __init__(self, folder: str, store: Store) -> None:
        from pyiceberg.catalog.sql import SqlCatalog

        root = store.root
        root.mkdir(parents=True, exist_ok=True)
        self._place, self._space, self._store = folder, NAMESPACE, store
        with problems(folder, "--to"):
            self._catalog = SqlCatalog("copy", uri=f"sqlite:///{root / CATALOG}", warehouse=root.as_uri())
            self._catalog.create_namespace(NAMESPACE)

    def clear(self) -> None:
        self._catalog.close()
        for file in list(self._store.walk("")):
            self._store.delete(file.key)
