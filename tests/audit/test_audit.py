"""`pitlake audit`: the right rule finds planted hindsight, and no honest table is accused."""

import json

import pandas as pd
import pytest

from pitlake import cli
from pitlake.audit import audit
from pitlake.errors import BadInput
from tests.audit.tables import CLEAN, PLANTED, facts, weekend_bars


@pytest.fixture
def run(capfd):
    """A function that runs a command line in this process and returns exit code, stdout and stderr."""

    def run(*arguments):
        code = cli.invoke(arguments)
        return (code, *capfd.readouterr())

    return run


STAMPS = {"future_stamps", "same_day"}
"""A timestamp after its row is on its row's day in between."""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", list(PLANTED))
def test_planted_hindsight_is_found_only_by_the_right_rule(name):
    rule, make = PLANTED[name]
    report = audit(make())
    rules = {finding.rule for finding in report.findings}
    assert rule in rules <= (STAMPS if rule in STAMPS else {rule}), (report.skipped, report.roles)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", list(CLEAN))
def test_an_honest_table_is_not_accused(name):
    report = audit(CLEAN[name]())
    assert report.findings == (), report.roles
    assert report.clean


def test_the_ten_worst_rows_are_listed_with_the_worst_first():
    (finding,) = audit(facts(loaded_at=lambda number, _, instant: instant + pd.Timedelta(days=30 + number))).findings
    assert (finding.count, finding.of, len(finding.worst)) == (36, 36, 10)
    assert finding.worst[0][0] == "CCC"


def test_a_guessed_column_role_can_be_corrected():
    frame = facts().rename(columns={"available_at": "when_we_knew"})
    assert {each.rule for each in audit(frame).findings} == {"period_end"}
    assert audit(frame, available_at="when_we_knew").findings == ()


@pytest.mark.parametrize(
    ("frame", "options", "field"),
    [
        (pd.DataFrame({"a": [1, 2]}), {}, "the table"),
        (pd.DataFrame({"a": []}), {}, "the table"),
        (facts(), {"available_at": "availible_at"}, "available_at"),
        (facts(), {"available_at": "eps"}, "available_at"),
        (facts(), {"timezone": "Mars"}, "timezone"),
        (facts(), {"known": "eps"}, "known"),
        (pd.DataFrame({"period": ["2024-03-31"] * 3, "filed": ["2024-05-01", "2024-05-02", "03.05.24"]}), {}, "filed"),
    ],
    ids=["no times", "no rows", "no such column", "no time", "no zone", "no meaning", "two spellings"],
)
def test_bad_input_is_refused_and_the_error_names_the_field(frame, options, field):
    with pytest.raises(BadInput) as error:
        audit(frame, **options)
    assert error.value.field == field


def test_the_command_prints_a_page_and_exits_with_1(run, tmp_path):
    table, badge = tmp_path / "bars.csv", tmp_path / "badge.svg"
    weekend_bars().to_csv(table, index=False)
    code, page, _ = run("audit", str(table), "--badge", str(badge))
    assert code == 1
    assert "1. prices of times at which the exchange was closed: 2 of " in page
    assert "2022-02-21" in page
    assert "not checked  filing dates used as acceptance: " in page
    assert "1 found" in badge.read_text()
    parsed = json.loads(run("audit", str(table), "--format", "json")[1])
    assert [(each["rule"], each["count"]) for each in parsed["findings"]] == [("closed_days", 2)]


def test_the_command_exits_with_0_for_an_honest_table_and_2_for_bad_input(run, tmp_path):
    facts().to_parquet(tmp_path / "facts.parquet")
    assert run("audit", str(tmp_path / "facts.parquet"))[0] == 0
    code, _, error = run("audit", str(tmp_path / "facts.parquet"), "--available-at", "known")
    assert code == 2
    assert "--available-at: the table has no column 'known'" in error
