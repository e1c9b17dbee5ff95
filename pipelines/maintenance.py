"""The lake's upkeep as a Dagster job: compaction, then vacuum, which removes files only if a run's config says so.

pitlake.lake implements both and protects stored receipts and their versions.
"""

from datetime import timedelta

import dagster as dg
from pydantic import Field

from pitlake.datasets import all_datasets
from pitlake.session import index_searches
from resources.lake import LakeResource


class VacuumConfig(dg.Config):
    """The config of a vacuum."""

    dry_run: bool = Field(default=True, description="Only report the files that are not needed.")
    keep_days: int = Field(default=30, ge=0, description="Keep versions that were the newest within this many days.")


@dg.op(out=dg.Out(dg.Nothing), description="Merges finished months and years into one file each, dataset by dataset.")
def compact(context: dg.OpExecutionContext, lake: LakeResource) -> None:
    """Compact every dataset the lake has, and make the indexes of words that searches of it would make."""
    target = lake.open()
    present = [name for name in all_datasets() if target.snapshot().files(name)]
    done = [compaction for name in present if (compaction := target.compact(name)).changed]
    index_searches(target, [compaction.dataset for compaction in done])
    context.add_output_metadata(
        {"merged": {compaction.dataset: f"{compaction.files_before} → {compaction.files_after}" for compaction in done}}
    )


@dg.op(ins={"after": dg.In(dg.Nothing)}, description="Removes files that no kept version and no stored receipt needs.")
def vacuum(context: dg.OpExecutionContext, config: VacuumConfig, lake: LakeResource) -> None:
    """Vacuum the lake, or report what a vacuum would remove."""
    done = lake.open().vacuum(timedelta(days=config.keep_days), dry_run=config.dry_run)
    context.add_output_metadata(
        {
            "dry run": config.dry_run,
            "files": len(done.files),
            "leftovers": len(done.leftovers),
            "bytes": done.bytes,
            "versions lost": list(done.versions),
        }
    )


@dg.job(description="Compacts the lake and runs a vacuum, which only reports unless its config has dry_run: false.")
def maintenance() -> None:
    """Compact, then vacuum."""
    vacuum(compact())
