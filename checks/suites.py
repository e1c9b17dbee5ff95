"""The contracts as named Great Expectations suites, for people who use that library.

`python -m checks.suites FOLDER` makes FOLDER a project of the library with one suite per dataset, `pitlake.DATASET`, or
updates the suites of such a project. A suite validates a dataset's view: `SELECT * FROM prices`.
"""

import sys
from pathlib import Path
from typing import Any

from checks.expectations import expectation, library
from pitlake.contract import Dataset
from pitlake.datasets import all_datasets
from pitlake.lake.publishing.expectations import standing_rules


def name_of(dataset: Dataset) -> str:
    return f"pitlake.{dataset.name}"


def suite(dataset: Dataset) -> Any:
    """Return a dataset's rules as an ExpectationSuite, except for the rule about a single run's window."""
    rules = standing_rules(dataset)
    return library().ExpectationSuite(name=name_of(dataset), expectations=[*map(expectation, rules)])


def export(folder: Path) -> list[str]:
    """Write the suite of every dataset into the project at a folder, created if missing. Return their names."""
    context = library().get_context(mode="file", project_root_dir=folder)
    for dataset in all_datasets().values():
        context.suites.add_or_update(suite(dataset))
    return [*map(name_of, all_datasets().values())]


def main(arguments: list[str]) -> int:
    """Export into the given folder. Return the exit code."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("name the folder to write: python -m checks.suites FOLDER", file=sys.stderr)  # noqa: T201 - a command line
        return 2
    names = export(Path(arguments[0]))
    print(f"{len(names)} suites, {names[0]} to {names[-1]}, in {arguments[0]}")  # noqa: T201 - a command line
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
