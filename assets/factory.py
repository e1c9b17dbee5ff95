"""Makes a Dagster asset of an extractor.

The asset writes, audits and publishes, and then reports the result. pitlake, not Dagster, decides what is published:
when Dagster shows a failed blocking check, nothing was published.
"""

import contextlib
import functools
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from types import MappingProxyType
from typing import Any

import dagster as dg
import pyarrow as pa

from assets.extraction import Extractor
from assets.lineage import column_lineage
from assets.runs import RunReport, attempt_partitions
from checks.audit import check_results, check_specs
from checks.expectations import expected
from checks.standing import check_lake
from pitlake import clock
from pitlake.contract import Dataset
from pitlake.errors import BadInput, CheckFailed, LakeNotFound, NotCaptured
from pitlake.lake.publishing.audit import CheckResult
from pitlake.lake.publishing.publish import Published
from pitlake.lake.publishing.refusal import REFUSING
from pitlake.questions.dictionary import agent_columns
from resources.graph.resource import GraphResource
from resources.lake import LakeResource
from resources.settings import ExtractionSettings

SOURCE = dg.AssetSpec(
    "source_graph",
    description="The upstream's graph, read over Bolt. Other systems load it; nothing here writes to it.",
    group_name="sources",
    kinds={"neo4j"},
)
POOL = "source_graph"
# A run is retried if the server is briefly unreachable, but not if a check refused it (see `dagster_events`).
RETRY = dg.RetryPolicy(max_retries=2, delay=10, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS)
CELL_CHARACTERS = 80
AssetEvents = Iterator[dg.MaterializeResult[Any] | dg.AssetCheckResult]
Materialise = Callable[..., AssetEvents]
AssetDecorator = Callable[[Materialise], dg.AssetsDefinition]


def graph_asset(extractor: Extractor, partitions: dg.PartitionsDefinition[str]) -> dg.AssetsDefinition:
    """Return the asset of a graph dataset, named after it and partitioned by New York day unless it is a snapshot."""
    with warnings.catch_warnings(action="ignore", category=dg.BetaWarning):  # backfill_policy, for years
        return _asset(extractor, partitions)


def _asset(extractor: Extractor, partitions: dg.PartitionsDefinition[str]) -> dg.AssetsDefinition:
    dataset = extractor.dataset
    lineage = column_lineage(extractor, SOURCE.key)

    @dataset_asset(
        dataset,
        "neo4j",
        partitions_def=partitions if dataset.partitioned else None,
        backfill_policy=dg.BackfillPolicy.single_run() if dataset.partitioned else None,
        deps=[SOURCE.key, *extractor.after],
        pool=POOL,
        retry_policy=RETRY,
    )
    def materialise(
        context: dg.AssetExecutionContext, graph: GraphResource, lake: LakeResource, settings: ExtractionSettings
    ) -> AssetEvents:
        days = [date.fromisoformat(key) for key in context.partition_keys] if dataset.partitioned else []
        with not_retried(), graph.connect() as door:
            report = attempt_partitions(
                extractor,
                days,
                door,
                lake.open(),
                run_id=context.run.run_id,
                publication_lag=settings.publication_lag(),
                audits=(expected,),
            )
        yield from dagster_events(context, dataset, report, {"dagster/column_lineage": lineage})

    return materialise


def dataset_asset(
    dataset: Dataset,
    *kinds: str,
    deps: Sequence[str | dg.AssetKey | dg.AssetDep] = (),
    partitions_def: dg.PartitionsDefinition[str] | None = None,
    automation_condition: dg.AutomationCondition[Any] | None = None,
    **more: Any,
) -> AssetDecorator:
    """Return the decorator that makes an asset of a dataset, described by its contract; `more` is passed to Dagster.

    If only checks are selected, those that need no run are executed on the published rows.
    """
    spec = dg.AssetSpec(
        dataset.name,
        deps=deps,
        description=description(dataset),
        group_name=dataset.group,
        owners=[f"team:{dataset.owner}"],
        kinds={*kinds, "deltalake"},
        tags={"lane": str(dataset.lane), "mode": "open" if dataset.open_only else "as_of"},
        metadata={"dagster/column_schema": column_schema(dataset)},
        freshness_policy=dg.FreshnessPolicy.time_window(dataset.freshness) if dataset.freshness else None,
        automation_condition=automation_condition,
        partitions_def=partitions_def,
        skippable=True,  # A run of named releases reports each release itself.
    )

    def decorate(materialise: Materialise) -> dg.AssetsDefinition:
        @dg.multi_asset(
            name=dataset.name, specs=[spec], check_specs=check_specs(dataset), partitions_def=partitions_def,
            can_subset=True, **more,
        )  # fmt: skip
        @functools.wraps(materialise)
        def run(context: dg.AssetExecutionContext, lake: LakeResource, **inputs: Any) -> AssetEvents:
            if context.selected_asset_keys:
                yield from materialise(context, lake=lake, **inputs)
            else:
                chosen_checks = {key.name for key in context.selected_asset_check_keys}
                with not_retried():
                    results = list(check_results(dataset, check_lake(dataset, lake.open())))
                if unmade := sorted(chosen_checks - {result.check_name for result in results}):
                    context.log.warning("not checked, because only a run of the asset can: %s", ", ".join(unmade))
                yield from (result for result in results if result.check_name in chosen_checks)

        return run

    return decorate


@contextlib.contextmanager
def not_retried() -> Iterator[None]:
    """Fail a run without retries for bad input or a missing capture or lake, because a retry would not help."""
    try:
        yield
    except (BadInput, NotCaptured, LakeNotFound) as problem:
        raise dg.Failure(str(problem), allow_retries=False) from problem


def dagster_events(
    context: dg.AssetExecutionContext,
    dataset: Dataset,
    report: RunReport,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> AssetEvents:
    """Yield the report as Dagster events: a materialisation with its checks, or the checks and a failure.

    more: metadata of the run in addition to the report's.
    """
    log_report(context, report)
    checks = list(check_results(dataset, report.checks))
    if isinstance(report.outcome, CheckFailed):
        yield from checks
        raise dg.Failure(str(report.outcome), metadata=refusal_metadata(report.outcome), allow_retries=False)
    whole = run_metadata(report, report.outcome) | dict(more)
    if dataset.partitioned:
        # Only the last partition gets the counts of the run, so that a range does not store them for each day.
        last = max(context.partition_keys)
        for day in context.partition_keys:
            count = report.outcome.per_day[day]
            if day == last or count.extracted:
                rows = {"dagster/partition_row_count": count.published + count.unchanged}
                context.add_asset_metadata(rows | vars(count) | (whole if day == last else {}), partition_key=day)
    yield dg.MaterializeResult(metadata=None if dataset.partitioned else whole, check_results=checks)


def log_report(context: dg.AssetExecutionContext, report: RunReport) -> None:
    """Log the warnings of a run and, if it published, its counts and version in one line."""
    for note in (*report.notes, *refused_records(report)):
        context.log.warning(note)
    if isinstance(report.outcome, Published):
        counts = vars(report.outcome.total) | {"refused": sum(map(_refused, report.checks))}
        version = f"lake version {report.outcome.version}" if report.outcome.changed else "no new version"
        context.log.info("%s; %s", ", ".join(f"{name} {count:,}" for name, count in counts.items()), version)


def _refused(check: CheckResult) -> int:
    """Return the number of records that a check turned into gaps."""
    counts = [fact for name, fact in check.facts.items() if name != "rows" and isinstance(fact, int)]
    return sum(counts) if check.name in REFUSING and not check.passed else 0


def refused_records(report: RunReport) -> Iterator[str]:
    """Yield one line per check that refused records, with the counts by reason and some of the records."""
    for check in report.checks:
        if check.name in REFUSING and not check.passed:
            counts = ", ".join(f"{name}={fact}" for name, fact in check.facts.items() if name != "rows")
            records = ", ".join(check.examples)
            yield f"{report.dataset}: {check.name} refused records, which are gaps now: {counts}, such as {records}"


def refusal_metadata(refusal: CheckFailed) -> dict[str, dg.MetadataValue]:
    """Return the locators of the source records to look at first, never their values."""
    return {"examples": dg.MetadataValue.md("\n".join(f"- `{example}`" for example in refusal.examples) or "none")}


def run_metadata(report: RunReport, published: Published) -> dict[str, Any]:
    """Return the metadata that Dagster shows for a published run."""
    total = published.total
    gaps = [
        dg.TableRecord({"type": kind, "reason": reason, "count": count})
        for (kind, reason), count in Counter(report.gaps).most_common()
    ]
    gap_schema = dg.TableSchema([dg.TableColumn("type"), dg.TableColumn("reason"), dg.TableColumn("count", "int")])
    return {
        **{f"run {name}": count for name, count in vars(total).items()},
        "run revisions": published.revisions,
        "run new gaps": published.new_gaps,
        "gaps by reason": dg.MetadataValue.table(gaps, gap_schema),
        "lake version": published.version,
        "new version": published.changed,
        "bytes": published.bytes,
        "files": published.files,
        "preview": dg.MetadataValue.md(preview(report.preview)),
        "evidence": dg.MetadataValue.md(
            "\n".join(f"- `{locator}`" for locator in report.preview["evidence"].to_pylist())
        ),
    }


def description(dataset: Dataset) -> str:
    """Return the contract as text for the asset's page."""
    return f"{dataset.summary}\n\n**Available:** {dataset.availability}\n\n**Key:** {', '.join(dataset.key)}"


def column_schema(dataset: Dataset) -> dg.TableSchema:
    """Return the columns that agents see, according to the contract."""
    nullable = {column.name for column in dataset.columns if not column.required}
    return dg.TableSchema(
        [
            dg.TableColumn(
                column.name,
                column.type,
                column.meaning,
                constraints=dg.TableColumnConstraints(nullable=column.name in nullable),
            )
            for column in agent_columns(dataset)
        ]
    )


def preview(rows: pa.Table) -> str:
    """Return the first staged rows as a Markdown table with long texts truncated."""
    if not rows.num_rows:
        return "none"
    names = rows.column_names
    lines = [_line(names), _line(["---"] * len(names))]
    lines += [_line([_cell(row[name]) for name in names]) for row in rows.to_pylist()]
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: object) -> str:
    text = clock.iso(value) if isinstance(value, datetime) else "" if value is None else str(value)
    cut = text if len(text) <= CELL_CHARACTERS else f"{text[:CELL_CHARACTERS]}…"
    return cut.replace("|", "\\|").replace("\n", " ")
