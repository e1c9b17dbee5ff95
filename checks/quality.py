"""The quality report as a Dagster asset, after every dataset, so that the UI leads to it. pitlake.report writes it.

Wired in `pipelines.definitions`; `pitlake report` writes the same without Dagster.
"""

import os
from pathlib import Path

import dagster as dg
from pydantic import Field

from pitlake.datasets import all_datasets
from pitlake.report import site
from resources.lake import LakeResource

FOLDER_VARIABLE = "PITLAKE_REPORT"
DEFAULT_FOLDER = Path(".pitlake") / "report"


class ReportSettings(dg.Config):
    """Where the report goes."""

    folder: str = Field(
        default="", description=f"The folder to write; blank: {FOLDER_VARIABLE}, else ./.pitlake/report."
    )


@dg.asset(
    group_name="quality",
    owners=["team:data"],
    kinds={"html"},
    deps=[dg.AssetKey(name) for name in all_datasets()],
    description="A static site that says how far each dataset can be trusted. It opens offline.",
)
def quality_report(config: ReportSettings, lake: LakeResource) -> dg.MaterializeResult[None]:
    """Write the report of the newest version and say where it is and what needs a look."""
    folder = Path(config.folder or os.environ.get(FOLDER_VARIABLE) or DEFAULT_FOLDER)
    report = site.build(lake.open(), folder)
    failing = {one.dataset.name: [check.name for check in one.failing] for one in report.shown if one.failing}
    return dg.MaterializeResult(
        metadata={
            "report": dg.MetadataValue.path(folder.absolute() / site.INDEX),
            "lake version": report.version.version,
            "datasets": len(report.shown),
            "rows": sum(one.counts.rows for one in report.shown),
            "gaps": sum(one.counts.gaps for one in report.shown),
            "late arrivals": sum(one.late.count for one in report.shown),
            "failing checks": dg.MetadataValue.json(failing),
        }
    )
