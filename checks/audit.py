"""The audit's results as Dagster asset checks: names, severities and presentation.

This module computes nothing. A failed blocking check has already prevented the publish, and Dagster only shows it.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import dagster as dg

from checks.expectations import BLOCKING as EXPECTED
from checks.expectations import WARNING as WARNED
from checks.warnings import ANSWERED, is_asked
from pitlake import clock
from pitlake.contract import Dataset
from pitlake.lake.publishing.audit import CheckResult, Severity
from pitlake.lake.publishing.drift import DRIFT
from pitlake.lake.publishing.expectations import rules

RUNBOOK = Path(__file__).resolve().parents[1] / "docs" / "runbook.md"
BLOCKING = {
    "gate": "Every row passes the gate: strict availability, a known source tag, no forbidden key at any depth.",
    "row_rules": "Every row is valid: required values and evidence are present, limits and comparisons are met.",
    "partition_window": "Every row became available on the New York day it was extracted for.",
    "identity_unique": "Each identity has one source record.",
    "key_unique": "Each key has one answer at each instant.",
    "refused_share": "No more records than the contract allows broke one of the checks above and became gaps.",
    "gaps_well_formed": "Every gap has a known type, a reason and a locator.",
    "conservation": "Per partition, records extracted = published + unchanged + gaps.",
    DRIFT: "The run differs from the lake and from the last poll of the same days no more than the contract allows.",
    "unread": "Every relation and node of the kinds that the dataset's queries name is reached by them.",
    "past_never_changes": "Every file an earlier lake version showed is still there.",
}
WARNINGS = {
    "freshness": "The newest record is no older than the contract allows. Changes to earlier records do not count.",
    "edited": "At most half of the articles were changed after they appeared; a changed text is public from then on.",
    "frozen": "A repeated build gave the same result. Differences and additions are available when observed.",
    "basis_proven": "The split basis of all but 0.1 % of the bars is proven, or their prices are as traded.",
    "sources_agree": "Sources agree on 99 % of the earnings releases.",
    "drifted": "Providers still return the values that were captured first, except for a tolerated share.",
    ANSWERED: "Providers answered every request. A refused or unreadable answer is a gap until it is requested again.",
}


def cannot_fail(dataset: Dataset) -> set[str]:
    """Return the checks that do not apply to a dataset and are therefore not listed in the catalogue."""
    warned = any(rule.severity == "warning" for rule in rules(dataset, (clock.EPOCH, None)))
    looks = {DRIFT: dataset.watched, "unread": dataset.group == "graph", "partition_window": dataset.partitioned,
             "freshness": dataset.freshness, WARNED: warned}  # fmt: skip
    return {name for name, look in looks.items() if not look}


def check_specs(dataset: Dataset) -> list[dg.AssetCheckSpec]:
    left_out = cannot_fail(dataset)
    names = {name: text for name, text in BLOCKING.items() if name not in left_out}
    blocking = [_spec(dataset, name, text, blocking=True) for name, text in names.items()]
    warnings = (
        "freshness",
        *(["frozen"] if dataset.frozen else []),
        *dataset.warnings,
        *([ANSWERED] if is_asked(dataset) else []),
    )
    expectations: dict[str, Severity] = {EXPECTED: "blocking", WARNED: "warning"}
    return [
        *blocking,
        *(_spec(dataset, name, WARNINGS[name], blocking=False) for name in warnings if name not in left_out),
        *(
            _spec(dataset, name, _listed(dataset, severity), blocking=name == EXPECTED)
            for name, severity in expectations.items()
            if name not in left_out
        ),
    ]


def _listed(dataset: Dataset, severity: Severity) -> str:
    """Return a list of all expectations of a severity. One check contains all of them, because each check adds events
    to a long backfill.
    """
    expectations = rules(dataset, (clock.EPOCH, None))
    names = [f"- {rule.name}" for rule in expectations if rule.severity == severity]
    description = "Required for a publish" if severity == "blocking" else "Expected of the source's values"
    return "\n".join((f"{description}:", "", *names))


def _spec(dataset: Dataset, name: str, description: str, *, blocking: bool) -> dg.AssetCheckSpec:
    metadata = {"runbook": runbook(name)}
    return dg.AssetCheckSpec(name, asset=dataset.name, description=description, blocking=blocking, metadata=metadata)


@cache
def runbook(name: str) -> dg.MetadataValue[Any]:
    """Return the runbook's entry about a failed check, and its location."""
    text = RUNBOOK.read_text()
    (match,) = re.finditer(rf"^\| `{name}` \| (.+) \| (.+) \|$", text, flags=re.MULTILINE)
    (*_, section) = re.finditer(r"^## (.+)$", text[: match.start()], flags=re.MULTILINE)
    place = f"docs/runbook.md, {section[1]}"
    return dg.MetadataValue.md(f"**It means:** {match[1]}\n\n**Do:** {match[2]}\n\n{place}")


def check_results(dataset: Dataset, results: Iterable[CheckResult]) -> Iterator[dg.AssetCheckResult]:
    """Yield the check results in Dagster's form. Examples are locators of source records, never values."""
    silent = cannot_fail(dataset)
    for result in results:
        if result.passed and result.name in silent:
            continue
        metadata: dict[str, dg.MetadataValue] = {
            name: dg.MetadataValue.int(fact) if isinstance(fact, int) else dg.MetadataValue.text(str(fact))
            for name, fact in result.facts.items()
        }
        if not result.passed:
            metadata["runbook"] = runbook(result.name)
        if result.examples:
            metadata["examples"] = dg.MetadataValue.md("\n".join(f"- `{example}`" for example in result.examples))
        yield dg.AssetCheckResult(
            asset_key=dataset.name,
            check_name=result.name,
            passed=result.passed,
            severity=dg.AssetCheckSeverity.ERROR if result.severity == "blocking" else dg.AssetCheckSeverity.WARN,
            metadata=metadata,
        )
