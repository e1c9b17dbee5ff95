"""The Dagster assets of derived datasets: each downstream of every dataset it reads, run on the lake alone.

What is derived is decided by the modules beside this one. Called by `pipelines.definitions`.
"""

from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg

from assets.derived import earnings_events
from assets.factory import column_schema, description, shown
from assets.runs import RunReport
from checks.audit import check_specs
from pitlake.contract import Dataset
from pitlake.datasets import all_datasets, get
from resources.lake import LakeResource


def derived_assets() -> list[dg.AssetsDefinition]:
    """Every derived dataset's asset."""
    return [derived_asset(get("earnings_events"), earnings_events.READS, earnings_events.derive)]


def derived_asset(dataset: Dataset, reads: tuple[str, ...], derive: Callable[..., RunReport]) -> dg.AssetsDefinition:
    """The asset of one derived dataset; `derive` takes the lake and `run_id`."""

    @dg.asset(
        name=dataset.name,
        description=description(dataset),
        group_name=dataset.group,
        owners=[f"team:{dataset.owner}"],
        kinds={"duckdb", "deltalake"},
        tags={"lane": str(dataset.lane), "mode": "open" if dataset.open_only else "as_of"},
        metadata={"dagster/column_schema": column_schema(dataset)},
        check_specs=check_specs(dataset),
        deps=[name for name in reads if name in all_datasets()],
    )
    def materialise(
        context: dg.AssetExecutionContext, lake: LakeResource
    ) -> Iterator[dg.MaterializeResult[Any] | dg.AssetCheckResult]:
        yield from shown(context, dataset, derive(lake.open(), run_id=context.run.run_id))

    return materialise
