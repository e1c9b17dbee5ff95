"""Warnings about single datasets, as pure functions of a run's staged rows. They never stop a publish.

A contract names its warnings; `MEASURES` has a function for each. Datasets of outside sources also have `answered`.
"""

from collections import Counter
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from checks.agreement import sources_agree
from pitlake.contract import Dataset
from pitlake.datasets.prices import NO_BASIS
from pitlake.lake.publishing.audit import CheckResult

TEN_THOUSANDTHS = 10_000
BORNE_SHARE = 0.01
MOST_EDITED, LEAST_ARTICLES = 0.5, 20
"""A few edits are ordinary. A larger share, in a run with at least this many articles, means a rewritten archive."""
MOST_UNPROVEN = 0.001
MOST_FIELDS = 20
MOST_EXAMPLES = 5
ANSWERED, OUTSIDE = "answered", "external"


def edited(rows: pa.Table) -> CheckResult:
    """Count the articles that changed after publication and are public only from the change. Warn if most did."""
    later = pc.greater(rows["updated"], rows["created"])
    count = pc.sum(later.fill_null(False)).as_py() or 0
    share = round(TEN_THOUSANDTHS * count / rows.num_rows) / 100 if rows.num_rows else 0.0
    facts: dict[str, int | str] = {"articles": rows.num_rows, "edited": count, "percent": f"{share:.2f}"}
    passed = rows.num_rows < LEAST_ARTICLES or count <= MOST_EDITED * rows.num_rows
    return CheckResult(name="edited", passed=passed, severity="warning", facts=facts)


def basis_proven(bars: pa.Table, gaps: pa.Table) -> CheckResult:
    """Count the bars that are gaps because their split basis is not proven, by entity and range of days. Series,
    returns and outcomes that need these bars are gaps too. A tolerated share passes.
    """
    labels = {"company": "Company", "industry": "Industry", "sector": "Sector", "index": "MarketIndex"}
    lost = gaps.filter(pc.equal(gaps["reason"], NO_BASIS.reason))["locator"].to_pylist()
    places = [locator.removeprefix("neo4j:Date:").split("/HAS_PRICE/") for locator in lost]
    unproven = Counter(entity for _, entity in places)
    count = bars.num_rows + len(lost)
    share = f"{100 * len(lost) / count:.2f}" if count else "0.00"
    facts: dict[str, int | str] = {"bars": count, "unproven": len(lost), "percent": share}
    split_counts: Counter[str] = Counter()
    if lost:
        split_counts.update(
            map(
                "{}:{}".format,
                (labels[kind] for kind in bars["entity_kind"].to_pylist()),
                bars["entity_id"].to_pylist(),
            )
        )
    for entity, number in unproven.most_common(MOST_FIELDS):
        days = [day for day, of in places if of == entity]
        facts[entity] = f"{number} of {number + split_counts[entity]}, {min(days)} to {max(days)}"
    return CheckResult(
        name="basis_proven",
        passed=len(lost) <= MOST_UNPROVEN * count,
        severity="warning",
        facts=facts,
        examples=tuple(sorted(lost)[:MOST_EXAMPLES]),
    )


def drifted(rows: pa.Table) -> CheckResult:
    """Report the fields that providers have certainly rewritten: their intervals exceed the tolerated share."""
    moved = rows.filter(pc.greater(rows["low"], BORNE_SHARE))
    facts: dict[str, int | str] = {"fields": rows.num_rows, "drifted": moved.num_rows}
    for row in moved.slice(0, MOST_FIELDS).to_pylist():
        facts[f"{row['dataset']}.{row['field']}"] = f"{row['share']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
    return CheckResult(name="drifted", passed=not moved.num_rows, severity="warning", facts=facts)


def answered(gaps: pa.Table) -> CheckResult:
    """Count the requests that a provider refused or answered unreadably, by reason. The data of these requests is
    missing.
    """
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
    """Return whether a dataset comes from an outside provider, which may fail to answer."""
    return dataset.group == OUTSIDE


MEASURES: dict[str, Callable[[pa.Table, pa.Table], CheckResult]] = {
    "edited": lambda rows, _gaps: edited(rows),
    "sources_agree": lambda rows, _gaps: sources_agree(rows),
    "drifted": lambda rows, _gaps: drifted(rows),
    "basis_proven": basis_proven,
}


def warnings(dataset: Dataset, rows: pa.Table, gaps: pa.Table) -> tuple[CheckResult, ...]:
    """Return the results of a dataset's warnings, over the staged rows."""
    results = (MEASURES[name](rows, gaps) for name in dataset.warnings)
    return (*results, answered(gaps)) if is_asked(dataset) else tuple(results)
