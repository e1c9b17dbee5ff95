"""Controls: systems whose score is known beforehand. They prove that the graders can pass and can fail."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from asofbench.adapters.base import Rows, Unable, Visible, newest
from asofbench.model import DATA, DOORS, Question, read, written


class Oracle(Visible):
    """A system that knows when each row became public, including rewrites and back-dated figures.

    options: careful (whether it reads stamps so), and `off`, its deviation: none, silent (answers nothing), failing
    (refuses everything), everything (ignores the instants), early (also shows rows that become public within two days),
    late (leaves out rows that became public exactly at T), stamps (a rewrite counts from its stamp).
    """

    def load(self, rows: Rows) -> None:
        """Keep rows with the instant from which each is public."""
        seen_items: set[tuple[str, str]] = set()
        self.rows: list[tuple[datetime, Any]] = []
        for row in map(self.typed, rows):
            stamp, loaded, name = row["available_at"], row["loaded_at"], (row["entity"], row["item"])
            if stamp is not None:
                is_first = name not in seen_items or self.options.get("off") == "stamps"
                self.rows.append((stamp if is_first else max(stamp, loaded), row))
            seen_items.add(name)

    def retract(self, loaded_at: datetime) -> None:
        """Leave out the delivery's rows."""
        self._keep(lambda row: row["loaded_at"] != loaded_at)

    def erase(self, entity: str) -> None:
        """Leave out the entity's rows."""
        self._keep(lambda row: row["entity"] != entity)

    def _keep(self, is_kept: Callable[[Any], bool]) -> None:
        if self.options.get("off") != "everything":
            self.rows = [(public, row) for public, row in self.rows if is_kept(row)]

    def visible(self, at: datetime, loaded_by: datetime | None = None) -> Rows:
        """Return the newest row per entity and item."""
        return newest([row for public, row in self.rows if self._shows(public, at, row["loaded_at"], loaded_by)])

    visible_by = visible

    def _shows(self, public: datetime, at: datetime, loaded: datetime, loaded_by: datetime | None) -> bool:
        off = self.options.get("off")
        if off == "everything":
            return True
        if loaded_by is not None and loaded > loaded_by:
            return False
        return public < at if off == "late" else public <= at + timedelta(days=2 if off == "early" else 0)

    def ask(self, question: Question) -> Any:
        """Return rows as the deviation shows them."""
        off = self.options.get("off")
        if off == "failing":
            raise RuntimeError("this control refuses everything")
        if off == "silent":
            return None
        if question.kind in DATA:
            return super().ask(replace(question, kind="rows") if question.kind == "hostile" else question)
        if question.kind not in DOORS:
            raise Unable(question.kind)
        seen = self.visible(read(question.as_of))
        if question.kind == "clock":
            return written(read(question.as_of) + timedelta(days=off in ("early", "everything")))
        return len(seen) if question.kind == "counts" else [row["text"] + str(row["value"]) for row in seen]
