"""Purged cross-validation of a panel, by purgedcv: training rows whose labels overlap those of test rows are left out.

Source: Lopez de Prado, M. (2018). Advances in Financial Machine Learning, chapters 7 and 12.
"""

from datetime import datetime, timezone
from typing import Any

from purgedcv import CombinatorialPurgedCV, PurgedKFold

from pitlake import clock
from pitlake.check.tables import answer_of, public_from
from pitlake.errors import BadInput


def purged_folds(
    known_at: Any, label_ends: Any, *, before: datetime, splits: int, test_splits: int, embargo: Any
) -> PurgedKFold | CombinatorialPurgedCV:
    """Return a splitter of rows; arguments as for `Study.folds`. before: the latest instant of a label."""
    starts, ends = _instants("known_at", known_at), _instants("label_ends", label_ends)
    if ends and max(ends) > before:
        step = f"drop the rows whose labels end after {clock.iso(before)}"
        raise BadInput("label_ends", f"reach into the holdout, to {clock.iso(max(ends))}", step)
    times = {"prediction_times": _utc(starts), "evaluation_times": _utc(ends), "embargo": embargo}
    try:
        if test_splits == 1:
            return PurgedKFold(splits, **times)
        return CombinatorialPurgedCV(splits, test_splits, **times)
    except (ValueError, TypeError) as error:
        text = " ".join(str(error).split()).replace("prediction_times", "known_at")
        problem = text.replace("evaluation_times", "label_ends").replace("n_test_groups", "test_splits")
        step = "sort the panel by known_at, and end each label after its row; read Study.folds"
        raise BadInput("folds", problem.rstrip("."), step) from None


def _instants(name: str, values: Any) -> list[datetime]:
    """Return the instants of a column; dates mean their end in New York."""
    instants = public_from(answer_of({name: list(values)}).columns[name])
    if any(moment is None for moment in instants):
        raise BadInput(name, "has values that are neither dates nor instants", "give one for each row of the panel")
    return [moment for moment in instants if moment is not None]


def _utc(instants: list[datetime]) -> list[datetime]:
    return [moment.astimezone(timezone.utc).replace(tzinfo=None) for moment in instants]
