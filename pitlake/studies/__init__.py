"""Studies: research that counts its trials and uses its holdout once.

`study` opens one. `ledger` stores it in the lake, and `overfitting` computes the statistics of its report.
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
