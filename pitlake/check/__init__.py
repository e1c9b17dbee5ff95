"""Checks whether a function looks ahead. The function runs on lakes that end at T; a change in its past is reported.

`worlds` makes such lakes, `child` runs the function in a separate process, `tables` normalises its results, `compare`
finds the first difference, and `checking` decides what to run and what a difference means.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pitlake.check.checking import check
    from pitlake.check.findings import Finding
    from pitlake.check.request import Check, LookAheadReport

__all__ = ["Check", "Finding", "LookAheadReport", "check"]

_HOMES = {"Check": "request", "Finding": "findings", "LookAheadReport": "request", "check": "checking"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'pitlake.check' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"pitlake.check.{_HOMES[name]}"), name)
