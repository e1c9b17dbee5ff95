"""The cases: the scored cases are the frozen ones, and each has what its class promises."""

import hashlib
import json
from collections import Counter

import pytest

from asofbench import generate
from asofbench.large import Large
from asofbench.model import DATA, DOORS, NEVER, Question, read
from tests.every import every


def test_the_scored_cases_are_the_frozen_cases():
    assert generate.differences() == []


def test_changed_cases_and_graders_are_reported_as_differences(monkeypatch, tmp_path):
    assert "seed is other, frozen is 2026-11-23" in generate.differences("other")
    assert len(generate.differences("other")) == 2 + len(generate.CLASSES)
    for name in generate.GRADERS:
        (tmp_path / name).write_bytes((generate.HERE / name).read_bytes())
    with (tmp_path / "grading.py").open("a") as grader:
        grader.write("\n")
    monkeypatch.setattr(generate, "HERE", tmp_path)
    assert generate.differences() == ["graders: grading.py"]


def test_the_files_have_the_published_hashes(tmp_path):
    generate.write(tmp_path)
    published = json.loads(generate.FROZEN.read_text())["cases"]
    output = {f"{file.parent.name}/{file.name}": file for file in tmp_path.rglob("*.jsonl")}
    assert {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in output.items()} == published
    first = json.loads(output["restatement/case.jsonl"].read_text().splitlines()[0])
    assert {"id", "class", "source", "T", "plant", "ask", "truth", "weight"} <= set(first)
    assert Question.of(first["ask"]).as_json() == first["ask"]


def test_there_are_8_cases_of_each_of_38_classes_and_64_histories(found):
    assert Counter(case.kind for case in found) == dict.fromkeys(generate.CLASSES, 8) | {"random_history": 64}
    assert len(generate.CLASSES) == 38
    assert len({case.id for case in found}) == len({case.ask.entity for case in found}) == 360
    assert {case.ask.kind for case in found} == {*DATA, *DOORS}
    assert len({case.source for case in found}) == 8


@pytest.mark.parametrize("name", generate.CLASSES)
def test_a_class_is_spread_evenly_over_its_sources(found, name):
    mine = Counter(case.source for case in found if case.kind == name)
    assert set(mine) == set(generate.CLASSES[name][1])
    assert len(set(mine.values())) == 1


def test_no_canary_appears_in_public_rows_or_answers(found):
    for case in found:
        at, secret = read(case.ask.as_of), [canary for canary in case.canaries if canary.public != NEVER]
        assert secret or case.kind == "event_time_join"
        assert every(read(canary.public) > at for canary in secret) if secret else True
        public = json.dumps([vars(row) for row in case.rows])
        assert [canary.text for canary in secret if canary.text in public] == []
        assert [canary.text for canary in case.canaries if canary.text in json.dumps(case.truth)] == []


def test_the_later_question_is_as_of_the_plants_own_instant(found):
    """A record that becomes public at T is public as of T: showing it is not a leak, and withholding it is a fault."""
    for case in found:
        assert read(case.later.as_of) > read(case.ask.as_of) or case.kind == "event_time_join"
        reply = [canary.public for canary in case.canaries if canary.public != NEVER]
        assert case.later.as_of in reply or case.kind == "event_time_join"


def test_the_future_begins_a_microsecond_to_a_day_after_t(found):
    apart = {read(case.later.as_of) - read(case.ask.as_of) for case in found if case.kind == "restatement"}
    assert apart == set(generate.GAPS)


def test_todays_universe_and_identifier_leak_only_by_choice_of_public_figures(found):
    """Only the choice leaks: tomorrow's right numbers are public, so none of them is a canary."""
    for case in found:
        if case.kind in ("todays_universe", "todays_identifier"):
            public = {row.value for row in case.rows}
            later = case.later_truth.values()
            assert {figure[0] if isinstance(figure, list) else figure for figure in later} <= public
            assert case.truth != case.later_truth


def test_half_of_the_universe_and_identifier_cases_are_empty_at_t(found):
    for name in ("todays_universe", "todays_identifier"):
        assert Counter(bool(case.truth) for case in found if case.kind == name) == {True: 4, False: 4}


def test_forgotten_cutoff_and_missing_time_questions_state_no_time(found):
    forgotten = [case.ask for case in found if case.ask.kind == "forgotten"]
    missing = [case.ask for case in found if case.ask.kind == "missing"]
    assert len(forgotten) == len(missing) == 8
    assert every(ask.statement == "" and not ask.spine for ask in forgotten)
    assert every(at == "" for ask in missing for _, _, at in ask.spine)


def test_two_bounds_cases_lie_equally_on_both_sides_of_t(found):
    sides = Counter(case.ask.loaded_by > case.ask.as_of for case in found if case.kind == "two_bounds")
    assert sides == {True: 4, False: 4}


def test_histories_differ_and_include_archives_stated_before_loading(found):
    histories = [case for case in found if case.kind == "random_history"]
    shapes = {
        tuple((row.item, row.stated < row.loaded_at, read(row.loaded_at) - read(case.ask.as_of)) for row in case.rows)
        for case in histories
    }
    assert len(shapes) > 60
    archives = [row for case in histories for row in case.rows if read(row.loaded_at) > read(case.ask.as_of)]
    assert len(archives) > 10
    assert every(read(row.stated) < read(row.loaded_at) for row in archives)


def test_a_retraction_has_its_own_instant_and_is_an_archive_in_half_of_the_cases(found):
    mine = [case for case in found if case.kind == "retraction"]
    deliveries = [row.loaded_at for case in found for row in case.rows]
    for case in mine:
        assert deliveries.count(case.ask.statement) == 2
        assert {row.loaded_at for row in case.rows if row.loaded_at == case.later.statement} == {case.ask.statement}
    assert Counter(case.ask.statement > case.ask.as_of for case in mine) == {True: 4, False: 4}


def test_half_of_the_late_split_cases_also_have_a_split_loaded_in_time(found):
    mine = [case for case in found if case.kind == "late_split"]
    known = [[row.item for row in case.rows if row.item.startswith("split")] for case in mine]
    assert Counter(map(len, known)) == {0: 4, 1: 4}
    for case in mine:
        assert read(case.plant[0].stated) < read(case.ask.as_of) < read(case.plant[0].loaded_at)


def test_the_large_case_has_1000_instants_around_deliveries_of_100_000_rows():
    large = Large(generate.SEED)
    questions = [question for question, _, _ in large.asked()]
    assert len({question.as_of for question in questions}) == 1000
    assert len(large.rows()) == 100_000
    moments = {large.came(delivery) for delivery in range(large.deliveries)}
    assert len(moments & {read(question.as_of) for question in questions}) == 50


def test_another_seed_makes_other_cases_of_the_same_classes(found):
    others = generate.cases("kept by another party")
    assert Counter(case.kind for case in others) == Counter(case.kind for case in found)
    assert not {case.ask.entity for case in others} & {case.ask.entity for case in found}
