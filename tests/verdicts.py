"""Comparison of a lake's content with the manifest, for the acceptance test and the demo. It reads all files of the
lake directly, past and future, so it is only for trusted code.
"""

import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import cast

import duckdb

from pitlake.clock import iso
from pitlake.contract import gap_table_name
from pitlake.datasets import get
from pitlake.lake.storage.manifest import Snapshot
from sample.expectations import ABSENT, GAP, REVISIONS, Expectation, Revision, Values

Row = Mapping[str, object]


class Outcomes:
    """The rows and gaps of one lake version. observed_from: the earliest instant at which a run observed its
    records.
    """

    def __init__(self, snapshot: Snapshot, observed_from: datetime) -> None:
        self._observed_from = observed_from
        self._tables = {name: [file.path for file in state.files] for name, state in snapshot.tables.items()}
        self._connection = duckdb.connect()

    def faults(self, expectation: Expectation) -> list[str]:
        """Return the differences from the expectation, one line each."""
        if expectation.kind == GAP:
            return self._gap_faults(expectation)
        if expectation.kind == ABSENT:
            return self._presence(expectation)
        rows = self._rows(expectation.dataset, expectation.key)
        revisions = expectation.revisions or (Revision(expectation.values, expectation.available_at),)
        if len(rows) != len(revisions):
            return [f"{len(rows)} rows instead of {len(revisions)}"]
        pairs = zip(rows, revisions, strict=True)
        faults = [fault for got, revision in pairs for fault in self._row_faults(expectation.dataset, got, revision)]
        if expectation.kind != REVISIONS and expectation.locator not in ("", rows[0]["evidence"]):
            faults.append(f"evidence is {rows[0]['evidence']}")
        return faults

    def _gap_faults(self, expectation: Expectation) -> list[str]:
        gaps = self._rows(gap_table_name(expectation.dataset), {"locator": expectation.locator})
        if [(gap["gap_type"], gap["reason"]) for gap in gaps] != [(expectation.gap_type, expectation.reason)]:
            return [f"the gaps are {[gap['reason'] for gap in gaps]}"]
        faults = self._instant_faults(gaps[0], expectation.available_at)
        if self._rows(expectation.dataset, {"evidence": expectation.locator}):
            faults.append("it is a row too")
        return faults

    def _presence(self, expectation: Expectation) -> list[str]:
        dataset, locator = expectation.dataset, expectation.locator
        faults = []
        if expectation.key and self._rows(dataset, expectation.key):
            faults.append("there are rows")
        if locator and self._rows(dataset, {"evidence": locator}):
            faults.append("it is a row")
        if locator and self._rows(gap_table_name(dataset), {"locator": locator}):
            faults.append("it is a gap")
        return faults

    def _row_faults(self, dataset: str, row: Row, revision: Revision) -> list[str]:
        kinds = {column.name: column.type for column in get(dataset).columns}
        faults = self._instant_faults(row, revision.available_at)
        for column, value in revision.values.items():
            if not _same(row[column], value, kinds[column]):
                faults.append(f"{column} is {row[column]!r} instead of {value!r}")
        return faults

    def _instant_faults(self, row: Row, expected_at: str | None) -> list[str]:
        moment = cast("datetime", row["available_at"])
        as_stated = moment >= self._observed_from if expected_at is None else iso(moment) == expected_at
        return [] if as_stated else [f"available at {iso(moment)} instead of {expected_at or 'the observation'}"]

    def _rows(self, table: str, columns: Values) -> list[dict[str, object]]:
        if not self._tables.get(table):
            return []
        where = " AND ".join(f"{name} IS NOT DISTINCT FROM ?" for name in columns)
        query = f"SELECT * FROM read_parquet(?, hive_partitioning = false) WHERE {where} ORDER BY available_at"
        answer = self._connection.execute(query, [self._tables[table], *columns.values()])
        names = [column[0] for column in answer.description or ()]
        return [dict(zip(names, values, strict=True)) for values in answer.fetchall()]


def _same(got: object, expected: object, kind: str) -> bool:
    if kind == "json" and isinstance(got, str):
        got = json.loads(got)
    if isinstance(got, float) and isinstance(expected, float):
        return math.isclose(got, expected, rel_tol=1e-12, abs_tol=1e-12)
    return got == expected
