"""A study counts its questions, and its holdout is asked once, after the plan was sealed."""

import json
import re

import pandas as pd
import pytest

import pitlake
from pitlake.answers import receipts
from pitlake.errors import BadInput, LakeFault
from pitlake.studies.holdouts import report
from tests.cli.conftest import AFTER, BEFORE, BETWEEN, lake
from tests.cli.conftest import pitlake as command_line

__all__ = ["command_line", "lake"]
HOLDOUT = ("2024-02-15", "2024-02-16")
COUNT = "SELECT count(*) AS n FROM news"


@pytest.fixture
def own_lake(lake, tmp_path):
    import shutil

    return shutil.copytree(lake, tmp_path / "lake")


def begin(lake, name="drift"):
    return pitlake.study(name, holdout=HOLDOUT, lake=lake)


def test_every_question_is_counted_and_its_receipt_replays(own_lake):
    with begin(own_lake) as study, study.connect(BETWEEN, isolation="in_process") as session:
        session.sql(COUNT)
        session.run("news_latest", ticker="NOG")
    asked = [entry for entry in study.report().to_dict()["ledger"] if entry["kind"] == "asked"]
    assert [entry["query"] for entry in asked] == [COUNT, "news_latest"]
    found = receipts.find(asked[0]["receipt"], own_lake)
    assert receipts.replay(found, own_lake, isolation="in_process").rows() == [(2,)]


def test_the_holdout_is_asked_once_after_the_plan_is_sealed(own_lake):
    study = begin(own_lake)
    with pytest.raises(BadInput, match=r"sees the holdout.*seal the plan with study\.seal"):
        study.connect(AFTER)
    with pytest.raises(BadInput, match="not sealed; seal it"), study.holdout():
        pass
    study.seal("Buy after good news; refuted where the mean return is below zero.")
    with pytest.raises(BadInput, match=r"ask it with study\.holdout"):
        study.connect(AFTER)
    with study.holdout(), study.connect(AFTER, isolation="in_process") as session:
        assert session.sql(COUNT).rows() == [(2,)]
    again = begin(own_lake)
    for late in (study, again):
        with pytest.raises(BadInput, match=r"used already.*pitlake study report drift"), late.holdout():
            pass
        with pytest.raises(BadInput, match="hold"):
            late.connect(AFTER)
    facts = again.report().to_dict()
    assert [entry["kind"] for entry in facts["ledger"]] == ["opened", "sealed", "holdout", "asked"]
    assert facts["sealed_at"] < facts["holdout_asked_at"]


def test_a_session_of_a_study_does_not_move_into_the_holdout(own_lake):
    with begin(own_lake).connect(BEFORE, isolation="in_process") as session:
        with pytest.raises(BadInput, match="sees the holdout"):
            session.advance(AFTER)
        assert session.sql("SELECT as_of() < ?::TIMESTAMPTZ", [AFTER]).rows() == [(True,)]


def test_a_block_that_fails_has_asked_the_holdout(own_lake):
    study = begin(own_lake)
    study.seal("one look")
    with pytest.raises(ZeroDivisionError), study.holdout():
        _ = 1 / 0
    with pytest.raises(BadInput, match="used already"), study.holdout():
        pass


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda study: study.connect(None), "open_mode: shows the holdout"),
        (lambda study: study.connect(BEFORE, open_mode=True), "open_mode: shows the holdout"),
        (lambda study: study.seal(" "), "plan: is empty"),
        (lambda study: [study.seal("a"), study.seal("b")], "sealed already"),
        (
            lambda study: study.log_trial("t", pd.Series(0.1, pd.date_range("2024-03-01", periods=90))),
            "of trial t reach into the holdout",
        ),
        (lambda study: study.log_trial("t", [0.1]), "give 4 or more"),
        (lambda study: study.log_trial("t", [0.1, float("nan"), 1, 2]), "gaps"),
        (lambda study: study.log_trial("t", "much"), "not numbers"),
    ],
)
def test_a_mistake_is_one_error_with_a_next_step(own_lake, act, message):
    with pytest.raises(BadInput, match=message):
        act(begin(own_lake))


@pytest.mark.parametrize("holdout", [("2024-02-16", "2024-02-15"), ("2024-02-15",), ("x", "y"), 5])
def test_a_holdout_is_two_days_in_order(own_lake, holdout):
    with pytest.raises(BadInput, match="holdout"):
        pitlake.study("drift", holdout=holdout, lake=own_lake)


def test_a_study_keeps_the_holdout_it_began_with(own_lake):
    begin(own_lake)
    with pytest.raises(BadInput, match="holds out 2024-02-15T05:00:00Z to 2024-02-17T05:00:00Z"):
        pitlake.study("drift", holdout=("2024-02-16", "2024-02-16"), lake=own_lake)


def test_two_writers_lose_no_record(own_lake):
    first, second = begin(own_lake), begin(own_lake)
    for number in range(3):
        first.log_trial(f"a{number}", [0.1, 0.2, 0.3, number])
        second.log_trial(f"b{number}", [0.1, 0.2, 0.3, number])
    assert [*report("drift", own_lake).trials] == ["1. a0", "2. b0", "3. a1", "4. b1", "5. a2", "6. b2"]


def test_a_record_that_was_changed_or_removed_is_noticed(own_lake):
    study = begin(own_lake)
    study.log_trial("a", [0.1, 0.2, 0.3, 0.4])
    study.log_trial("b", [0.1, 0.2, 0.3, 0.5])
    second = own_lake / "_lake/studies/drift/000000000002.json"
    whole = second.read_text()
    second.write_text(whole.replace("0.4", "0.9"))
    with pytest.raises(LakeFault, match="damaged"):
        report("drift", own_lake)
    second.unlink()
    with pytest.raises(LakeFault, match="missing"):
        report("drift", own_lake)


def cells(table):
    return re.split(r"\s{2,}|\n", table)


def test_the_command_line_reports_trials_and_looks(own_lake, command_line, monkeypatch):
    study = begin(own_lake)
    study.log_trial("momentum", [0.02, -0.01, 0.03, 0.01, 0.02, 0.01])
    study.log_trial("reversal", [-0.02, 0.01, -0.03, 0.01, 0.0, 0.01])
    monkeypatch.setenv("PITLAKE_LAKE", str(own_lake))
    said = command_line("study", "report", "drift", "--format", "json")
    facts = json.loads(said.out)
    assert (facts["trials"], facts["best_trial"]) == (2, "1. momentum")
    assert 0 < facts["deflated_sharpe_ratio"] < 1
    assert facts["probability_of_overfitting"] == 0
    shown = command_line("study", "report", "drift").out
    assert {"1. momentum", f"{facts['best_sharpe_ratio']:.4f}", " to ".join(facts["holdout"])} <= set(cells(shown))
    missing = command_line("study", "report", "other")
    assert (missing.code, "it has drift" in missing.err) == (2, True)
