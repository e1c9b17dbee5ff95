"""Studies: research that counts its looks and asks its holdout once.

`study` opens one. `ledger` is what a lake keeps of it, `overfitting` the statistics that its report tells.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pitlake.studies.holdouts import Study, study

__all__ = ["Study", "study"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'pitlake.studies' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("pitlake.studies.holdouts"), name)
