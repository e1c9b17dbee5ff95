"""Exports the contracts as Great Expectations checkpoints, for users of that library.

`python -m checks.suites FOLDER` creates or updates a project of the library in FOLDER. Each dataset has a suite, a
validation definition and a checkpoint, `pitlake.DATASET`, for a frame of its view: `SELECT * FROM prices`.
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
    """Write every dataset's checkpoint, with suite and definition, into the project in a folder, which is created if
    missing. Return the checkpoints' names.
    """
    gx = library()
    context = gx.get_context(mode="file", project_root_dir=folder)
    views = context.data_sources.add_or_update_pandas("pitlake")
    for dataset in all_datasets().values():
        name = name_of(dataset)
        view = views.add_dataframe_asset(dataset.name).add_batch_definition_whole_dataframe("view")
        expectations = context.suites.add_or_update(suite(dataset))
        validation = gx.ValidationDefinition(name=name, data=view, suite=expectations)
        validation = context.validation_definitions.add_or_update(validation)
        context.checkpoints.add_or_update(gx.Checkpoint(name=name, validation_definitions=[validation]))
    return [*map(name_of, all_datasets().values())]


def main(arguments: list[str]) -> int:
    """Export into the given folder, and return the exit code."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("name the folder to write: python -m checks.suites FOLDER", file=sys.stderr)  # noqa: T201 - a command line
        return 2
    names = export(Path(arguments[0]))
    print(f"{len(names)} checkpoints, {names[0]} to {names[-1]}, in {arguments[0]}")  # noqa: T201 - a command line
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
