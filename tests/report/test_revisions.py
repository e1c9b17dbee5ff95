"""Revisions are counted as in a loop over all rows, for all files and even if hashes collide."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitlake.clock import new_york_day
from pitlake.lake.storage.files import write_parquet
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.tables.query import calculator, reading
from pitlake.report.revisions import RevisionCounter
from tests.lake.world import TOY

MIDNIGHT = datetime(2024, 3, 10, 4, tzinfo=timezone.utc)  # 23:00 in New York, hours before its clocks change
TOYS = replace(TOY, key=("key", "maker"), identity=("key", "maker"), thing=("key", "maker"))
ROWS = st.tuples(
    st.sampled_from("abcd"),
    st.sampled_from(["x", None]),
    st.integers(-30, 30).map(lambda hour: MIDNIGHT + timedelta(hours=hour)),
)
FILES = st.lists(st.lists(ROWS, min_size=1, max_size=6), min_size=1, max_size=4)


def written(folder, number, rows):
    """Write rows of a key, a maker and an instant to a file."""
    names = dict.fromkeys((*TOYS.key, *TOYS.revision_order, "available_at"))
    schema = pa.schema([TOYS.arrow_schema.field(name) for name in names])
    reply = [
        dict.fromkeys(names, "") | {"key": key, "maker": maker, "available_at": moment, "content_hash": b"%d" % place}
        for place, (key, maker, moment) in enumerate(rows)
    ]
    path = folder / f"{number}.parquet"
    write_parquet(pa.Table.from_pylist(reply, schema), path)
    return DataFile(str(path), len(rows), path.stat().st_size, MIDNIGHT, MIDNIGHT)


def looped(files):
    """Return the rows per day other than the earliest of each key, and the number of keys with such rows."""
    instants = {}
    for key, maker, moment in (row for rows in files for row in rows):
        instants.setdefault((key, maker), []).append(moment)
    later = [new_york_day(moment) for of_key in instants.values() for moment in sorted(of_key)[1:]]
    return dict(Counter(later)), sum(len(of_key) > 1 for of_key in instants.values())


def all_hashes(sql, files):
    """Return the hashes of all keys, as if each also belonged to another key."""
    if not files:
        return np.empty(0, np.uint64)
    return sql.sql(f"SELECT DISTINCT hash(key, maker) AS hashed FROM {reading(files)}").fetchnumpy()["hashed"]


@pytest.mark.parametrize("every", [False, True], ids=["repeated hashes", "as if all hashes met"])
@given(FILES)
@settings(max_examples=40, deadline=None)
def test_revisions_are_all_rows_but_the_first_of_each_key(tmp_path_factory, every, rows):
    folder = tmp_path_factory.mktemp("revisions")
    files = [written(folder, number, each) for number, each in enumerate(rows)]
    with calculator() as sql:
        counter = RevisionCounter(sql, TOYS)
        if every:
            counter._repeated = partial(all_hashes, sql)
        for count in (len(files), len(files) - 1, 0):
            result = counter.of(files[:count])
            assert (dict(result.by_day), result.keys) == looped(rows[:count])
            assert result.rows == sum(result.by_day.values())
