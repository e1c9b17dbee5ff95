"""The error tree. Every error pitlake raises on purpose is one of these; this docstring is the tree.

PitlakeError                    anything pitlake refuses or fails at
├── BadInput                    the caller's mistake: one line naming the field and the next step (CLI exit code 2)
│   └── BadInstant              a text that is no strict instant (fault: see pitlake.gate.rules.FAULTS)
├── GateRefused                 a staged table holds rows the gate refuses; nothing was published
├── CheckFailed                 a blocking check failed; nothing was published
└── LakeError                   the lake itself
    ├── LakeNotFound            no lake at that root, or no such version
    ├── LakeConflict            other writers won too often; nothing was published
    └── PastChanged             a publish would alter or remove a row an earlier version showed

Errors carry fields, never secrets and never values of rows that the caller may not see.
"""


class PitlakeError(Exception):
    """Base of the tree. `exit_code` is what the command line returns for it."""

    exit_code = 1


class BadInput(PitlakeError):
    """The caller's mistake. `field` names what was wrong, `next_step` what to type instead."""

    exit_code = 2

    def __init__(self, field: str, problem: str, next_step: str = "") -> None:
        self.field, self.problem, self.next_step = field, problem, next_step
        super().__init__(f"{field}: {problem}" + (f"; {next_step}" if next_step else ""))


class BadInstant(BadInput):
    """A text that is no strict instant. `fault` is one of `pitlake.gate.rules.FAULTS`."""

    def __init__(self, field: str, fault: str, detail: str) -> None:
        self.fault = fault
        super().__init__(field, f"{fault}: {detail}", "give an ISO-8601 instant such as 2024-02-15T16:00:00-05:00")


class GateRefused(PitlakeError):
    """A staged table holds rows the gate refuses. `codes` counts them by gate code."""

    def __init__(self, dataset: str, codes: dict[str, int]) -> None:
        self.dataset, self.codes = dataset, codes
        listed = ", ".join(f"{code} × {count}" for code, count in sorted(codes.items()))
        super().__init__(f"{dataset}: the gate refused staged rows ({listed}); nothing was published")


class CheckFailed(PitlakeError):
    """A blocking check failed. `check` is its name, `facts` what it measured."""

    def __init__(self, dataset: str, check: str, facts: dict[str, object]) -> None:
        self.dataset, self.check, self.facts = dataset, check, facts
        shown = ", ".join(f"{name}={value}" for name, value in facts.items())
        super().__init__(f"{dataset}: check {check} failed ({shown}); nothing was published")


class LakeError(PitlakeError):
    """The lake itself: missing, contended, or about to be harmed."""


class LakeNotFound(LakeError):
    """No lake at that root, or no such version."""


class LakeConflict(LakeError):
    """Other writers won too often. Nothing was published; run again."""


class PastChanged(LakeError):
    """A publish would alter or remove a row an earlier version showed."""
