"""Expectation results for the newest rows of the lake, by Great Expectations, for the report.

The results are counts and contain no values. `checks.expectations` checks staged rows before a publish; nothing is
refused here.
"""

from pathlib import Path

import pyarrow as pa

from checks.expectations import validate
from pitlake.contract import Dataset
from pitlake.lake.publishing.expectations import rules
from pitlake.lake.publishing.stage import staged_schema
from pitlake.lake.storage.log import Entry
from pitlake.lake.storage.manifest import Snapshot
from pitlake.lake.tables import compacted
from pitlake.report.site import ExpectationResult, ExpectationResults

MOST_ROWS = 100_000


def standing(dataset: Dataset, snapshot: Snapshot, entry: Entry) -> ExpectationResults:
    """Return every expectation of a dataset and the number of its newest rows that break it."""
    expectations, rows = rules(dataset, (None, entry.committed_at)), newest_rows(dataset, snapshot)
    broken = validate(rows, expectations) if rows.num_rows else {}
    return ExpectationResults(
        rows.num_rows,
        tuple(ExpectationResult(rule.name, rule.severity, broken.get(rule.name, 0)) for rule in expectations),
    )


def newest_rows(dataset: Dataset, snapshot: Snapshot) -> pa.Table:
    """Return the rows of the newest files of a dataset, as they were staged; slightly more than MOST_ROWS at most."""
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
