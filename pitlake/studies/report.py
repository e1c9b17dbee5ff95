"""The report of a study: its trials, what they imply for the best one, and other studies that saw the holdout."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pitlake import clock
from pitlake.errors import BadInput, LakeFault
from pitlake.lake.storage.store import Store
from pitlake.studies import ledger, overfitting
from pitlake.studies.ledger import Ledger, LedgerRecord
from pitlake.studies.trials import HOLDOUT, IN_SAMPLE, LATER, Trial


@dataclass(frozen=True)
class StudyReport:
    """The records of a study, oldest first. others: the lake's other studies that saw or hold out the same time."""

    name: str
    records: tuple[LedgerRecord, ...]
    others: tuple[dict[str, Any], ...] = ()

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Return the trials by number and name, in order. A trial that was logged again with the same returns counts as
        one.
        """
        trials: dict[tuple[Any, ...], Trial] = {}
        sealed = False
        for record in self.records:
            sealed = sealed or record.kind == ledger.SEALED
            if record.kind != ledger.TRIAL:
                continue
            part = HOLDOUT if record.facts["holdout"] else LATER if sealed else IN_SAMPLE
            trial = Trial.of(record, f"{len(trials) + 1}. {record.facts['name']}", part)
            key = (trial.name, trial.returns, trial.dates, trial.frequency, part == HOLDOUT)
            trials.setdefault(key, trial)
        return tuple(trials.values())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; figures that need more trials are null, and `note` says why."""
        moments = {record.kind: clock.iso(record.at) for record in self.records}
        trials = self.trials
        start = clock.instant(self.records[0].facts["holdout"][0])
        inside = [saw(record, start) for record in self.records if record.kind == ledger.ASKED]
        sample = [trial for trial in trials if trial.part == IN_SAMPLE]
        frequencies = dict.fromkeys(trial.frequency for trial in sample)
        sealed = next((record.facts for record in self.records if record.kind == ledger.SEALED), {})
        return {
            "study": self.name,
            "holdout": self.records[0].facts["holdout"],
            "questions": inside.count(False),
            "questions_in_holdout": inside.count(True),
            "plan": sealed.get("plan"),
            "sealed_at": moments.get(ledger.SEALED),
            "holdout_asked_at": moments.get(ledger.HOLDOUT),
            "holdout_left_at": moments.get(ledger.LEFT),
            "trials": [trial.to_dict() for trial in trials],
            "comparisons": [
                _comparison(frequency, [trial for trial in sample if trial.frequency == frequency])
                for frequency in frequencies
            ],
            "sealed_idea": _idea(sealed.get("trial"), trials),
            "other_studies": list(self.others),
            "ledger": [
                {"at": clock.iso(record.at), "kind": record.kind}
                | {name: value for name, value in record.facts.items() if name not in ("returns", "dates", "plan")}
                for record in self.records
            ],
        }


def saw(record: LedgerRecord, start: datetime) -> bool:
    """Return whether a question was asked at or after an instant, by the instant of its session."""
    return clock.instant(record.facts["as_of"]) >= start


def others(store: Store, name: str, start: datetime, end: datetime) -> tuple[dict[str, Any], ...]:
    """Return the lake's other studies whose holdouts overlap these instants, or that asked at or after the first."""
    entries: list[dict[str, Any]] = []
    for other in ledger.names(store):
        if other == name:
            continue
        try:
            records = Ledger(store, other).records()
            first, last = map(clock.instant, records[0].facts["holdout"])
        except (LakeFault, BadInput, IndexError, KeyError):
            entries.append({"study": other, "problem": "its records are damaged"})
            continue
        questions = sum(record.kind == ledger.ASKED and saw(record, start) for record in records)
        if questions or (first < end and start < last):
            used = next((clock.iso(record.at) for record in records if record.kind == ledger.HOLDOUT), None)
            entries.append(
                {
                    "study": other,
                    "holdout": records[0].facts["holdout"],
                    "holdout_asked_at": used,
                    "questions_in_this_holdout": questions,
                }
            )
    return tuple(entries)


def _comparison(frequency: str | None, trials: Sequence[Trial]) -> dict[str, Any]:
    """Compare trials of one frequency: the best trial, and how much of its ratio is due to the number of trials."""
    returns = [trial.returns for trial in trials]
    ratios = [overfitting.sharpe_ratio(values) for values in returns]
    alike = len({trial.periods for trial in trials}) == 1
    note = "" if alike else "the trials cover different periods, so they can't be cross-validated"
    if len(trials) < 2:
        note = "two trials or more are needed for the probability of overfitting"
    best = ratios.index(max(ratios))
    return {
        "frequency": frequency,
        "trials": len(trials),
        "best_trial": trials[best].label,
        "best_sharpe_ratio": ratios[best],
        "deflated_sharpe_ratio": overfitting.deflated(returns),
        "probability_of_overfitting": (
            overfitting.probability_of_overfitting(returns) if alike and len(trials) > 1 else None
        ),
        "note": note,
    }


def _idea(name: str | None, trials: Sequence[Trial]) -> dict[str, Any] | None:
    """Return the sealed trial in sample and in the holdout, where it has the same name.

    A plan without a trial's name is about the first trial of the holdout.
    """
    tests = [trial for trial in trials if trial.part == HOLDOUT and name in (None, trial.name)]
    name = name or next((trial.name for trial in tests), None)
    sample = [trial for trial in trials if trial.part == IN_SAMPLE and trial.name == name]
    if not sample:
        return None
    tries = [trial for trial in tests if trial.name == name]
    return {
        "in_sample": sample[-1].to_dict(),
        "holdout": tries[0].to_dict() if tries else None,
        "tries_in_holdout": len(tries),
    }
