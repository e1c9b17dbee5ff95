"""The adapter of pitlake, by its ordinary Python interface: rows pass the gate, are published, and are read in sealed
sessions.
"""

from contextlib import suppress
from datetime import datetime
from typing import Any

import pyarrow as pa

from asofbench.adapters.base import Adapter, Rows, batches
from asofbench.adapters.duck import asked, shown
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
        Column(name="event", type="instant", meaning="Subject of the record."),
        Column(name="value", type="float", meaning="Number."),
        Column(name="text", type="string", meaning="Text."),
    ),
    key=("entity", "item"),
    entity="entity",
    source_tag="provider_metadata",
    revised_at="available_at",
    partitioned=False,
    gap_rules=(UNDATED,),
)


class Pitlake(Adapter):
    """options: the isolation of the sessions."""

    session: Session | None = None

    def load(self, rows: Rows) -> None:
        """Publish one run per batch, observed when it was loaded."""
        self.lake = Lake(self.folder / "lake", allow_drift="the worlds of AsOfBench change more than sources do")
        self.catalogue = Catalogue({FACTS.name: FACTS})
        for number, (came, part) in enumerate(batches(rows)):
            self._publish(f"run{number}", came, part)
        self.at = ""

    def _publish(self, run: str, came: datetime, part: Rows) -> None:
        row_values, gaps = {}, []
        for place, row in enumerate(part):
            typed = self.typed(row)
            evidence = f"asofbench:{typed['entity']}:{typed['item']}"
            if typed["available_at"] is None:
                gaps.append(StagedGap("unverifiable", UNDATED.reason, f"{evidence}:{place}"))
                continue
            stamps = {"available_at_source": "provider_metadata", "evidence": evidence}
            del typed["loaded_at"]
            row_values[typed["entity"], typed["item"], typed["available_at"]] = {**typed, **stamps}
        table = pa.Table.from_pylist(list(row_values.values()), staged_schema(FACTS))
        with self.lake.stage(FACTS, run) as stage:
            stage.poll(entities=sorted({row["entity"] for row in part}))
            stage.add(None, table, gaps, extracted=len(row_values) + len(gaps))
            self.lake.publish(stage, observed_at=came)

    def ask(self, question: Question) -> Any:
        """Run SQL in a session as of the question's instant."""
        if question.as_of != self.at:
            self.close()
            self.session = connect(
                question.as_of, lake=self.lake, catalogue=self.catalogue, isolation=self.options["isolation"]
            )
            self.at = question.as_of
        if question.kind == "forgotten":
            self._open_without_instant()
        return asked(self._sql, question, self._names())

    def _open_without_instant(self) -> None:
        """Replace the session with one without an instant. If that is refused, callers keep the session as of T."""
        with suppress(BadInput):
            opened = connect(lake=self.lake, catalogue=self.catalogue, isolation=self.options["isolation"])
            self.close()
            self.session, self.at = opened, ""

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
            self.session = None
