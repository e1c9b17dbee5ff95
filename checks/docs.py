"""Builds the data docs of Great Expectations: each dataset's suite, and how the newest rows of the lake stand to it.

`python -m checks.docs FOLDER` writes a static site that opens offline; counts alone, no values. Validation before a
publish is `checks.expectations`; nothing is refused here.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from checks.expectations import frame, library, suite
from checks.rules import rules
from pitlake.contract import Dataset
from pitlake.datasets import all_datasets
from pitlake.errors import BadInput, PitlakeError
from pitlake.lake.lake import Lake
from pitlake.lake.log import Entry
from pitlake.lake.manifest import Snapshot
from pitlake.lake.stage import staged_schema

DEFAULT_FOLDER = Path(".pitlake") / "expectations"
MOST_ROWS = 100_000


def build(lake: Lake, target: Path, contracts: Iterable[Dataset] | None = None) -> Path:
    """Write the data docs of the newest version into a folder, in place of what is there; returns the first page.

    Raises LakeNotFound, LakeError, and BadInput for a folder that holds something else.
    """
    if target.exists() and not (target / "index.html").exists() and any(target.iterdir()):
        raise BadInput("folder", f"{target} holds other files", "name a new or empty folder")
    entry = lake.entry()
    snapshot = lake.snapshot(entry.version)
    with tempfile.TemporaryDirectory() as project:
        context = library().get_context(mode="file", project_root_dir=project)
        context.variables.progress_bars = {"globally": False}
        for dataset in contracts or all_datasets().values():
            _validate(context, dataset, snapshot, entry)
        context.build_data_docs()
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(Path(project) / "gx" / "uncommitted" / "data_docs" / "local_site", target)
    return target / "index.html"


def newest_rows(dataset: Dataset, snapshot: Snapshot) -> pa.Table:
    """The rows of the newest files of a dataset, as they were staged; some more than MOST_ROWS at most."""
    chosen, count = [], 0
    for file in sorted(snapshot.files(dataset.name), key=lambda file: file.hi, reverse=True):
        if count < MOST_ROWS:
            chosen.append(file)
            count += file.rows
    snapshot.fetch(chosen)
    schema = staged_schema(dataset)
    tables = (pq.read_table(file.path, columns=schema.names, partitioning=None) for file in chosen)
    return pa.concat_tables([schema.empty_table(), *(table.cast(schema) for table in tables)])


def _validate(context: Any, dataset: Dataset, snapshot: Snapshot, entry: Entry) -> None:
    listed = rules(dataset, (None, entry.committed_at))
    kept = context.suites.add(suite(dataset, listed))
    rows = newest_rows(dataset, snapshot)
    if not rows.num_rows:
        return
    asset = context.data_sources.add_pandas(dataset.name).add_dataframe_asset(dataset.name)
    batch = asset.add_batch_definition_whole_dataframe(f"version {entry.version}")
    definition = library().ValidationDefinition(name=dataset.name, data=batch, suite=kept)
    context.validation_definitions.add(definition).run(
        batch_parameters={"dataframe": frame(rows)},
        result_format={"result_format": "BASIC", "partial_unexpected_count": 0},
    )


def main(arguments: list[str]) -> int:
    """Build them and print the first page's path. Returns the exit code."""
    try:
        if len(arguments) > 1:
            raise BadInput(
                "folder", "must be one path", "type for example: python -m checks.docs .pitlake/expectations"
            )
        page = build(Lake(), Path(arguments[0]) if arguments else DEFAULT_FOLDER)
    except PitlakeError as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command line
        return error.exit_code
    print(page.absolute())  # noqa: T201 - a command line
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
