"""What happened to runs, kept for people: which failed or got no answer from a provider, when and why.

Nothing is decided by these files and no version needs them. Written by the sensors that alert, since a run that died
can write nothing itself; read by the quality report.
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
    """One run that failed, or that ended well with answers missing. `reasons` are lines of names and causes, never
    values.
    """

    happened_at: datetime
    run_id: str
    job: str
    kind: Literal["failed", "unanswered"]
    reasons: tuple[str, ...]

    def to_json(self) -> bytes:
        """Return the incident as it is kept."""
        return json.dumps({**asdict(self), "happened_at": clock.iso(self.happened_at)}, indent=1).encode()

    @classmethod
    def from_json(cls, content: bytes) -> "Incident":
        """Return the incident that was kept. Raises LakeError when the file is not one."""
        try:
            fields = json.loads(content)
            happened_at = clock.instant(fields["happened_at"], "happened_at")
            return cls(**{**fields, "happened_at": happened_at, "reasons": tuple(fields["reasons"])})
        except (ValueError, TypeError, KeyError):
            raise LakeError("a kept incident is damaged; remove the file, nothing depends on it") from None


def keep(store: Store, incident: Incident) -> None:
    """Keep one incident, once however often it is told. Raises LakeError when the lake can't be written."""
    moment = f"{clock.micros(incident.happened_at):020d}"
    try:
        store.put_new(f"{INCIDENTS}/{moment}.{incident.run_id}.json", incident.to_json())
    except OSError as problem:
        raise LakeError(f"no incident can be kept in {store.location}: {type(problem).__name__}") from None


def kept(store: Store) -> Iterator[Incident]:
    """Return the kept incidents, newest first; read one by one."""
    for key in sorted((file.key for file in store.walk(INCIDENTS)), reverse=True):
        yield Incident.from_json(store.read(key))
