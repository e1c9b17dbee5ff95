"""DuckLake: a table that each delivery updates, read at a snapshot, by SQL or as a catalog that is attached at one."""

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_ducklake

from asofbench.adapters.base import Adapter, Rows, batches
from asofbench.adapters.duck import COLUMNS, answer, attacked, shown
from asofbench.model import Question, read, written

_EXTENSION = next(Path(duckdb_extension_ducklake.__file__).parent.rglob("*.duckdb_extension"))


class DuckLake(Adapter):
    """options: attached (the catalog is attached at T; otherwise every query states T). One snapshot per batch on
    arrival, and T is the machine's time then.
    """

    def load(self, rows: Rows) -> None:
        """Update the table with every batch: a further delivery of a record replaces the one before."""
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.execute(f"LOAD '{_EXTENSION}'; SET TimeZone = 'UTC'")
        self._attach()
        names = [name for name in (*COLUMNS, "extra") if name != "extra" or not self.careful]
        columns = ", ".join(f"{name} {COLUMNS.get(name, 'VARCHAR')}" for name in names)
        self.connection.execute(f"CREATE TABLE lake.facts ({columns.replace('TIMESTAMP', 'TIMESTAMPTZ')})")
        self.snapshots = [(datetime.min.replace(tzinfo=timezone.utc), datetime.now(timezone.utc))]
        places = ", ".join("?" for _ in names)
        for arrival, part in batches(rows):
            typed = {(row["entity"], row["item"]): row for row in map(self.typed, part)}
            self.connection.execute("BEGIN")
            self.connection.executemany(
                "DELETE FROM lake.facts WHERE entity = ? AND item = ?", [list(key) for key in typed]
            )
            values = [[row.get(name) for name in names] for row in typed.values()]
            self.connection.executemany(f"INSERT INTO lake.facts VALUES ({places})", values)
            self.connection.execute("COMMIT")
            self.snapshots.append((arrival, datetime.now(timezone.utc)))
        self.at = ""

    def _attach(self, more: str = "") -> None:
        place = self.folder / "lake.ducklake"
        self.connection.execute(f"ATTACH 'ducklake:{place}' AS lake (DATA_PATH '{self.folder}/data'{more})")

    def ask(self, question: Question) -> Any:
        """Ask SQL of the table as of the snapshot at T."""
        now = self._moment(question.as_of)
        if self.options.get("attached") and question.as_of != self.at:
            self.connection.execute("DETACH lake")
            self._attach(f", SNAPSHOT_TIME '{now}'")
            self.at = question.as_of
        spine = tuple((entity, item, self._moment(at) if at else "") for entity, item, at in question.spine)
        moved = replace(question, spine=spine)
        if question.loaded_by and not self.options.get("attached"):
            moved = replace(moved, loaded_by=self._moment(question.loaded_by))
        if question.kind == "hostile":
            moved = attacked(self._sql, moved, self._names(now))
            self._changed()
            return self.ask(replace(moved, as_of=question.as_of))
        return answer(self._sql, moved, self._names(now) | self._bounded(question.as_of))

    def retract(self, loaded_at: datetime) -> None:
        """Delete the rows of the delivery; snapshots before the deletion have them."""
        self._changed(f"DELETE FROM lake.facts WHERE loaded_at = TIMESTAMPTZ '{written(loaded_at)}'")

    def erase(self, entity: str) -> None:
        """Delete the entity's rows, expire the snapshots before, and remove their files."""
        self._changed(
            f"DELETE FROM lake.facts WHERE entity = '{entity}'",
            "CALL ducklake_expire_snapshots('lake', older_than => now())",
            "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
        )

    def _changed(self, *statements: str) -> None:
        self.connection.execute("DETACH lake")
        self._attach()
        for statement in statements:
            self.connection.execute(statement)
        self.at = ""

    def _bounded(self, at: str) -> dict[str, str]:
        """Return the name of the rows dated up to T at another snapshot; a catalog attached at T has no later ones."""
        rows = f"(FROM lake.facts AT (TIMESTAMP => {{by}} AT TIME ZONE 'UTC') WHERE available_at <= TIMESTAMPTZ '{at}')"
        return {} if self.options.get("attached") else {"bounded": rows}

    def _moment(self, at: str) -> str:
        """Return the machine's time when the last delivery up to an instant was written."""
        return written(max(done for arrival, done in self.snapshots if arrival <= read(at)))

    def _names(self, now: str) -> dict[str, str]:
        """Return the names for questions and attacks: the newest snapshot is below that at T."""
        at = "lake.facts AT (TIMESTAMP => {at})"
        newest = at.format(at="now()")
        files = sorted((self.folder / "data").rglob("*.parquet"))
        return {
            "view": "lake.facts" if self.options.get("attached") else at.format(at=f"TIMESTAMPTZ '{now}'"),
            "without": "lake.facts", "lookup": at, "type": "TIMESTAMPTZ", "base": newest,
            "file": str(files[0] if files else self.folder / "lake.ducklake"), "folder": str(self.folder),
        }  # fmt: skip

    def _sql(self, text: str) -> list[tuple[Any, ...]]:
        return [tuple(shown(cell) for cell in row) for row in self.connection.execute(text).fetchall()]

    def close(self) -> None:
        """The connection."""
        self.connection.close()
