"""Four weaker designs in common use, which show that the attack suite can fail.

Each opens DuckDB in this process over a world's files and answers `run(sql)` like the runner of the sealed session.
pitlake uses none of them.
"""

import json
from datetime import datetime
from pathlib import Path

import duckdb

from tests.wall.worlds import World

_LOCK = "SET enable_external_access=false; SET lock_configuration=true"


class Weaker:
    """DuckDB in process with views over the whole lake. Subclasses define how T is enforced."""

    def __init__(self, world: World, as_of: datetime, scratch: Path) -> None:
        self.world, self.as_of, self.scratch = world, as_of, scratch
        self.connection = duckdb.connect(
            config={"threads": 1, "memory_limit": "1GB", "python_enable_replacements": False}
        )
        self.connection.execute("SET TimeZone='UTC'")
        self.connection.execute(f"CREATE MACRO as_of() AS TIMESTAMPTZ '{as_of.isoformat()}'")
        for dataset in world.snapshot.tables:
            if "/" not in dataset:
                self.bind(dataset)
        self.lock()

    def bind(self, dataset: str) -> None:
        """Create `<dataset>_revisions` and `<dataset>`."""
        self.connection.execute(f"CREATE {self.secure}VIEW {dataset}_revisions AS {self.rows(dataset)}")
        self.connection.execute(f"CREATE VIEW {dataset} AS FROM {dataset}_revisions")

    secure = ""

    def rows(self, dataset: str) -> str:
        """Return a query that should return only rows up to T."""
        bound = f"TIMESTAMPTZ '{self.as_of.isoformat()}'"
        return f"FROM read_parquet({self.world.files(dataset)!r}) WHERE available_at <= {bound}"

    def lock(self) -> None:
        """Lock the connection, leaving the lake's folder readable."""
        self.connection.execute(f"SET allowed_directories=['{self.world.root}']; {_LOCK}")

    def run(self, sql: str) -> str:
        """Return the rows or the error as text."""
        try:
            return repr(self.connection.execute(sql).fetchmany(1000))
        except Exception as error:  # noqa: BLE001 - an attacker reads its message
            return f"{type(error).__name__}: {error}"

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


class VariableView(Weaker):
    """A view that filters by a session variable."""

    def rows(self, dataset: str) -> str:
        """Filter by the variable."""
        return f"FROM read_parquet({self.world.files(dataset)!r}) WHERE available_at <= getvariable('as_of')"

    def lock(self) -> None:
        """Set the variable, then lock."""
        self.connection.execute(f"SET VARIABLE as_of = TIMESTAMPTZ '{self.as_of.isoformat()}'")
        super().lock()


class SecureView(Weaker):
    """A SECURE VIEW of DuckDB 2 over the whole lake."""

    secure = "SECURE "


class AstAllowList(Weaker):
    """Views over the whole lake, and a parser that passes only SELECTs over the views."""

    _readers = frozenset(
        {"read_parquet", "parquet_scan", "read_csv", "read_csv_auto", "read_json", "read_text", "read_blob"}
    )

    def run(self, sql: str) -> str:
        """Run a statement, unless it names another table or a known reader."""
        tree = json.loads(duckdb.execute("SELECT json_serialize_sql($1)", [sql]).fetchall()[0][0])
        if tree.get("error"):
            return "refused: not a SELECT"
        if not self._allowed(tree):
            return "refused: not a table of this session"
        return super().run(sql)

    def _allowed(self, node: object) -> bool:
        if isinstance(node, list):
            return all(self._allowed(child) for child in node)
        if not isinstance(node, dict):
            return True
        if node.get("type") == "BASE_TABLE" and "/" in node.get("table_name", ""):
            return False
        if node.get("function_name") in self._readers:
            return False
        return all(self._allowed(child) for child in node.values())


class InProcessFileList(Weaker):
    """Access by allowed_paths to exactly the files with rows up to T, in the caller's own process."""

    def rows(self, dataset: str) -> str:
        """Return a query over whole files up to T, and over rewritten files that straddle T."""
        files = []
        for file in self.world.snapshot.files(dataset):
            if file.hi <= self.as_of:
                files.append(file.path)
            elif file.lo <= self.as_of:
                copy = self.scratch / f"{dataset}-{len(files)}.parquet"
                remaining = f"FROM '{file.path}' WHERE available_at <= TIMESTAMPTZ '{self.as_of.isoformat()}'"
                self.connection.execute(f"COPY ({remaining}) TO '{copy}'")
                files.append(str(copy))
        self.bound = [*getattr(self, "bound", []), *files]
        return f"FROM read_parquet({files!r}, hive_partitioning=false)"

    def lock(self) -> None:
        """Allow exactly the bound files, then lock."""
        self.connection.execute(f"SET allowed_paths={self.bound!r}; {_LOCK}")


DESIGNS = (VariableView, SecureView, AstAllowList, InProcessFileList)
