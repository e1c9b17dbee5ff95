"""Controls: systems whose score is known beforehand. They prove that the graders can pass and can fail."""

from datetime import datetime, timedelta
from typing import Any

from asofbench.adapters.base import Rows, Unable, Visible
from asofbench.model import DATA, DOORS, Question, read, written
from asofbench.reading import careful


class Oracle(Visible):
    """A system that knows when each row became public, including rewrites and back-dated figures.

    options: `off`, its deviation: none, silent (answers nothing), failing (refuses everything), everything (ignores the
    instant), early (also shows rows that become public at T+1 µs), late (leaves out rows that became public exactly at
    T).
    """

    def load(self, rows: Rows) -> None:
        """Return rows with the instant from which each is public."""
        seen_items: set[tuple[str, str]] = set()
        self.rows: list[tuple[datetime, Any]] = []
        for row in sorted(rows, key=lambda row: row["loaded_at"]):
            row_time, loaded, name = careful(row), read(row["loaded_at"]), (row["entity"], row["item"])
            if row_time is not None and "extra" not in row:
                self.rows.append((max(row_time, loaded) if name in seen_items else row_time, row))
            seen_items.add(name)

    def visible(self, at: datetime) -> Rows:
        """Return the newest row per entity and item."""
        newest_rows = {}
        for public, row in sorted(self.rows, key=lambda pair: pair[0]):
            if self._shows(public, at):
                newest_rows[row["entity"], row["item"]] = row
        return list(newest_rows.values())

    def _shows(self, public: datetime, at: datetime) -> bool:
        off = self.options.get("off")
        if off == "late":
            return public < at
        return off == "everything" or public <= at + timedelta(days=2 if off == "early" else 0)

    def ask(self, question: Question) -> Any:
        """Return rows as the deviation shows them."""
        off = self.options.get("off")
        if off == "failing":
            raise RuntimeError("this control refuses everything")
        if off == "silent":
            return None
        if question.kind in DATA:
            return super().ask(question)
        if question.kind not in DOORS:
            raise Unable(question.kind)
        seen = self.visible(read(question.as_of))
        if question.kind == "clock":
            return written(read(question.as_of) + timedelta(days=off in ("early", "everything")))
        return len(seen) if question.kind == "counts" else [row["text"] + str(row["value"]) for row in seen]
