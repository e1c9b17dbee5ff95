"""As-of sessions: DuckDB over exactly what was public at T, in a sealed process that has nothing else.

`connect` (api.py) opens a session from a `Viewpoint`. `visible` finds what was public at T, `sealed` implements both
sides of the process, and `sql` runs on any DuckDB. Names are imported when first used, because the zygote imports this
package and must stay small.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pitlake.session.api import connect, open_session, walk
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

    machine.require("pitlake", sys.prefix)  # before importing libraries that abort without enough
    return getattr(import_module(f"pitlake.session.{_HOMES[name]}"), name)
