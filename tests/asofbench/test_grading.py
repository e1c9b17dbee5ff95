"""The graders: controls with a known score, and the rules of a verdict."""

import pytest

from asofbench.generate import CLASSES, LOADER
from asofbench.grading import CAUGHT, LEAK, REFUSED, UNABLE, WITHHELD, compare, counted, judge, where, wilson
from asofbench.model import NEVER, Canary, Question, Reply
from asofbench.systems import CONTROLS
from tests.every import every

ALWAYS = {
    "control: knows all": CAUGHT,
    "control: shows everything": LEAK,
    "control: an instant late": WITHHELD,
    "control: answers nothing": WITHHELD,
    "control: refuses everything": REFUSED,
}


@pytest.mark.parametrize(("name", "verdict"), ALWAYS.items())
def test_every_control_gets_its_expected_verdict(scored, name, verdict):
    verdicts = scored(name)
    assert {each.kind for each in verdicts} == {*CLASSES}
    assert [each for each in verdicts if each.verdict != verdict] == []


def test_the_two_days_early_control_leaks_wherever_something_becomes_public(scored):
    early = [each for each in scored("control: two days early") if each.verdict != LEAK]
    assert {each.kind for each in early} <= {"event_time_join", "two_bounds", "replay", "erasure"}


def test_every_control_is_tested_here():
    others = {"control: two days early", "control: compares stamps", "control: compares stamps, read plainly"}
    assert {control.name for control in CONTROLS} == {*ALWAYS, *others}


def test_loader_classes_fail_only_if_stamps_are_read_plainly(scored):
    careful, plain = (
        {each.kind for each in scored(name) if each.verdict != CAUGHT}
        for name in ("control: compares stamps", "control: compares stamps, read plainly")
    )
    assert plain - careful == LOADER
    assert careful == {"back_dated", "vendor_rewrite", "split_adjusted", "random_history", "row_counts"}


def test_a_system_that_answers_nothing_passes_no_control(scored):
    assert every(not each.control for each in scored("control: answers nothing"))
    assert every(each.control for each in scored("control: knows all"))


@pytest.fixture
def case(found):
    return next(case for case in found if case.kind == "late_publication")


@pytest.fixture
def right(case):
    replies = {"asked": case.truth, "twin": case.truth, "later": case.later_truth, "control": case.control_truth}
    return {name: Reply(answer=answer) for name, answer in replies.items()}


def test_right_answers_get_the_verdict_caught(case, right):
    assert judge(case, **right).verdict == CAUGHT


@pytest.mark.parametrize("place", ["answer", "error", "log"])
def test_a_canary_is_a_leak_in_an_answer_error_or_log(case, right, place):
    reply = {"answer": case.truth, place: f"no row with {case.canaries[0].text.upper()}"}
    verdict = judge(case, **{**right, "asked": Reply(**reply)})
    assert (verdict.verdict, verdict.seen) == (LEAK, (place,))


def test_the_right_number_with_a_later_text_is_a_leak(case, right):
    [(item, (number, _))] = case.truth.items()
    verdict = judge(case, **{**right, "asked": Reply(answer={item: [number, "another text"]})})
    assert verdict.verdict == LEAK


def test_a_never_public_canary_is_also_a_leak_at_the_later_instant(found):
    case = next(case for case in found if case.kind == "undated")
    never = next(canary.text for canary in case.canaries if canary.public == NEVER)
    right, later = Reply(answer=case.truth), Reply(answer=case.later_truth, log=f"left out: {never}")
    verdict = judge(case, right, right, later, Reply(answer=case.control_truth))
    assert (verdict.verdict, verdict.calls, verdict.touched) == (LEAK, 2, 1)


def test_an_error_without_a_canary_is_no_leak(case, right):
    assert judge(case, **{**right, "asked": Reply(error="no such table")}).verdict == REFUSED


def test_a_canary_does_not_count_once_public(case):
    canary = case.canaries[0]
    reply = Reply(answer=canary.text)
    assert where(reply, case.ask, [canary]) == ("answer",)
    assert where(reply, case.later, [canary]) == ()


def test_a_canary_number_is_found_in_any_spelling():
    canary = [Canary(text="954991266", public="2025-01-01T00:00:00.000000Z")]
    question = Question(kind="rows", as_of="2024-01-01T00:00:00.000000Z")
    for answer in ({"EPS": [954991266.0, "x"]}, [954991266], "max 954991266.0 of"):
        assert where(Reply(answer=answer), question, canary) == ("answer",), answer
    assert where(Reply(answer=[95499126]), question, canary) == ()


@pytest.mark.parametrize(
    ("which", "answer", "verdict"),
    [
        ("asked", {}, WITHHELD),
        ("twin", {}, WITHHELD),
        ("later", {}, WITHHELD),
        ("asked", {"Assets": [1.0, "told by nobody"]}, LEAK),
    ],
)
def test_a_missing_row_is_withheld_and_an_extra_row_is_a_leak(case, right, which, answer, verdict):
    assert judge(case, **{**right, which: Reply(answer=answer)}).verdict == verdict


def test_a_system_may_refuse_an_attack_but_not_the_next_question(found):
    attack = next(case for case in found if case.kind == "sql_escape")
    refused = Reply(error="Permission Error")
    later, control = Reply(answer=attack.later_truth), Reply(answer=attack.control_truth)
    assert judge(attack, refused, refused, later, control).verdict == CAUGHT
    assert judge(attack, refused, refused, refused, control).verdict == REFUSED
    assert judge(attack, Reply(able=False), refused, later, control).verdict == UNABLE


def test_a_clock_after_t_is_a_leak(found):
    case = next(case for case in found if case.kind == "machine_clock")
    later, control = Reply(answer=case.later_truth), Reply(answer=case.control_truth)
    for reply, verdict in ((case.ask.as_of, CAUGHT), ("2026-11-23 10:00:00+00:00", LEAK), ("2026-11-23", LEAK)):
        assert judge(case, Reply(answer=[[reply]]), Reply(), later, control).verdict == verdict


def test_counts_are_read_from_numbers_and_from_plans():
    plan = "│ ~104 rows │\n│ 1 row 0µs │ Total Time: 0.0018s"
    assert counted([["physical_plan", plan]]) == [1, 104]
    assert counted([[58], [True], ["7 days"]]) == [58]


def test_a_wrong_sum_unchanged_by_the_future_is_withheld_rather_than_a_leak(found):
    case = next(case for case in found if case.kind == "split_adjusted")
    replies = {"later": Reply(answer=case.later_truth), "control": Reply(answer=case.control_truth)}
    assert judge(case, Reply(answer=1.5), Reply(answer=1.5), **replies).verdict == WITHHELD
    assert judge(case, Reply(answer=1.5), Reply(answer=case.truth), **replies).verdict == LEAK


def test_a_join_that_returns_none_is_withheld_and_a_wrong_value_is_a_leak():
    assert compare("join", Reply(answer=[None]), [4.0])[0] == WITHHELD
    assert compare("join", Reply(answer=[5.0]), [4.0])[0] == LEAK
    assert compare("join", Reply(answer=[4.0]), [4.0])[0] == CAUGHT


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (1, 100, 0.0018, 0.0545), (0, 0, 0.0, 1.0)],
)
def test_confidence_intervals_are_wilson_intervals(hits, n, low, high):
    assert wilson(hits, n) == pytest.approx((low, high), abs=5e-5)


def test_an_older_vintage_is_withheld_and_a_row_after_the_load_bound_is_a_leak(found):
    order = next(case for case in found if case.kind == "any_order")
    older = order.rows[1]
    reply, later = {older.item: [older.value, older.text]}, Reply(answer=order.later_truth)
    stale = Reply(answer=reply)
    assert judge(order, stale, stale, later, Reply(answer=order.control_truth)).verdict == WITHHELD
    bounds = next(case for case in found if case.kind == "two_bounds")
    display = Reply(answer={row.item: [row.value, row.text] for row in bounds.rows[:3]})
    later, control = Reply(answer=bounds.later_truth), Reply(answer=bounds.control_truth)
    assert judge(bounds, display, display, later, control).verdict == LEAK
