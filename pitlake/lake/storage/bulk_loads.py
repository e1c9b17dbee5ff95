"""How far the bulk load of a dataset has come: which archive, since when, how many of its batches are published.

One small file a dataset that no version shows. It saves work and proves nothing: a batch that is loaded again publishes
only what the lake lacks.
"""

import json
from dataclasses import dataclass
from datetime import date

from pitlake.lake.storage.store import Store

FOLDER = "_lake/bulk_loads"


@dataclass(frozen=True, kw_only=True)
class BulkLoad:
    """A load. archives: the SHA-256 of the archive, and of that which dates its rows where another one does. before:
    those whose load was complete before it. since: the first day that was wanted. done: published batches; None for all
    of them.
    """

    archives: tuple[str, ...]
    before: tuple[str, ...] = ()
    since: date | None = None
    done: int | None = 0


def keep(store: Store, dataset: str, load: BulkLoad) -> None:
    """Write how far a load has come. Raises LakeError."""
    facts = vars(load) | {"since": load.since.isoformat() if load.since else None}
    store.put(f"{FOLDER}/{dataset}.json", (json.dumps(facts) + "\n").encode())


def read(store: Store, dataset: str) -> BulkLoad | None:
    """Return how far the last load came; None where there was none or nothing readable says so."""
    try:
        facts = json.loads(store.read(f"{FOLDER}/{dataset}.json"))
        return BulkLoad(
            archives=tuple(facts["archives"]),
            before=tuple(facts["before"]),
            since=date.fromisoformat(facts["since"]) if facts["since"] else None,
            done=facts["done"],
        )
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None
