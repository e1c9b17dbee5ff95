"""Checks of the lake's published rows, for the report and for checks that are run alone in Dagster.

The results are counts and contain no values. Nothing is refused here; `checks.expectations` checks staged rows before a
publish.
"""

from pathlib import Path

import pyarrow as pa

from checks.expectations import judge, validate
from pitlake import clock
from pitlake.contract import Dataset
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.audit import CheckResult, freshness
from pitlake.lake.publishing.expectations import rules
from pitlake.lake.publishing.stage import staged_schema
from pitlake.lake.storage.log import Entry
from pitlake.lake.storage.manifest import Snapshot
from pitlake.lake.tables import compacted
from pitlake.lake.tables.newest import newest_record
from pitlake.report.site import ExpectationResult, ExpectationResults

MOST_ROWS = 100_000


def standing(dataset: Dataset, snapshot: Snapshot, entry: Entry) -> ExpectationResults:
    """Return every expectation of a dataset, each with the number of newest rows that break it."""
    expectations, rows = rules(dataset, (None, entry.committed_at)), newest_rows(dataset, snapshot)
    broken = validate(rows, expectations) if rows.num_rows else {}
    return ExpectationResults(
        rows.num_rows,
        tuple(ExpectationResult(rule.name, rule.severity, broken.get(rule.name, 0)) for rule in expectations),
    )


def check_lake(dataset: Dataset, lake: Lake) -> tuple[CheckResult, ...]:
    """Return the results of the checks that need no run: the newest rows' expectations, and current freshness.

    Raises LakeError if the lake is missing or its files can't be read.
    """
    entry = lake.entry()
    snapshot = lake.snapshot(entry.version)
    newest = newest_record(dataset, snapshot.files(dataset.name), snapshot.fetch)
    return (
        *judge(newest_rows(dataset, snapshot), rules(dataset, (None, entry.committed_at))),
        freshness(dataset, newest, lake.judged_at(clock.now()), lake.ends_at),
    )


def newest_rows(dataset: Dataset, snapshot: Snapshot) -> pa.Table:
    """Return the rows of the newest files of a dataset in staged form, slightly more than MOST_ROWS at most."""
    chosen, count = [], 0
    for file in sorted(snapshot.files(dataset.name), key=lambda file: file.hi, reverse=True):
        if count < MOST_ROWS:
            chosen.append(file)
            count += file.rows
    snapshot.fetch(chosen)
    schema = staged_schema(dataset)
    tables = [schema.empty_table()]
    for file in chosen:
        with Path(file.path).open("rb") as source:
            tables.append(compacted.shaped(compacted.read(source, schema.names, None, None), schema))
    return pa.concat_tables(tables)
