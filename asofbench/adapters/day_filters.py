"""The filters of arkleon and vintage-mcp, which compare dates, on made rows: their own data come from a service."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from asofbench.adapters.base import Rewritten, Rows, Visible, newest
from asofbench.reading import NEW_YORK


class DayFilter(Rewritten, Visible):
    """options: library (arkleon or vintage). A row counts from its day in New York."""

    def write(self, rows: Rows) -> None:
        """Create the library's records."""
        dated = [row for row in self.dated(rows) if row["available_at"] is not None]
        self.records = [
            (row, (self._fact if self.options["library"] == "arkleon" else self._observation)(row)) for row in dated
        ]

    def visible(self, at: datetime) -> Rows:
        """Return the newest record per entity and item of those that the filter passes on T's day."""
        return self._passed(_day(at))

    def visible_at_null(self) -> Rows:
        """Return the newest records that the filter passes without a date."""
        return self._passed(None)

    def _passed(self, day: str | None) -> Rows:
        passed = {id(record) for record in self._filtered([record for _, record in self.records], day)}
        return newest([row for row, record in self.records if id(record) in passed])

    def _filtered(self, records: list[Any], day: str | None) -> Iterable[Any]:
        if self.options["library"] == "arkleon":
            import arkleon

            return list(arkleon.as_of(records, day))
        from vintage.envelope import visible_at

        return list(visible_at(records, day))

    def _fact(self, row: dict[str, Any]) -> Any:
        import arkleon

        return arkleon.Fact(
            cik=0, tag=row["item"], taxonomy=row["entity"], value=row["value"], unit="USD", period_start=None,
            period_end=str(row["event"].date()), instantaneous=True, form="10-Q", filed=_day(row["available_at"]),
            accession=row["text"],
        )  # fmt: skip

    def _observation(self, row: dict[str, Any]) -> Any:
        from vintage.envelope import row as observed

        return observed(
            entity=row["entity"], field=row["item"], observed_at=str(row["event"].date()), value=row["value"],
            source=row["text"], source_url="", known_at=_day(row["available_at"]),
        )  # fmt: skip


def _day(at: datetime) -> str:
    return str(at.astimezone(NEW_YORK).date())
