"""The Dagster assets of derived datasets: each is downstream of its inputs and reads only the lake.

The other modules of this folder derive the rows.
"""

from collections.abc import Callable, Sequence
from typing import Any

import dagster as dg
from pydantic import Field

from assets.derived import drift, earnings_events, names, text_vectors
from assets.derived.earnings_bundles import Event, events
from assets.external import all_feeds
from assets.factory import AssetEvents, dagster_events, dataset_asset
from checks.expectations import expected
from pitlake.contract import Dataset
from pitlake.datasets import all_datasets, get
from resources.lake import LakeResource


class DriftConfig(dg.Config):
    """The datasets to measure again."""

    mode: str = Field(
        default="replay", description="replay: compare the newest captures; refresh: query the providers again."
    )
    datasets: list[str] = Field(default_factory=list, description="Datasets of feeds; blank: all requested before.")


ON_INPUTS = (
    dg.AutomationCondition.any_deps_updated().since_last_handled()
    & ~dg.AutomationCondition.any_deps_in_progress()
    & ~dg.AutomationCondition.in_progress()
).with_label("after its inputs")
"""The condition is not `eager`, which would wait until each day of each input was loaded."""

follow_inputs = dg.AutomationConditionSensorDefinition(
    "follow_inputs",
    target=dg.AssetSelection.assets("names", "earnings_events", "text_vectors"),
    description="Derive names, earnings releases and vectors of texts when runs of their inputs have ended.",
)

OnEvents = Callable[[dg.DagsterInstance, Sequence[Event]], object]
"""Called with all releases once they are published. The caller stores the partitions."""


def derived_assets(on_events: OnEvents) -> list[dg.AssetsDefinition]:
    return [names_asset(), earnings_events_asset(on_events), text_vectors_asset(), drift_asset()]


def names_asset() -> dg.AssetsDefinition:
    """Return the asset `names`, downstream of every dataset that contains or captures names."""

    @_asset(get("names"), names.READS)
    def named(context: dg.AssetExecutionContext, lake: LakeResource) -> AssetEvents:
        report = names.derive(lake.open(), run_id=context.run.run_id, audits=[expected])
        yield from dagster_events(context, get("names"), report)

    return named


def earnings_events_asset(on_events: OnEvents) -> dg.AssetsDefinition:
    """Return the asset of earnings events, downstream of the datasets with statements. Each release is a partition."""

    @_asset(get("earnings_events"), earnings_events.READS)
    def earnings(context: dg.AssetExecutionContext, lake: LakeResource) -> AssetEvents:
        lake_now = lake.open()
        report = earnings_events.derive(lake_now, run_id=context.run.run_id, audits=[expected])
        yield from dagster_events(context, get("earnings_events"), report)
        on_events(context.instance, events(lake_now))

    return earnings


def text_vectors_asset() -> dg.AssetsDefinition:
    """Return the asset of text vectors, downstream of every dataset that has texts."""

    @_asset(get("text_vectors"), text_vectors.READS)
    def vectors(context: dg.AssetExecutionContext, lake: LakeResource) -> AssetEvents:
        report = text_vectors.derive(lake.open(), run_id=context.run.run_id, audits=[expected])
        yield from dagster_events(context, get("text_vectors"), report)

    return vectors


def drift_asset() -> dg.AssetsDefinition:
    """Return the asset of drift, downstream of every dataset that is filled from a provider."""

    @_asset(get("drift"), tuple(all_feeds()), None)
    def measured(context: dg.AssetExecutionContext, config: DriftConfig, lake: LakeResource) -> AssetEvents:
        report = drift.derive(
            lake.open(), run_id=context.run.run_id, datasets=config.datasets, mode=config.mode, audits=[expected]
        )
        yield from dagster_events(context, get("drift"), report)

    return measured


def _asset(
    dataset: Dataset, reads: tuple[str, ...], condition: dg.AutomationCondition[Any] | None = ON_INPUTS
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    deps = [name for name in reads if name in all_datasets()]
    return dataset_asset(dataset, "duckdb", deps=deps, automation_condition=condition)
