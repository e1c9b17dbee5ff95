"""Functions in the styles of pandas, polars and DuckDB: those that look ahead are accused, and no others."""

import ast
import sys
from pathlib import Path

import pytest

from pitlake.check import runners
from pitlake.check.checking import check
from pitlake.check.tasks import Function, Task
from pitlake.check.worlds import Worlds
from pitlake.clock import instant
from pitlake.errors import BadInput
from pitlake.lake import Lake

HERE = Path(__file__).parent
SINCE, UNTIL = "2024-02-15", "2024-05-31"
SAMPLE = {"pandas_numbered_in_a_column", "sql_over_a_frame", "polars_centred", "pandas_days_before_a_rise"}
FAST = {"file_by_arrow_filesystem", "file_by_a_connection_of_ones_own", "file_by_sqlite", "process_by_subprocess"}


def functions(name: str, fast: set[str]) -> list[object]:
    nodes = ast.parse((HERE / name).read_text()).body
    names = [node.name for node in nodes if isinstance(node, ast.FunctionDef)]
    chosen = [each for each in names if each.partition("_")[0] in ("pandas", "polars", "sql", "file", "process")]
    return [each if each in fast else pytest.param(each, marks=pytest.mark.long) for each in chosen]


HONEST, PEEKING = functions("honest.py", SAMPLE), functions("peeking.py", SAMPLE)


def test_there_are_forty_honest_and_forty_peeking_functions():
    assert (len(HONEST), len(PEEKING)) == (40, 40)


@pytest.mark.parametrize("name", HONEST)
def test_a_function_that_looks_back_is_not_accused(name, lake):
    report = check(f"{HERE / 'honest.py'}::{name}", SINCE, UNTIL, trials=1, lake=lake)
    assert report.findings == []
    assert report.compared >= 2


@pytest.mark.parametrize("name", PEEKING)
def test_a_function_that_looks_ahead_is_found(name, lake):
    report = check(f"{HERE / 'peeking.py'}::{name}", SINCE, UNTIL, trials=1 if name in SAMPLE else 10, lake=lake)
    assert "future" in {finding.kind for finding in report.findings}, str(report)


@pytest.mark.parametrize("name", functions("outside.py", FAST))
def test_each_way_to_read_outside_the_lake_is_detected(name, lake, tmp_path):
    snapshot = Worlds(Lake(lake).snapshot(), ["news"], tmp_path / "worlds").full
    task = Task(
        function=Function.parse(f"{HERE / 'outside.py'}::{name}"),
        snapshot=snapshot,
        instants=(instant("2024-03-01T21:00:00Z"),),
        datasets=("news",),
        paths=tuple(sys.path),
        lake=str(lake),
        folder=tmp_path / "worlds",
    )
    children = runners.Runners(1)
    (reply,) = children.run([task])[0]
    assert reply.error == ""
    assert name.partition("_")[0] in {sighting.kind for sighting in reply.sightings}


def undated(session):
    return session.sql("SELECT close FROM prices ORDER BY symbol, date").df()


def constant(session):
    return {"answer": 42}


def of_the_end(session):
    return session.sql("SELECT date, close FROM prices WHERE date > DATE '2024-06-10'").df()


def of_next_year(session):
    return session.sql("SELECT date + INTERVAL 1 YEAR AS date, symbol, close FROM prices").df()


@pytest.mark.parametrize(
    ("function", "since", "until", "reason"),
    [
        (undated, SINCE, UNTIL, "without dates or names"),
        (constant, SINCE, UNTIL, "never queries its session"),
        (of_next_year, SINCE, UNTIL, "no row of the result is dated"),
    ],
)
def test_a_check_that_compared_nothing_is_an_error(function, since, until, reason, lake):
    with pytest.raises(BadInput, match=reason):
        check(function, since, until, trials=2, lake=lake)


def test_the_cut_of_a_history_that_begins_late_lies_after_its_first_row(lake):
    """There are no rows as of the first instant itself, so only the two worlds of the one cut are compared."""
    report = check(of_the_end, SINCE, "2024-06-16", trials=1, lake=lake)
    assert (report.findings, report.compared) == ([], 2)
