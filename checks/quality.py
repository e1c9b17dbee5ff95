"""The quality report with expectation results, as a Dagster asset downstream of every dataset and as a command,
`python -m checks.quality`. pitlake.report writes it.

`pitlake report` writes the same report without the expectations, because it does not have their library.
"""

import os
import sys
from pathlib import Path

import dagster as dg
from pydantic import Field

from checks.standing import standing
from pitlake.datasets import all_datasets
from pitlake.errors import PitlakeError
from pitlake.lake.lake import Lake
from pitlake.report import site
from resources.lake import LakeResource

FOLDER_VARIABLE = "PITLAKE_REPORT"
DEFAULT_FOLDER = Path(".pitlake") / "report"


class ReportSettings(dg.Config):
    """The settings of the report."""

    folder: str = Field(
        default="", description=f"The folder to write; blank: {FOLDER_VARIABLE}, else ./.pitlake/report."
    )


@dg.asset(
    group_name="quality",
    owners=["team:data"],
    kinds={"html"},
    deps=[dg.AssetKey(name) for name in all_datasets()],
    description="A static site that shows how far each dataset can be trusted. It opens offline.",
)
def quality_report(config: ReportSettings, lake: LakeResource) -> dg.MaterializeResult[None]:
    """Write the report of the newest version; return its location and what needs attention."""
    folder = _folder(config.folder)
    report = site.read(lake.open(), judge=standing)
    site.write(report, folder)
    failing = {
        measures.dataset.name: [check.name for check in measures.failing]
        for measures in report.shown
        if measures.failing
    }
    return dg.MaterializeResult(
        metadata={
            "report": dg.MetadataValue.path(folder.absolute() / site.INDEX),
            "lake version": report.version.version,
            "datasets": len(report.shown),
            "rows": sum(measures.counts.rows for measures in report.shown),
            "gaps": sum(measures.counts.gaps for measures in report.shown),
            "late arrivals": sum(measures.late.count for measures in report.shown),
            "failing checks": dg.MetadataValue.json(failing),
            "broken expectations": sum(
                1 for standing in report.standing.values() for each in standing.expected if each.broken
            ),
        }
    )


def _folder(folder: str = "") -> Path:
    return Path(folder or os.environ.get(FOLDER_VARIABLE) or DEFAULT_FOLDER)


def main() -> int:
    """Write the report of the newest version and print its first page's path. Returns the exit code."""
    try:
        site.write(site.read(Lake(), judge=standing), _folder())
    except PitlakeError as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command line
        return error.exit_code
    print((_folder() / site.INDEX).absolute())  # noqa: T201 - a command line
    return 0


if __name__ == "__main__":
    sys.exit(main())
