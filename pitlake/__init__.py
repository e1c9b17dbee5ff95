"""pitlake: a query as of T cannot see anything that was not public at T, because it is not there.

The public Python interface. Each name is imported when it is first used. The gate's rules, which need only the standard
library, can therefore be imported without pitlake's dependencies.
"""

__version__ = "0.1.0"
__all__ = ["Lake", "PitlakeError", "connect", "cut_off", "mount", "panel", "parse_instant", "sealed", "study", "walk"]

_HOMES = {
    "Lake": "pitlake.lake",
    "PitlakeError": "pitlake.errors",
    "connect": "pitlake.session",
    "cut_off": "pitlake.proxy.functions",
    "mount": "pitlake.lake",
    "panel": "pitlake.answers.panel",
    "parse_instant": "pitlake.gate.rules",
    "sealed": "pitlake.session.sealing",
    "study": "pitlake.studies",
    "walk": "pitlake.session",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'pitlake' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
