"""The audit: the checks of a stage before any of its rows may be published, as pure functions.

Each check returns a frozen result that names places (evidence of rows, never their values). `enforce` raises for a
blocking failure, after which nothing is published. The package `checks` shows the results in Dagster.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from pitlake import clock
from pitlake.contract import Dataset
from pitlake.errors import CheckFailed
from pitlake.gate.rules import GAP_TYPES
from pitlake.lake.publishing.stage import Staged
from pitlake.lake.storage.arrays import as_micros
from pitlake.lake.storage.manifest import TableState

MOST_EXAMPLES = 5
NEVER = -(2**62)

Severity = Literal["blocking", "warning"]


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """The result of one check. `facts` are counts and names, `examples` locators of source records."""

    name: str
    passed: bool
    severity: Severity = "blocking"
    facts: dict[str, int | str] = field(default_factory=dict)
    examples: tuple[str, ...] = ()

    @property
    def refuses(self) -> bool:
        return not self.passed and self.severity == "blocking"


# A caller's additional audit. It runs on a stage that passed the lake's own checks, and can also refuse the stage.
Audit = Callable[[Staged, datetime], Iterable[CheckResult]]


def audit(staged: Staged, observed_at: datetime) -> tuple[CheckResult, ...]:
    """Run the checks of a stage that need nothing from the lake."""
    return gaps_well_formed(staged, observed_at), conservation(staged)


def enforce(dataset: Dataset, results: tuple[CheckResult, ...]) -> None:
    """Raise CheckFailed for the first blocking failure, because nothing may then be published."""
    for result in results:
        if result.refuses:
            raise CheckFailed(dataset.name, result.name, dict(result.facts), result.examples, results)


def gaps_well_formed(staged: Staged, observed_at: datetime) -> CheckResult:
    """Check that every gap has a known type, a reason and a locator, and no instant after the observation."""
    gaps = staged.gaps
    bad = {
        "unknown_type": _count(pc.is_in(gaps["gap_type"], pa.array(GAP_TYPES)), value=False),
        "no_reason": _blank(gaps["reason"]),
        "no_locator": _blank(gaps["locator"]),
        "after_observation": int((as_micros(gaps[clock.AVAILABLE_AT]) > clock.micros(observed_at)).sum()),
    }
    return CheckResult(name="gaps_well_formed", passed=not any(bad.values()), facts={"gaps": gaps.num_rows, **bad})


def conservation(staged: Staged) -> CheckResult:
    """Check that nothing is lost: each partition has as many extracted records as staged rows and gaps."""
    rows = staged.per_partition(staged.row_partition)
    gaps = staged.per_partition(staged.gap_partition)
    off = [name for name in staged.partitions if staged.extracted[name] != rows[name] + gaps[name]]
    facts: dict[str, int | str] = {
        "extracted": sum(staged.extracted.values()),
        "rows": staged.rows.num_rows,
        "gaps": staged.gaps.num_rows,
        "partitions": len(staged.partitions),
        "partitions_off": len(off),
    }
    return CheckResult(name="conservation", passed=not off, facts=facts, examples=tuple(off[:MOST_EXAMPLES]))


def past_never_changes(states: Iterable[tuple[TableState, TableState]]) -> CheckResult:
    """Check that every file of a version is in the next one, with the same size. states: (before, after) pairs."""
    pairs = [(frozenset(before.files), frozenset(after.files)) for before, after in states]
    lost = sum(len(before - after) for before, after in pairs)
    facts: dict[str, int | str] = {"files_before": sum(len(before) for before, _ in pairs), "files_lost": lost}
    return CheckResult(name="past_never_changes", passed=not lost, facts=facts)


def frozen(dataset: Dataset, revisions: int) -> tuple[CheckResult, ...]:
    """Warn if a rebuilt result has different content or more rows than before. These are published as revisions."""
    if not dataset.frozen:
        return ()
    return (CheckResult(name="frozen", passed=not revisions, severity="warning", facts={"changed": revisions}),)


def freshness(dataset: Dataset, newest: datetime | None, at: datetime, ends_at: datetime | None = None) -> CheckResult:
    """Warn if the newest record is older than the contract allows. Datasets without a limit always pass.

    newest: see `pitlake.lake.tables.newest`. ends_at: the end of the data of a lake whose clock is simulated. Captured
    responses of such a lake are samples of other times and are not judged.
    """
    limit = None if ends_at is not None and dataset.captured else dataset.freshness
    at = min(at, ends_at or at)
    facts: dict[str, int | str] = {
        "newest record": clock.iso(newest) if newest else "none",
        "measured at": clock.iso(at),
    }
    passed = limit is None or (newest is not None and at - newest <= limit)
    if limit is not None:
        facts["limit_hours"] = int(limit.total_seconds() // 3600)
    if ends_at is not None:
        facts["clock"] = f"simulated: this lake's data end at {clock.iso(ends_at)}"
    return CheckResult(name="freshness", passed=passed, severity="warning", facts=facts)


def _blank(texts: pa.ChunkedArray) -> int:
    """Count the strings that are null, empty or only spaces."""
    return _count(pc.or_(pc.equal(pc.binary_length(texts), 0), pc.utf8_is_space(texts)), value=True)


def _count(truth: pa.ChunkedArray, *, value: bool) -> int:
    """Count the entries that equal `value`. Nulls count too, because a row that can't be checked is refused."""
    return int(pc.sum(pc.equal(truth.fill_null(value), value)).as_py() or 0)
