"""The interfaces of the check: the command line, the pytest fixture, and errors for bad input."""

import json
from datetime import date
from pathlib import Path
from time import sleep

import pytest

from pitlake import cli
from pitlake.check import check, runners
from pitlake.check.compare import differences
from pitlake.check.tables import answer_of
from pitlake.errors import BadInput
from pitlake.testing import pitlake_check

__all__ = ["pitlake_check"]
HERE = Path(__file__).parent
LEAKS, CLEAN = HERE / "leaks.py", HERE / "clean.py"
RANGE = ("--from", "2024-02-15", "--to", "2024-05-31", "--trials", "1")


def broken(session):
    raise ValueError("no figures")


def three(session, first, second):
    return None


def test_check_reports_the_column_row_values_and_dataset_of_a_leak(lake, capfd, monkeypatch):
    monkeypatch.setenv("PITLAKE_LAKE", str(lake))
    assert cli.invoke(["check", f"{LEAKS}::sql_lead", *RANGE, "--format", "json"]) == 1
    output = capfd.readouterr()
    facts = json.loads(output.out)
    (finding,) = facts["findings"]
    assert (finding["kind"], finding["column"], finding["datasets"]) == ("future", "feature", ["prices"])
    assert finding["row"]["symbol"] == "AAA"
    assert finding["without_future"] == "null"
    assert float(finding["with_future"]) > 0
    assert f"1 finding in {facts['trials']} trials" in output.err


def test_the_fixture_fails_a_test_with_the_findings(lake, pitlake_check):
    with pytest.raises(AssertionError, match="feature depends on rows that were not public"):
        pitlake_check(f"{LEAKS}::next_close", "2024-02-15", "2024-05-31", trials=1, lake=lake)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("nowhere.py::panel", "there is no file nowhere.py"),
        ("panel", "does not name a function"),
        pytest.param(f"{LEAKS}::nothing", "has no function nothing; it has ", id="no such function"),
        (broken, "ValueError: no figures .test_check.py"),
        (three, "takes 3 arguments; write it as panel"),
        (lambda session: 1, "not at the top level"),
    ],
)
def test_a_function_that_cannot_be_checked_is_refused_with_a_clear_error(function, message, lake):
    with pytest.raises(BadInput, match=message):
        check(function, "2024-02-15", "2024-05-31", trials=1, lake=lake)


ENDS = {
    "ends": ("os._exit(0)", "the process of the function ended with status 0"),
    "closes": ("os.closerange(3, 64)", "the process of the function ended with status 1"),
    "replaces": ("os.closerange(3, 64); global files; files = [open(os.devnull, 'wb') for _ in range(61)]", "status 1"),
}


@pytest.mark.parametrize(("line", "message"), ENDS.values(), ids=ENDS)
def test_a_function_that_ends_its_process_or_closes_its_pipe_is_an_error(line, message, lake, tmp_path):
    file = tmp_path / "ending.py"
    file.write_text(f"import os\n\n\ndef panel(session):\n    {line}\n    return session.sql('SELECT 1').df()\n")
    with pytest.raises(BadInput, match=message):
        check(f"{file}::panel", "2024-02-15", "2024-05-31", trials=1, lake=lake)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"since": "2024-06-01"}, "--from: is not before --to"),
        ({"since": "spring"}, "--from: .* give"),
        ({"until": "2999-01-01"}, "--to: is in the future"),
        ({"trials": 0}, "--trials: 0 is not from 1"),
        ({"every": "year"}, "--every: .* choose one of hour, day"),
        ({"datasets": ["novels"]}, "--dataset: the lake has no rows of novels"),
    ],
)
def test_the_error_for_an_invalid_option_names_the_option(options, message, lake):
    with pytest.raises(BadInput, match=message):
        check(f"{CLEAN}::change", **{"since": "2024-02-15", "until": "2024-05-31", "lake": lake} | options)


def test_frames_of_every_library_are_the_same_answer():
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    columns = {"ticker": ["A", "B"], "score": [1.0, None]}
    answers = [
        pd.DataFrame(columns),
        pd.DataFrame(columns).set_index("ticker"),
        pl.DataFrame(columns),
        pl.LazyFrame(columns),
        pa.table(columns),
        columns,
        [{"ticker": "A", "score": 1.0}, {"ticker": "B", "score": float("nan")}],
        pd.DataFrame({"ticker": ["B", "A"], "score": np.array([np.nan, 1.0])}),
    ]
    first, *others = map(answer_of, answers)
    assert [differences(first, other) for other in others] == [{}] * len(others)
    assert answer_of(1.5).columns == answer_of(np.float64(1.5)).columns == {"value": [1.5]}
    with pytest.raises(BadInput, match="returned a object"):
        answer_of(object())


def test_row_positions_do_not_identify_rows():
    import pandas as pd
    import polars as pl

    rows = {"ticker": ["A", "B"], "score": [1.0, 2.0]}
    moved = pd.DataFrame(rows, index=[7, 9])
    expected = answer_of(pd.DataFrame(rows))
    numbered = [moved, moved.reset_index(), moved.reset_index(drop=True), pl.DataFrame(rows).with_row_index()]
    assert [answer_of(frame) for frame in numbered] == [expected] * len(numbered)
    grouped = pd.concat({"A": pd.Series([1.0], [4]), "B": pd.Series([2.0], [5])}, names=["ticker", None])
    assert answer_of(grouped.rename("score")).columns == rows
    assert answer_of([("A", 1.0), ("B", 2.0)]).columns == {"0": ["A", "B"], "1": [1.0, 2.0]}
    assert differences(answer_of([1.0, 2.0, 3.0]), answer_of([3.0, 1.0, 2.0])) == {}


def test_a_unique_row_identifier_does_not_hide_the_date_column():
    days = [date(2024, 1, day) for day in range(1, 7)]
    rows = {"date": days, "symbol": ["A", "B"] * 3, "evidence": [f"neo4j:{day}" for day in days]}
    assert answer_of(rows).time_column(None) == "date"
    assert answer_of({"filed": days, "symbol": ["A", "B"] * 3}).time_column(None) == "filed"
    assert answer_of({"filed": days, "symbol": list("ABCDEF")}).time_column(None) is None
    assert answer_of([{"date": day, "bar": {"close": 1.0}} for day in days]).time_column(None) == "date"


def test_a_changed_text_is_reported_even_if_the_text_identifies_the_row():
    left = answer_of([{"date": "2024-01-01", "ticker": "META", "close": 1.0}])
    right = answer_of([{"date": "2024-01-01", "ticker": "FB", "close": 1.0}])
    (difference,) = differences(left, right).values()
    assert (difference.column, difference.left, difference.right) == ("ticker", "META", "FB")


def tasks_of(children, monkeypatch):
    """Return a list that collects the tasks that the checks give to these processes from now on."""
    tasks, run = [], children.run
    monkeypatch.setattr(children, "run", lambda part: tasks.extend(part) or run(part))
    return tasks


def test_the_first_run_binds_what_the_file_names_and_the_others_what_it_read(lake, monkeypatch):
    tasks = tasks_of(runners.Runners(2), monkeypatch)
    report = check(f"{HERE / 'honest.py'}::pandas_momentum_dropna", "2024-02-15", "2024-05-31", trials=1, lake=lake)
    assert report.findings == []
    assert [{*task.datasets} for task in tasks[:1]] == [{"prices", "news", "xbrl_facts"}]
    assert {task.datasets for task in tasks[1:]} == {("prices",)}


UNNAMED = {
    "computed": "try:\n        rows = session.sql('FROM pri' + 'ces').df()\n    except Exception:\n        rows = none",
    "item": "try:\n        rows = session['pri' + 'ces'].df()\n    except KeyError:\n        rows = none",
    "attribute": "rows = getattr(session, 'pri' + 'ces', None)\n    rows = none if rows is None else rows.df()",
    "listed": "found = [name for name in session.datasets if name.startswith('pri')]\n"
    "    rows = session[found[0]].df() if found else none",
}


@pytest.mark.parametrize("line", UNNAMED.values(), ids=UNNAMED)
def test_a_dataset_that_the_file_does_not_name_is_bound(line, lake, tmp_path, monkeypatch):
    file = tmp_path / "unnamed.py"
    rows = "rows.sort_values(['symbol', 'date'])[['date', 'symbol', 'close']]"
    none = "import pandas as pd\n\nnone = pd.DataFrame({'date': [], 'symbol': [], 'close': []})  # not from news\n"
    next_close = "rows.assign(close=rows.groupby('symbol')['close'].shift(-1))"
    file.write_text(f"{none}\n\ndef panel(session):\n    {line}\n    rows = {rows}\n    return {next_close}\n")
    tasks = tasks_of(runners.Runners(2), monkeypatch)
    report = check(f"{file}::panel", "2024-02-15", "2024-05-31", trials=1, lake=lake)
    assert {finding.kind for finding in report.findings} == {"future"}
    assert tasks[0].datasets == ("news",)
    assert [task for task in tasks[1:] if task.datasets is not None and "prices" not in task.datasets] == []


def test_workers_are_forked_from_one_process_that_imports_the_libraries():
    children = type(runners.Runners(2))(3)
    main = children._process.pid
    forks = Path(f"/proc/{main}/task/{main}/children")
    while len(forks.read_text().split()) < 3:
        sleep(0.02)
    programs = {Path(f"/proc/{fork}/cmdline").read_bytes() for fork in forks.read_text().split()}
    assert programs == {Path(f"/proc/{main}/cmdline").read_bytes()}
    children.close()
    assert children._process.returncode == 0
