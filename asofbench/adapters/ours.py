"""The adapter of pitlake, by its ordinary Python interface: rows pass the gate, are published, and are read in sealed
sessions.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from asofbench.adapters.base import Adapter, Rows, Unable, batches
from asofbench.adapters.duck import answer, attacked, shown
from asofbench.model import Question
from pitlake.contract import Column, Dataset, GapRule
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.stage import StagedGap, staged_schema
from pitlake.session.api import connect
from pitlake.session.contracts import Catalogue
from pitlake.session.session import Session

UNDATED = GapRule(type="unverifiable", reason="undated", when="the source states no instant")
FACTS = Dataset(
    name="facts",
    title="Records of a source",
    summary="Every record, with the instant that its source states.",
    availability="The stated instant, read as late as the source's documentation allows.",
    columns=(
        Column(name="entity", type="string", required=True, meaning="Company, series or desk."),
        Column(name="item", type="string", required=True, meaning="What of it."),
        Column(name="stated", type="instant", required=True, meaning="The stated instant."),
        Column(name="event", type="instant", meaning="Subject of the record."),
        Column(name="value", type="float", meaning="Number."),
        Column(name="text", type="string", meaning="Text."),
    ),
    key=("entity", "item"),
    entity="entity",
    identity=("entity", "item", "stated"),
    thing=("entity", "item"),
    newer_by=("stated",),
    trusts_dates=False,
    source_tag="provider_metadata",
    partitioned=False,
    gap_rules=(UNDATED,),
)
TEXTS = ("entity", "item", "event", "text", "extra", "stated", "ends", "updated")
COLUMNS = pa.schema([("value", pa.float64()), *((name, pa.string()) for name in TEXTS)])


class Pitlake(Adapter):
    """options: the isolation of the sessions."""

    session: Session | None = None
    at = "", ""
    catalogue: Catalogue | None = None
    repeats: str | None = None

    def __init__(self, folder: Path, options: Mapping[str, Any]) -> None:
        super().__init__(folder, options)
        self.runs: dict[datetime, str] = {}

    def load(self, rows: Rows) -> None:
        """Publish one run per batch, observed when it was loaded."""
        self.lake = Lake(self.folder / "lake", allow_drift="the worlds of AsOfBench change more than sources do")
        self.catalogue = Catalogue({FACTS.name: FACTS})
        for arrival, part in batches(rows):
            with patch("pitlake.clock.now", lambda arrival=arrival: arrival):
                self.runs[arrival] = f"run{len(self.runs)}"
                self._publish(self.runs[arrival], arrival, part)

    def _publish(self, run: str, arrival: datetime, part: Rows) -> None:
        row_values, gaps = {}, []
        for place, row in enumerate(part):
            typed = self.typed(row)
            evidence = f"asofbench:{typed['entity']}:{typed['item']}"
            if typed["available_at"] is None:
                gaps.append(StagedGap("unverifiable", UNDATED.reason, f"{evidence}:{place}"))
                continue
            stamps = {"stated": typed["available_at"], "available_at_source": "provider_metadata", "evidence": evidence}
            del typed["loaded_at"]
            row_values[typed["entity"], typed["item"], typed["available_at"]] = {**typed, **stamps}
        table = pa.Table.from_pylist(list(row_values.values()), staged_schema(FACTS))
        with self.lake.stage(FACTS, run) as stage:
            stage.poll(entities=sorted({row["entity"] for row in part}))
            stage.add(None, table, gaps, extracted=len(row_values) + len(gaps))
            self.lake.publish(stage, observed_at=arrival)

    def retract(self, loaded_at: datetime) -> None:
        """Retract the run of the delivery, as `pitlake retract` does."""
        if loaded_at not in self.runs:
            raise Unable("retract")
        self.close()
        contracts = {**self.lake.contracts(), FACTS.name: FACTS} if self.catalogue else self.lake.contracts()
        with patch.object(Lake, "contracts", lambda _: contracts):  # as in the catalogue
            self.lake.retract(self.runs[loaded_at], "a wrong delivery", repeats=self.repeats)

    def ask(self, question: Question) -> Any:
        """Run SQL in a session as of the question's instant."""
        if (question.as_of, question.loaded_by) != self.at:
            self.close()
            self.session = self._opened(question.as_of, known_by=question.loaded_by or None)
            self.at = question.as_of, question.loaded_by
        if question.kind == "forgotten":
            with suppress(BadInput):  # if a session without an instant is refused, callers keep the one as of T
                opened = self._opened()
                self.close()
                self.session = opened
        if question.kind == "hostile":
            question = attacked(self._sql, question, self._names())
            self.close()
            self.session = self._opened(question.as_of)
        return answer(self._sql, replace(question, loaded_by=""), self._names())

    def _opened(self, at: str | None = None, known_by: str | None = None) -> Session:
        isolation = self.options["isolation"]
        return connect(None, at, known_by=known_by, lake=self.lake, catalogue=self.catalogue, isolation=isolation)

    def _sql(self, text: str) -> list[tuple[Any, ...]]:
        result_rows = self.session.sql(text).rows() if self.session else []
        return [tuple(shown(cell) for cell in row) for row in result_rows]

    def _names(self) -> dict[str, str]:
        """Return the names for attacks: the revisions are below the view, and the files are the lake's."""
        files = sorted(self.lake.root.rglob("*.parquet"))
        return {
            "view": "facts", "base": "facts_revisions", "history": "facts_revisions", "stamp": "available_at",
            "type": "TIMESTAMPTZ", "file": str(files[0]), "folder": str(self.lake.root),
        }  # fmt: skip

    def close(self) -> None:
        """The session."""
        if self.session is not None:
            self.session.close()
            self.session, self.at = None, ("", "")


class Mounted(Pitlake):
    """`pitlake.mount` with its defaults and its questions answered. After each delivery the table is mounted
    as it is then: the last row of each record. options: once (all rows in one table, as of a history bought today).
    """

    repeats = "withdraw"
    """A retraction asks: the table still has the wrong rows at later mounts."""

    def load(self, rows: Rows) -> None:
        """Mount the table after each delivery, or once."""
        self.lake = Lake(self.folder / "lake")
        key = ("entity", "item", "stated") if self.options.get("once") else ("entity", "item")
        table: dict[tuple[Any, ...], dict[str, Any]] = {}
        parts = [(datetime.now(timezone.utc), rows)] if self.options.get("once") else batches(rows)
        for arrival, part in parts:
            for row in part:
                table[tuple(row.get(name) for name in key)] = {name: row.get(name) for name in COLUMNS.names}
            frame = pa.Table.from_pylist(list(table.values()), COLUMNS)
            with patch("pitlake.clock.now", lambda arrival=arrival: arrival):
                # It refuses times without a zone, and a column of times of which some are midnights, until it is told.
                # Of columns with times after `stated` it asks whether they are plans or hindsight.
                self.lake.mount(
                    frame,
                    "facts",
                    key=["entity", "item"],
                    available_at="stated",
                    not_before=["ends", "updated"],
                    timezone="America/New_York",
                    midnights="end",
                )
            self.runs[arrival] = self.lake.entry().run_id
