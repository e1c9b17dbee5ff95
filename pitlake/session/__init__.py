"""As-of sessions: DuckDB over exactly what was public at T, in a sealed process that holds nothing else.

The door is `connect` (api.py). Names are imported when first used, because the zygote imports this package and must
stay small. zygote, child and sandbox run on the sealed side, engine and protocol on both, every other module in the
parent.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pitlake.session.api import Session, connect, open_session
    from pitlake.session.limits import Limits
    from pitlake.session.result import Receipt, Result

__all__ = ["Limits", "Receipt", "Result", "Session", "connect", "open_session"]

_HOMES = {
    "Limits": "limits",
    "Receipt": "result",
    "Result": "result",
    "Session": "api",
    "connect": "api",
    "open_session": "api",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'pitlake.session' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"pitlake.session.{_HOMES[name]}"), name)
