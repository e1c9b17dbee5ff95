"""The clocks' figures, counted by hour, match loops over all rows and DuckDB's quantiles, bit by bit."""

from collections import Counter
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pitlake.clock import from_micros, new_york_day
from pitlake.contract import INSTANT
from pitlake.lake.storage.files import write_parquet
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.tables.query import calculator, reading
from pitlake.report.clocks import LAGS, LONGEST, Clocks, clocks

MIDNIGHT = datetime(2024, 3, 10, 4, tzinfo=timezone.utc)  # 23:00 in New York, hours before its clocks change
EDGES = [bound for _, bound in LAGS]
NEAR = st.builds(lambda edge, micros: edge + timedelta(microseconds=micros), st.sampled_from(EDGES), st.integers(-2, 2))
LAG = st.one_of(NEAR, st.integers(-(10**9), 10**10).map(lambda micros: timedelta(microseconds=micros)))
ROWS = st.tuples(st.integers(-(10**11), 10**11), LAG, st.sampled_from(["told", "printed"]))
FILES = st.lists(st.lists(ROWS, min_size=1, max_size=8), min_size=1, max_size=3)
LAG_SECONDS = "(epoch_us(observed_at) - epoch_us(available_at)) / 1e6"


def written(folder, number, rows):
    """Write instants, lags and source tags to a file."""
    reply = {
        "available_at": pa.array([moment for moment, *_ in rows], INSTANT),
        "observed_at": pa.array([moment + lag for moment, lag, _ in rows], INSTANT),
        "available_at_source": pa.array([source for *_, source in rows]),
    }
    path = folder / f"{number}.parquet"
    write_parquet(pa.table(reply), path)
    return DataFile(str(path), len(rows), path.stat().st_size, MIDNIGHT, MIDNIGHT)


def name_of(lag):
    return next((name for name, bound in LAGS if lag < bound), LONGEST)


@given(FILES)
@settings(max_examples=60, deadline=None)
def test_clock_counts_and_quantiles_equal_those_of_loops_and_quantile_cont(tmp_path_factory, drawn):
    folder = tmp_path_factory.mktemp("clocks")
    files = [
        [(MIDNIGHT + timedelta(microseconds=micros), lag, source) for micros, lag, source in each] for each in drawn
    ]
    paths = [written(folder, number, rows) for number, rows in enumerate(files)]
    rows = [row for file in files for row in file]
    with calculator() as sql:
        result = clocks(sql, paths)
        question = f"SELECT quantile_cont({LAG_SECONDS}, [0.05, 0.5, 0.95]) FROM {reading(paths)}"
        [[quantiles]] = sql.sql(question).fetchall()
    assert list(result.quantiles) == quantiles
    assert result.days == Counter(new_york_day(moment) for moment, *_ in rows)
    assert {name: count for name, count in result.lags.items() if count} == Counter(name_of(lag) for _, lag, _ in rows)
    sources = Counter(source for *_, source in rows)
    assert list(result.sources.items()) == sorted(sources.items(), key=lambda each: (-each[1], each[0]))
    assert (result.newest, result.observed) == (max(row[0] for row in rows), max(row[0] + row[1] for row in rows))


@pytest.mark.parametrize("rows", [1, 2, 20, 21, 1_000])
def test_quantiles_between_rows_of_different_hours_equal_quantile_cont(tmp_path, rows):
    """Lags grow ever faster, so that most hours have only one lag and few hours are read."""
    file = written(tmp_path, 0, [(MIDNIGHT, timedelta(seconds=number**2 / 7), "told") for number in range(rows)])
    with calculator() as sql:
        [[expected]] = sql.sql(
            f"SELECT quantile_cont({LAG_SECONDS}, [0.05, 0.5, 0.95]) FROM {reading([file])}"
        ).fetchall()
        assert list(clocks(sql, [file]).quantiles) == expected


@given(st.lists(st.integers(-(10**15), 4 * 10**15).map(from_micros), min_size=1))
@example([datetime(1950, 1, 2, 4, 59, 59, 999999, timezone.utc), datetime(1950, 1, 2, 5, tzinfo=timezone.utc)])
@example([MIDNIGHT, MIDNIGHT - timedelta(microseconds=1), MIDNIGHT + timedelta(days=1, microseconds=-1)])
@settings(max_examples=40, deadline=None)
def test_a_row_counts_on_its_new_york_day(tmp_path_factory, moments):
    file = written(tmp_path_factory.mktemp("days"), 0, [(moment, timedelta(0), "told") for moment in moments])
    with calculator() as sql:
        assert clocks(sql, [file]).days == Counter(map(new_york_day, moments))


def test_without_rows_the_clocks_are_empty():
    with calculator() as sql:
        assert clocks(sql, []) == Clocks()
