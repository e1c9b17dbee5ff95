"""Runs an extractor over days: reads, stages, audits, and publishes as one commit or reports a refusal.

This module does not use Dagster. pitlake.lake decides what may be published.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

import pyarrow as pa

from assets.extraction import Extractor, GraphReader, RunFacts
from assets.reading import extract
from assets.survey import survey
from checks.warnings import warnings
from pitlake import clock
from pitlake.datasets._earnings import DEFAULT_LAG, LEAST_LAG
from pitlake.errors import BadInput, CheckFailed
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.audit import Audit, CheckResult
from pitlake.lake.publishing.check_results import CheckReport
from pitlake.lake.publishing.publish import Published, added
from pitlake.lake.publishing.refusal import judge
from pitlake.lake.publishing.stage import Stage, Staged, safe_locator, staged_schema

PREVIEW_ROWS = 5
SUMMED = ("revisions", "new_gaps", "bytes", "files")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """The result of a run, which either published or was refused and published nothing.

    gaps: the number of staged gaps by (type, reason). preview: the first rows; empty for outcomes or if no row passed.
    notes: failures to report or store something after the outcome.
    """

    dataset: str
    outcome: Published | CheckFailed
    checks: tuple[CheckResult, ...]
    gaps: Mapping[tuple[str, str], int]
    preview: pa.Table
    notes: tuple[str, ...] = ()


def attempt_partitions(
    extractor: Extractor,
    days: Sequence[date],
    graph: GraphReader,
    lake: Lake,
    *,
    run_id: str,
    observed_at: datetime | None = None,
    publication_lag: timedelta = DEFAULT_LAG,
    audits: Sequence[Audit] = (),
) -> RunReport:
    """Extract and publish the records of these New York days as one lake version; a snapshot dataset ignores them.

    observed_at: the run's clock. By default it is the wall clock. It is read before the first record to decide what is
    public, and after the last record to date new content, so no change is dated before it was observed. audits: checks
    in addition to the lake's own audit, such as `checks.expectations.expected`. The results of the checks are always
    stored in the lake. Raises GraphError, LakeError, and BadInput if a day precedes the dataset's first day or the lag
    is out of range. Nothing is published in these cases.
    """
    dataset = extractor.dataset
    early = [day for day in days if day < dataset.first_day]
    if early:
        raise BadInput("days", f"{dataset.name} begins on {dataset.first_day}", "leave out the days before")
    if not LEAST_LAG <= publication_lag <= DEFAULT_LAG:
        raise BadInput("publication_lag", f"{publication_lag} is out of range", "give 3 to 24 hours")
    read_clock: Callable[[], datetime] = lake.now if observed_at is None else lambda: observed_at
    run = RunFacts.of_lake(lake, observed_at=read_clock(), publication_lag=publication_lag)
    with lake.stage(dataset, run_id) as stage:
        surveyed = survey(extractor, graph)
        stage.survey(surveyed.counts)

        def fill() -> None:
            ready = extractor.prepared(graph, lake, run, days) if extractor.prepared else extractor
            strays = extract(ready, days, graph, stage, run, read_clock)
            if strays.count:
                examples = tuple(map(safe_locator, strays.examples))
                raise CheckFailed(dataset.name, "partition_window", {"outside": strays.count}, examples)

        return concluded(stage, lake, fill, read_clock, (*audits, lambda *_: [surveyed.check()]))


def concluded(
    stage: Stage, lake: Lake, fill: Callable[[], None], read_clock: Callable[[], datetime], audits: Sequence[Audit] = ()
) -> RunReport:
    """Fill a stage, publish it, and return a report. Every run ends here. A refusal publishes nothing and is reported.

    Before the outcome, a failure raises an error, and nothing is published. After the outcome, no error is raised: a
    failure to report or store something is logged as a warning with the version and added to the report's notes.
    """
    outcome: Published | CheckFailed
    try:
        fill()
        outcome = lake.publish(stage, read_clock(), audits)
    except CheckFailed as refusal:
        outcome = refusal
    notes: list[str] = []

    def report_problem(what: str, problem: Exception) -> None:
        version = None if isinstance(outcome, CheckFailed) else outcome.version
        stands = "nothing is published" if version is None else f"version {version} is published"
        notes.append(f"{stage.dataset.name}: {stands}, but {what}: {type(problem).__name__}: {problem}")
        _log.warning(notes[-1])

    try:
        if isinstance(outcome, CheckFailed):
            staged = stage.load()
            judged = outcome.judged or judge(staged, read_clock(), audits).checks
            facts = {fact: value if isinstance(value, int) else str(value) for fact, value in outcome.facts.items()}
            # The refusing check may have failed before there was a stage.
            failed_check = CheckResult(name=outcome.check, passed=False, facts=facts, examples=outcome.examples)
            others = (check for check in judged if check.name != outcome.check)
            report = _report(staged, outcome, (*others, failed_check))
        else:
            report = _report(outcome.staged, outcome, outcome.checks)
    except Exception as problem:  # noqa: BLE001 - see above
        report_problem("the run can't be reported completely", problem)
        checks = () if isinstance(outcome, CheckFailed) else outcome.checks
        empty = staged_schema(stage.dataset).empty_table()
        report = RunReport(dataset=stage.dataset.name, outcome=outcome, checks=checks, gaps={}, preview=empty)
    try:
        lake.keep_check_report(check_report(report, stage.run_id))
    except Exception as problem:  # noqa: BLE001 - see above
        report_problem("its check results can't be stored", problem)
    return replace(report, notes=tuple(notes))


def together(reports: Sequence[RunReport]) -> RunReport:
    """Combine the reports of a run that published in rounds: the last outcome, with the counts of all."""
    last = reports[-1]
    published = [report.outcome for report in reports if isinstance(report.outcome, Published)]
    outcome = last.outcome
    if isinstance(outcome, Published):
        days = [(name, count) for outcome in published for name, count in outcome.per_day.items()]
        sums = {name: sum(getattr(outcome, name) for outcome in published) for name in SUMMED}
        per_day = {name: added(count for day, count in days if day == name) for name in dict(days)}
        changed, gaps = (
            any(outcome.changed for outcome in published),
            sum((Counter(outcome.gaps) for outcome in published), Counter()),
        )
        outcome = replace(outcome, per_day=per_day, changed=changed, gaps=dict(gaps), **sums)
    gaps_of_all = sum((Counter(report.gaps) for report in reports), Counter())
    return replace(
        last, outcome=outcome, gaps=gaps_of_all, notes=tuple(note for report in reports for note in report.notes)
    )


def check_report(report: RunReport, run_id: str) -> CheckReport:
    """Return the check results of a run, as the lake stores them."""
    outcome = report.outcome
    version, refusal = (None, str(outcome)) if isinstance(outcome, CheckFailed) else (outcome.version, "")
    return CheckReport(
        dataset=report.dataset,
        run_id=run_id,
        checked_at=clock.now(),
        version=version,
        refusal=refusal,
        checks=report.checks,
    )


def _report(staged: Staged, outcome: Published | CheckFailed, checks: tuple[CheckResult, ...]) -> RunReport:
    dataset = staged.dataset
    pairs = zip(staged.gaps["gap_type"].to_pylist(), staged.gaps["reason"].to_pylist(), strict=True)
    hidden = dataset.open_only or isinstance(outcome, CheckFailed)
    preview = staged.rows.slice(0, 0 if hidden else PREVIEW_ROWS)
    return RunReport(
        dataset=dataset.name,
        outcome=outcome,
        checks=(*checks, *warnings(dataset, staged.rows, staged.gaps)),
        gaps=Counter(pairs),
        preview=pa.Table.from_pylist(
            preview.to_pylist(), preview.schema
        ),  # Copy the rows, because the stage's files will be removed.
    )
