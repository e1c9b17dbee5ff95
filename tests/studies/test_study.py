"""A study counts its questions. Its holdout can be used once, after the plan has been sealed."""

import copy
import json
import re
from datetime import date, timedelta
from random import Random

import pandas as pd
import pytest

import pitlake
from pitlake.answers import receipts
from pitlake.errors import BadInput, LakeFault, PitlakeError, SessionLost
from pitlake.studies.holdouts import report
from tests.cli.conftest import AFTER, BEFORE, BETWEEN, lake
from tests.cli.conftest import pitlake as command_line
from tests.studies.sequences import Sequence, share

__all__ = ["command_line", "lake"]
HOLDOUT = ("2024-02-15", "2024-02-16")
COUNT = "SELECT count(*) AS n FROM news"
RETURNS = [0.02, -0.01, 0.03, 0.01]


def dated(returns, first):
    days = [date.fromisoformat(first) + timedelta(days=number) for number in range(len(returns))]
    return dict(zip(days, returns, strict=True))


@pytest.fixture
def own_lake(lake, tmp_path):
    import shutil

    return shutil.copytree(lake, tmp_path / "lake")


def begin(lake, name="drift"):
    return pitlake.study(name, holdout=HOLDOUT, lake=lake)


def test_every_question_is_counted_and_its_receipt_replays(own_lake):
    with begin(own_lake) as study, study.connect(BETWEEN, isolation="in_process") as session:
        session.sql(COUNT)
        session.run("news_latest", ticker="QBG")
    question = [entry for entry in study.report().to_dict()["ledger"] if entry["kind"] == "asked"]
    assert [entry["query"] for entry in question] == [COUNT, "news_latest"]
    result = receipts.find(question[0]["receipt"], own_lake)
    assert receipts.replay(result, own_lake, isolation="in_process").rows() == [(2,)]


def test_the_holdout_can_be_queried_once_after_the_plan_is_sealed(own_lake):
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
        with pytest.raises(BadInput, match=r"already used.*pitlake study report drift"), late.holdout():
            pass
        with pytest.raises(BadInput, match="hold"):
            late.connect(AFTER)
    facts = again.report().to_dict()
    assert [entry["kind"] for entry in facts["ledger"]] == ["opened", "sealed", "holdout", "asked", "left"]
    assert facts["sealed_at"] < facts["holdout_asked_at"]


def test_a_session_of_a_study_does_not_move_into_the_holdout(own_lake):
    with begin(own_lake).connect(BEFORE, isolation="in_process") as session:
        with pytest.raises(BadInput, match="sees the holdout"):
            session.advance(AFTER)
        assert session.sql("SELECT as_of() < ?::TIMESTAMPTZ", [AFTER]).rows() == [(True,)]


def test_a_holdout_block_that_fails_counts_as_used(own_lake):
    study = begin(own_lake)
    study.seal("one look")
    with pytest.raises(ZeroDivisionError), study.holdout():
        _ = 1 / 0
    with pytest.raises(BadInput, match="already used"), study.holdout():
        pass


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda study: study.connect(None), "open_mode: shows the holdout"),
        (lambda study: study.connect(BEFORE, open_mode=True), "open_mode: shows the holdout"),
        (lambda study: study.seal(" "), "plan: is empty"),
        (lambda study: [study.seal("a"), study.seal("b")], "already sealed"),
        (
            lambda study: study.log_trial("t", pd.Series(0.1, pd.date_range("2024-02-10", periods=6))),
            "trial t reaches? into the holdout",
        ),
        (lambda study: study.seal("a", trial="unknown"), "has no trial unknown; log it"),
        (lambda study: study.connect("2024-06-01T09:00:00-04:00"), "after the holdout"),
        (lambda study: study.log_trial("t", RETURNS, frequency="fortnight"), "choose one of hour, day"),
        (lambda study: study.log_trial("t", dated(RETURNS, "2024-02-01"), frequency="week"), "one day apart"),
        (lambda study: study.log_trial("t", dict.fromkeys(["2024-02-01", "x"], 1.0)), "returns: "),
        (lambda study: study.log_trial("t", [0.1]), "give 4 or more"),
        (lambda study: study.log_trial("t", [0.1, float("nan"), 1, 2]), "gaps"),
        (lambda study: study.log_trial("t", "much"), "not numbers"),
    ],
)
def test_mistakes_raise_an_error_that_says_what_to_do(own_lake, act, message):
    with pytest.raises(BadInput, match=message):
        act(begin(own_lake))


@pytest.mark.parametrize("holdout", [("2024-02-16", "2024-02-15"), ("2024-02-15",), ("x", "y"), 5])
def test_a_holdout_that_is_not_two_days_in_order_is_refused(own_lake, holdout):
    with pytest.raises(BadInput, match="holdout"):
        pitlake.study("drift", holdout=holdout, lake=own_lake)


def open_holdout(study):
    study.seal("one look")
    return study.holdout()


def test_sessions_that_saw_the_holdout_are_closed_at_the_end_of_its_block(own_lake):
    study = begin(own_lake)
    early, earlier = study.connect(BETWEEN), study.connect(BETWEEN)
    with open_holdout(study):
        inside = study.connect(AFTER)
        inside.sql(COUNT)
        early.advance(AFTER)
        with pytest.raises(BadInput, match="after the holdout"):
            inside.advance("2024-03-15T09:00:00-04:00")
    for session in (inside, early):
        with pytest.raises(SessionLost, match="closed"):
            session.sql(COUNT)
    earlier.sql(COUNT)
    facts = study.report().to_dict()
    assert (facts["questions"], facts["questions_in_holdout"]) == (1, 1)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copy_of_the_study_does_not_see_the_holdout_after_the_block(own_lake, duplicate):
    study = begin(own_lake)
    with open_holdout(study):
        copied = duplicate(study)
        left_open = copied.connect(AFTER, isolation="in_process")
    with pytest.raises(BadInput, match="already used"):
        copied.connect(AFTER)
    with pytest.raises(BadInput, match="already used"):
        copied.log_trial("late", dated(RETURNS[:4], "2024-02-13"))
    with pytest.raises((BadInput, PitlakeError)):
        left_open.sql(COUNT)
    assert study.report().to_dict()["questions_in_holdout"] == 0


def test_queries_before_the_holdout_never_count_as_holdout_queries(own_lake):
    study = begin(own_lake)
    with open_holdout(study), study.connect(BETWEEN) as session:
        session.sql(COUNT)
    facts = study.report().to_dict()
    assert (facts["questions"], facts["questions_in_holdout"]) == (1, 0)


def test_a_block_entered_by_hand_ends_with_the_study(own_lake):
    with begin(own_lake) as study:
        block = open_holdout(study)
        block.__enter__()
        session = study.connect(AFTER)
    with pytest.raises(SessionLost):
        session.sql(COUNT)
    with pytest.raises(BadInput, match="already used"):
        study.connect(AFTER)
    assert study.report().to_dict()["holdout_left_at"] is not None


@pytest.mark.parametrize(("first", "problem"), [("2024-02-13", "reaches into"), ("2024-02-15", "after the holdout")])
def test_a_dated_series_does_not_reach_into_a_closed_holdout(own_lake, first, problem):
    study = begin(own_lake)
    with pytest.raises(BadInput, match=problem):
        study.log_trial("peeked", dated(RETURNS, first))
    study.log_trial("before", dated(RETURNS, "2024-02-11"))
    assert study.report().trials[0].frequency == "day"


def test_trials_after_the_seal_are_listed_apart_and_never_the_best(own_lake):
    study = begin(own_lake)
    study.log_trial("idea", RETURNS)
    study.log_trial("idea", RETURNS)
    study.log_trial("other", [-value for value in RETURNS])
    study.seal("one look", trial="idea")
    study.log_trial("tuned", [0.1, 0.11, 0.1, 0.11])
    with study.holdout():
        study.log_trial("idea", [0.0, -0.01, 0.0, 0.01])
    study.log_trial("afterwards", [0.1, 0.11, 0.1, 0.11])
    facts = study.report().to_dict()
    parts = [(row["trial"], row["part"]) for row in facts["trials"]]
    assert parts == [
        ("1. idea", "in sample"),
        ("2. other", "in sample"),
        ("3. tuned", "after the seal"),
        ("4. idea", "holdout"),
        ("5. afterwards", "after the seal"),
    ]
    (comparison,) = facts["comparisons"]
    assert (comparison["best_trial"], comparison["trials"]) == ("1. idea", 2)
    idea = facts["sealed_idea"]
    assert (idea["in_sample"]["trial"], idea["holdout"]["trial"], idea["tries_in_holdout"]) == ("1. idea", "4. idea", 1)


def test_trials_are_compared_within_their_frequency(own_lake):
    study = begin(own_lake)
    study.log_trial("days", RETURNS, frequency="day")
    study.log_trial("more days", [*RETURNS, 0.01], frequency="day")
    study.log_trial("months", [0.1, 0.11, 0.1, 0.11], frequency="month")
    days, months = study.report().to_dict()["comparisons"]
    assert (days["frequency"], days["trials"], days["best_trial"]) == ("day", 2, "2. more days")
    assert (days["probability_of_overfitting"], "different periods" in days["note"]) == (None, True)
    assert (months["frequency"], months["best_trial"]) == ("month", "3. months")


def test_the_report_names_other_studies_that_saw_the_holdout(own_lake):
    first = begin(own_lake, "first")
    with open_holdout(first), first.connect(AFTER) as session:
        session.sql(COUNT)
    later = pitlake.study("later", holdout=("2024-03-01", "2024-03-31"), lake=own_lake)
    with later.connect(AFTER) as session:
        session.sql(COUNT)
    pitlake.study("apart", holdout=("2024-05-01", "2024-05-31"), lake=own_lake)
    others = {entry["study"]: entry for entry in begin(own_lake, "second").report().to_dict()["other_studies"]}
    assert {name: entry["questions_in_this_holdout"] for name, entry in others.items()} == {"first": 1, "later": 1}
    assert others["first"]["holdout_asked_at"] is not None


def test_a_sequence_of_actions_is_counted_as_a_model_counts_it(own_lake):
    assert Sequence("s4", own_lake, Random(4)).run() == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_random_sequences_of_actions_are_counted_as_a_model_counts_them(seed, tmp_path):
    assert share(seed, tmp_path).failures == []


def test_a_study_keeps_the_holdout_it_began_with(own_lake):
    begin(own_lake)
    with pytest.raises(BadInput, match="holds out 2024-02-15T05:00:00Z to 2024-02-17T05:00:00Z"):
        pitlake.study("drift", holdout=("2024-02-16", "2024-02-16"), lake=own_lake)


def test_two_writers_lose_no_record(own_lake):
    first, second = begin(own_lake), begin(own_lake)
    for number in range(3):
        first.log_trial(f"a{number}", [0.1, 0.2, 0.3, number])
        second.log_trial(f"b{number}", [0.1, 0.2, 0.3, number])
    labels = [trial.label for trial in report("drift", own_lake).trials]
    assert labels == ["1. a0", "2. b0", "3. a1", "4. b1", "5. a2", "6. b2"]


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


def test_the_command_line_reports_trials_and_comparisons(own_lake, command_line, monkeypatch):
    study = begin(own_lake)
    study.log_trial("momentum", [0.02, -0.01, 0.03, 0.01, 0.02, 0.01], frequency="day")
    study.log_trial("reversal", [-0.02, 0.01, -0.03, 0.01, 0.0, 0.01], frequency="day")
    monkeypatch.setenv("PITLAKE_LAKE", str(own_lake))
    message = command_line("study", "report", "drift", "--format", "json")
    facts = json.loads(message.out)
    (comparison,) = facts["comparisons"]
    assert (comparison["trials"], comparison["best_trial"]) == (2, "1. momentum")
    assert 0 < comparison["deflated_sharpe_ratio"] < 1
    assert comparison["probability_of_overfitting"] == 0
    row = facts["trials"][0]
    assert row["sharpe_ratio_per_year"] == pytest.approx(row["sharpe_ratio"] * 252**0.5)
    output = command_line("study", "report", "drift").out
    ratio = f"{comparison['best_sharpe_ratio']:.4g}"
    assert {"1. momentum", ratio, "in sample", " to ".join(facts["holdout"])} <= set(cells(output))
    missing = command_line("study", "report", "other")
    assert (missing.code, "it has drift" in missing.err) == (2, True)
