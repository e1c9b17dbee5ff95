"""Incidents, for people: runs that failed or got no response from a provider, with time and cause.

These files are informational; no version needs them. The alert sensors write incidents, because a run that died cannot.
The quality report reads them.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal

from pitlake import clock
from pitlake.errors import LakeError
from pitlake.lake.storage.store import Store

INCIDENTS = "_lake/incidents"


@dataclass(frozen=True, kw_only=True)
class Incident:
    """A run that failed or lacks responses. `reasons` are lines with names and causes, never values."""

    happened_at: datetime
    run_id: str
    job: str
    kind: Literal["failed", "unanswered"]
    reasons: tuple[str, ...]

    def to_json(self) -> bytes:
        return json.dumps({**asdict(self), "happened_at": clock.iso(self.happened_at)}, indent=1).encode()

    @classmethod
    def from_json(cls, content: bytes) -> "Incident":
        """Parse an incident. Raises LakeError if a file is not a check report."""
        try:
            fields = json.loads(content)
            happened_at = clock.instant(fields["happened_at"], "happened_at")
            return cls(**{**fields, "happened_at": happened_at, "reasons": tuple(fields["reasons"])})
        except (ValueError, TypeError, KeyError):
            raise LakeError("a file of an incident is damaged; remove the file, nothing depends on it") from None


def write(store: Store, incident: Incident) -> None:
    """Write one incident, unless it exists. Raises LakeError when the lake can't be written."""
    moment = f"{clock.micros(incident.happened_at):020d}"
    try:
        store.put_new(f"{INCIDENTS}/{moment}.{incident.run_id}.json", incident.to_json())
    except OSError as problem:
        raise LakeError(f"incidents can't be written to {store.location}: {type(problem).__name__}") from None


def read_all(store: Store) -> Iterator[Incident]:
    """Yield the incidents, newest first. They are read one by one."""
    for key in sorted((file.key for file in store.walk(INCIDENTS)), reverse=True):
        yield Incident.from_json(store.read(key))
