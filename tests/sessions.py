"""Sessions on a snapshot, opened with the arguments of `connect`."""

from dataclasses import replace
from typing import Any

from pitlake.clock import instant, now
from pitlake.lake.storage.manifest import Snapshot
from pitlake.session import Session, Viewpoint, open_session

VIEWPOINT = {"open_mode", "hindsight", "isolation"}


def open_at(snapshot: Snapshot, as_of: Any = None, **options: Any) -> Session:
    """Open a session on a lake version, even as of a future instant.

    options: those of `Viewpoint.parse` and `open_session`.
    """
    at = None if as_of is None else instant(as_of)
    viewpoint = Viewpoint.parse(
        at and min(at, now()), **{name: options.pop(name) for name in VIEWPOINT & options.keys()}
    )
    return open_session(replace(viewpoint, as_of=at), snapshot=snapshot, **options)
