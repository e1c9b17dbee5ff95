"""The records of a study in a lake: one small numbered file per event, each with the hash of the previous one.

Files are only added, completely or not at all, so a crash loses no written record, and two processes never write the
same number. The hash in the next record reveals a record that was changed or removed.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pitlake import clock
from pitlake.errors import BadInput, LakeFault
from pitlake.lake.storage.store import Store

FOLDER = "_lake/studies"
OPENED, ASKED, TRIAL, SEALED, HOLDOUT, LEFT = "opened", "asked", "trial", "sealed", "holdout", "left"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")


@dataclass(frozen=True)
class LedgerRecord:
    """One event of a study: `kind`, time, and content."""

    number: int
    at: datetime
    kind: str
    facts: Mapping[str, Any]


class Ledger:
    """The records of one study, in the lake's store."""

    def __init__(self, store: Store, name: str) -> None:
        if _NAME.fullmatch(str(name)) is None:
            raise BadInput("name", f"{name!r} can't name a study", "use up to 80 letters, digits, - and _")
        self._store, self.name = store, name
        self._records: list[LedgerRecord] = []
        self._previous = ""

    def records(self) -> list[LedgerRecord]:
        """Return all records, oldest first. Raises LakeFault if one is missing or was changed."""
        last = 0
        if not self._records:
            files = self._store.walk(f"{FOLDER}/{self.name}")
            stems = (file.key.rpartition("/")[2].removesuffix(".json") for file in files)
            last = max((int(stem) for stem in stems if stem.isdigit()), default=0)
        while (number := len(self._records) + 1) <= last or self._store.exists(self._key(number)):
            try:
                content = self._store.read(self._key(number))
                entry = json.loads(content)
                record = LedgerRecord(number, clock.instant(entry["at"]), entry["kind"], entry["facts"])
                whole = entry["previous"] == self._previous
            except FileNotFoundError:
                raise LakeFault("missing", self._store.path(self._key(number))) from None
            except (ValueError, TypeError, KeyError, BadInput):
                raise LakeFault("damaged", self._store.path(self._key(number))) from None
            if not whole:
                raise LakeFault("damaged", self._store.path(self._key(number)))
            self._records.append(record)
            self._previous = hashlib.sha256(content).hexdigest()
        return list(self._records)

    def add(self, kind: str, *, once: bool = False, **facts: Any) -> bool:
        """Add a record. once: add it only if the study has no record of this kind. Return whether it was added."""
        while True:
            records = self.records()
            if once and any(record.kind == kind for record in records):
                return False
            entry = {"at": clock.iso(clock.now()), "kind": kind, "facts": facts, "previous": self._previous}
            content = (json.dumps(entry, sort_keys=True, indent=1) + "\n").encode()
            if self._store.put_new(self._key(len(records) + 1), content):
                return True

    def _key(self, number: int) -> str:
        return f"{FOLDER}/{self.name}/{number:012d}.json"


def names(store: Store) -> list[str]:
    """Return the names of a lake's studies, sorted."""
    return sorted({file.key.removeprefix(f"{FOLDER}/").partition("/")[0] for file in store.walk(FOLDER)})
