"""As-of sessions: DuckDB over the rows that were public at T, in a sealed process without other data.

`connect` (api.py) opens a session from a `Viewpoint`. `visible` selects the rows that were public at T, `sealed`
implements both sides of the process, and `sql` runs on any DuckDB. Names are imported at their first use, because the
zygote imports this package and must stay small.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pitlake.session.api import connect, index_searches, open_session, walk
    from pitlake.session.contracts import Catalogue
    from pitlake.session.limits import Limits
    from pitlake.session.result import Receipt, Result
    from pitlake.session.sealed.launcher import warm
    from pitlake.session.session import Session
    from pitlake.session.viewpoint import Viewpoint

__all__ = [
    "Catalogue",
    "Limits",
    "Receipt",
    "Result",
    "Session",
    "Viewpoint",
    "connect",
    "index_searches",
    "open_session",
    "walk",
    "warm",
]

_HOMES = {
    "Catalogue": "contracts",
    "Limits": "limits",
    "Receipt": "result",
    "Result": "result",
    "Session": "session",
    "Viewpoint": "viewpoint",
    "connect": "api",
    "index_searches": "api",
    "open_session": "api",
    "walk": "api",
    "warm": "sealed.launcher",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'pitlake.session' has no attribute {name!r}")
    import sys
    from importlib import import_module

    from pitlake import machine

    # Check the limits before importing libraries that abort if they are too low.
    machine.require("pitlake", sys.prefix)
    return getattr(import_module(f"pitlake.session.{_HOMES[name]}"), name)
