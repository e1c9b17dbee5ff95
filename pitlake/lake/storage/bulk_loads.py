"""The progress of a dataset's bulk load: the archive, the first day to load, and the number of published batches.

Each dataset has one small file, which belongs to no version. It only saves work, because a batch that is loaded again
publishes only what the lake lacks.
"""

import json
from dataclasses import dataclass
from datetime import date

from pitlake.lake.storage.store import Store

FOLDER = "_lake/bulk_loads"


@dataclass(frozen=True, kw_only=True)
class BulkLoad:
    """A bulk load.

    archives: the SHA-256 of the archive, and of the archive that dates its rows if this is a different one. before:
    archives whose load was completed earlier. since: the first day to load. first: the lake's version when
    the load began. done: the number of published batches; None for a completed load. failed: companies with a member
    that could not be read. again: companies that failed earlier and are loaded even if their members are unchanged.
    """

    archives: tuple[str, ...]
    before: tuple[str, ...] = ()
    since: date | None = None
    first: int = 0
    done: int | None = 0
    failed: tuple[str, ...] = ()
    again: tuple[str, ...] = ()


def keep(store: Store, dataset: str, load: BulkLoad) -> None:
    """Write the progress of a load. Raises LakeError."""
    facts = vars(load) | {"since": load.since.isoformat() if load.since else None}
    store.put(f"{FOLDER}/{dataset}.json", (json.dumps(facts) + "\n").encode())


def read(store: Store, dataset: str) -> BulkLoad | None:
    """Return the progress of the last load; None if there is none or it can't be read."""
    try:
        facts = json.loads(store.read(f"{FOLDER}/{dataset}.json"))
        return BulkLoad(
            archives=tuple(facts["archives"]),
            before=tuple(facts["before"]),
            since=date.fromisoformat(facts["since"]) if facts["since"] else None,
            first=facts["first"],
            done=facts["done"],
            failed=tuple(facts["failed"]),
            again=tuple(facts["again"]),
        )
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None
