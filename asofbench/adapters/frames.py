"""Data frames: pandas' merge_asof and polars' join_asof, on the event's time or on the instant of publication."""

from datetime import datetime
from functools import lru_cache
from typing import Any

from asofbench.adapters.base import Rewritten, Rows, Visible, naive

KEYS = ["entity", "item"]


class Frame(Rewritten, Visible):
    """options: on (event or available_at), library (pandas or polars)."""

    def write(self, rows: Rows) -> None:
        """Create one frame, sorted by the join column; records without it can't be joined and are left out."""
        on = self.options["on"]
        typed = [{name: naive(value) for name, value in row.items()} for row in self.dated(rows)]
        self.rows = sorted((row for row in typed if row[on] is not None), key=lambda row: (row[on], row["loaded_at"]))
        self.keys = sorted({(row["entity"], row["item"]) for row in self.rows})
        self.visible = lru_cache(maxsize=8)(self._visible)  # type: ignore[method-assign]

    def visible_by(self, at: datetime, loaded_by: datetime) -> Rows:
        """Return the join of every key at T with the rows that were loaded by then."""
        rows = [row for row in self.rows if row["loaded_at"] <= naive(loaded_by)]
        return self._joined([{"entity": entity, "item": item, "at": naive(at)} for entity, item in self.keys], rows)

    def visible(self, at: datetime) -> Rows:
        """Return the join of every key at T."""
        return self._visible(at)

    def visible_without_instant(self, at: datetime) -> Rows:
        """Return the join of keys that have no column for T."""
        return self._joined([{"entity": entity, "item": item} for entity, item in self.keys])

    def visible_at_null(self) -> Rows:
        """Return the join of keys whose T is null."""
        return self._joined([{"entity": entity, "item": item, "at": None} for entity, item in self.keys])

    def _visible(self, at: datetime) -> Rows:
        return self._joined([{"entity": entity, "item": item, "at": naive(at)} for entity, item in self.keys])

    def _joined(self, left: list[dict[str, Any]], rows: Rows | None = None) -> Rows:
        joined = (self._pandas if self.options["library"] == "pandas" else self._polars)(
            left, self.rows if rows is None else rows
        )
        names = ("entity", "item", "value", "text", "extra")
        return [
            {name: row[name] for name in names if isinstance(row.get(name), str | float)}
            for row in joined
            if row["text"] == row["text"] and row["text"] is not None
        ]

    def _pandas(self, left: list[dict[str, Any]], rows: Rows) -> list[dict[str, Any]]:
        import pandas as pd

        right = pd.DataFrame(rows).astype({self.options["on"]: "datetime64[us]"})
        left_frame = pd.DataFrame(left).astype({"at": "datetime64[us]"})
        joined = pd.merge_asof(left_frame, right, left_on="at", right_on=self.options["on"], by=KEYS)
        return [dict(row) for row in joined.to_dict("records")]

    def _polars(self, left: list[dict[str, Any]], rows: Rows) -> list[dict[str, Any]]:
        import polars as pl

        right = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col(self.options["on"]).set_sorted())
        left_frame = pl.DataFrame(left).with_columns(pl.col("at").cast(pl.Datetime("us")).set_sorted())
        joined = left_frame.join_asof(right, left_on="at", right_on=self.options["on"], by=KEYS, check_sortedness=False)
        return joined.to_dicts()
