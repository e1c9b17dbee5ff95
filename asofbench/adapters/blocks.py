"""FactBlock: a bundle of claims, read by `scan` as of an instant."""

import json
from datetime import datetime
from typing import Any

import factblock

from asofbench.adapters.base import Rewritten, Rows, Visible
from asofbench.model import Question, read


class FactBlock(Rewritten, Visible):
    """options: said (whether a claim is known from when it was said, as with --backfill, or only once loaded)."""

    def write(self, rows: Rows) -> None:
        """Write one bundle, in which a further delivery of a record supersedes the one before."""
        self.bundle = self.folder / "facts"
        nodes, edges = [], []
        before: dict[tuple[str, str], str] = {}
        for number, row in enumerate(map(self.typed, rows)):
            said, key, name = row["available_at"], (row["entity"], row["item"]), f"claim-{number}"
            if said is None:
                continue
            known = said if self.options.get("said") else max(said, row["loaded_at"])
            payload = {
                field: row[field] for field in ("entity", "item", "value", "extra") if row.get(field) is not None
            }
            node = {"id": name, "kind": "claim", "statement": row["text"], "payload": payload}
            nodes.append({**node, "asserted_at": said, "known_at": known})
            if key in before:
                edge = {"source_id": name, "target_id": before[key], "edge_type": "SUPERSEDES"}
                edges.append({**edge, "asserted_at": said, "known_at": known})
            before[key] = name
        factblock.write_bundle({"nodes": nodes, "edges": edges}, self.bundle)
        self.cached: tuple[datetime, Rows] | None = None

    def ask(self, question: Question) -> Any:
        """Return the counts of a scan and of its certificate, and the answers to questions about data."""
        if question.kind == "counts":
            scan = factblock.scan(self.bundle, as_of=read(question.as_of))
            return [scan.nodes.num_rows, scan.certificate.get("masked")]
        return super().ask(question)

    def visible(self, at: datetime) -> Rows:
        """Return the claims as of T that no other claim as of T supersedes."""
        if self.cached is None or self.cached[0] != at:
            self.cached = at, self._scanned(as_of=at)
        return self.cached[1]

    def visible_without_instant(self, at: datetime) -> Rows:
        """Return the claims of a scan without an instant."""
        return self._scanned()

    def visible_at_null(self) -> Rows:
        """Return the claims of a scan as of None."""
        return self._scanned(as_of=None)

    def _scanned(self, **when: Any) -> Rows:
        claims = factblock.scan(self.bundle, **when).nodes.to_pylist()
        current = [claim for claim in claims if claim["superseded_by"] is None]
        return [{**json.loads(claim["payload"]), "text": claim["statement"]} for claim in current]
