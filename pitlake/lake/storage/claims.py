"""The number of items dated only by a provider, for the report.

Such items are never rows of the lake, and no version needs these files. `pitlake fetch` writes them if a source's dates
are trusted; see pipelines.fetch.claims.
"""

import json
from collections import Counter
from datetime import datetime
from uuid import uuid4

from pitlake import clock
from pitlake.errors import LakeError
from pitlake.lake.storage.store import Store

CLAIMS = "_lake/claims"


def write(store: Store, source: str, items: int) -> None:
    """Record a response with this many items. Raises LakeError if the lake can't be written."""
    name = f"{CLAIMS}/{clock.micros(clock.now()):020d}.{uuid4().hex}.json"
    try:
        store.put_new(name, json.dumps({"source": source, "items": items}).encode())
    except OSError as problem:
        raise LakeError(f"claims can't be written to {store.location}: {type(problem).__name__}") from None


def counted(store: Store, until: datetime | None = None) -> dict[str, int]:
    """Return the number of items of each source, recorded before `until` if it is given. Raises LakeError."""
    counts: Counter[str] = Counter()
    for file in store.walk(CLAIMS):
        name = file.key.rpartition("/")[2]
        if until is not None and int(name.partition(".")[0]) >= clock.micros(until):
            continue
        try:
            noted = json.loads(store.read(file.key))
            counts[noted["source"]] += noted["items"]
        except (ValueError, TypeError, KeyError):
            raise LakeError("a file of claims is damaged; remove the file, nothing depends on it") from None
    return dict(sorted(counts.items()))
