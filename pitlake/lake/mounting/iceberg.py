"""Apache Iceberg tables in a folder or in a catalog that pyiceberg is configured for."""

import re
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from pitlake.errors import BadInput
from pitlake.lake.mounting.rows import Rows, copy_rows
from pitlake.lake.mounting.tables import choose_table

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

SCHEME = "iceberg"
METADATA = "*.metadata.json"
_NUMBER = re.compile(r"v?(\d+)")


@dataclass(frozen=True)
class IcebergTable:
    """An Iceberg table. place: its folder, or iceberg://<catalog>. name: <namespace>.<table>, in a catalog."""

    place: str
    name: str | None

    def exists(self) -> bool:
        """Return whether there is an Iceberg table in this folder."""
        return any(Path(self.place, "metadata").glob(METADATA))

    def state(self) -> Hashable:
        """Return the address of the table's newest metadata. Raises BadInput if it can't be read."""
        with problems(self.place):
            return str(self._table().metadata_location)

    def read(self, connection: duckdb.DuckDBPyConnection, scratch: Path) -> Rows:
        """Copy the table's newest snapshot to `scratch` and return its rows. Raises BadInput."""
        with problems(self.place):
            table = self._table()
            snapshot = table.current_snapshot()
            label = f"{table.name()[-1]}-snapshot-{snapshot.snapshot_id if snapshot else 0}"
            connection.register("iceberg", table.scan().to_arrow_batch_reader())
            return copy_rows(connection, "iceberg", scratch, label)

    def _table(self) -> "Table":
        if self.place.startswith(f"{SCHEME}://"):
            catalog = catalog_of(self.place)
            names = [".".join(entry) for space in catalog.list_namespaces() for entry in catalog.list_tables(space)]
            return catalog.load_table(choose_table(self.name, names))
        from pyiceberg.table import StaticTable

        by_number: dict[int, list[Path]] = {}
        for file in Path(self.place, "metadata").glob(METADATA):
            if found_number := _NUMBER.match(file.name):
                by_number.setdefault(int(found_number[1]), []).append(file)
        newest = by_number[max(by_number)] if by_number else []
        if len(newest) != 1:
            problem = f"{self.place} has {len(newest)} newest metadata files"
            raise BadInput("the table", problem, f"name the table in its catalog: {SCHEME}://CATALOG")
        return StaticTable.from_metadata(str(newest[0]))


def catalog_of(url: str) -> "Catalog":
    """Return the catalog of an iceberg:// URL, by pyiceberg's configuration."""
    from pyiceberg.catalog import load_catalog

    return load_catalog(url.partition("://")[2].partition("/")[0])


@contextmanager
def problems(place: str, field: str = "the table") -> Iterator[None]:
    """Turn pyiceberg's errors into BadInput."""
    from pyiceberg import exceptions
    from sqlalchemy.exc import SQLAlchemyError

    classes = (kind for kind in vars(exceptions).values() if isinstance(kind, type))
    own = (kind for kind in classes if issubclass(kind, Exception))
    kinds: tuple[type[Exception], ...] = (SQLAlchemyError, OSError, ValueError, *own)
    try:
        yield
    except kinds as error:
        problem = f"{place} can't be used: {(str(error) or type(error).__name__).splitlines()[0]}"
        raise BadInput(field, problem, "check the address and pyiceberg's configuration") from error
