"""Warnings of single datasets, as pure measures over what a run staged. They never stop a publish.

A contract names its warnings; `MEASURES` holds one function for each. Datasets asked for outside have `answered` too.
Called by `assets.runs`.
"""

from collections import Counter
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from checks.agreement import sources_agree
from pitlake.contract import Dataset
from pitlake.lake.audit import CheckResult

TEN_THOUSANDTHS = 10_000
BORNE_SHARE = 0.01
MOST_FIELDS = 20
MOST_EXAMPLES = 5
ANSWERED, OUTSIDE = "answered", "external"


def edited(rows: pa.Table) -> CheckResult:
    """How many articles were changed after they appeared: their text is public from the change on alone."""
    later = pc.greater(rows["updated"], rows["created"])
    count = pc.sum(later.fill_null(False)).as_py() or 0
    share = round(TEN_THOUSANDTHS * count / rows.num_rows) / 100 if rows.num_rows else 0.0
    facts: dict[str, int | str] = {"articles": rows.num_rows, "edited": count, "percent": f"{share:.2f}"}
    return CheckResult(name="edited", passed=not count, severity="warning", facts=facts)


def drifted(rows: pa.Table) -> CheckResult:
    """Which fields providers have surely rewritten: those whose interval lies above the share that is borne."""
    moved = rows.filter(pc.greater(rows["low"], BORNE_SHARE))
    facts: dict[str, int | str] = {"fields": rows.num_rows, "drifted": moved.num_rows}
    for row in moved.slice(0, MOST_FIELDS).to_pylist():
        facts[f"{row['dataset']}.{row['field']}"] = f"{row['share']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
    return CheckResult(name="drifted", passed=not moved.num_rows, severity="warning", facts=facts)


def answered(gaps: pa.Table) -> CheckResult:
    """How many questions a provider refused or answered unreadably, by reason: what they ask for is missing."""
    lost = gaps.filter(pc.equal(gaps["gap_type"], "upstream_error"))
    reasons = Counter(lost["reason"].to_pylist()).most_common(MOST_FIELDS)
    return CheckResult(
        name=ANSWERED,
        passed=not lost.num_rows,
        severity="warning",
        facts={"unanswered": lost.num_rows, **dict(reasons)},
        examples=tuple(lost["locator"].slice(0, MOST_EXAMPLES).to_pylist()),
    )


def is_asked(dataset: Dataset) -> bool:
    """Whether a provider outside is asked for a dataset, who may give no answer."""
    return dataset.group == OUTSIDE


MEASURES: dict[str, Callable[[pa.Table], CheckResult]] = {
    "edited": edited,
    "sources_agree": sources_agree,
    "drifted": drifted,
}


def warnings(dataset: Dataset, rows: pa.Table, gaps: pa.Table) -> tuple[CheckResult, ...]:
    """The results of a dataset's warnings, over what was staged."""
    named = (MEASURES[name](rows) for name in dataset.warnings)
    return (*named, answered(gaps)) if is_asked(dataset) else tuple(named)
