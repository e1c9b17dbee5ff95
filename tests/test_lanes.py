"""The two lanes of tests: the lane that the recorded costs give each test, and the list of exemplars."""

import json

from tests import lanes


def written(folder, *records):
    (folder / "1.jsonl").write_text("\n".join(map(json.dumps, [{"reference": 2.0}, *records])))
    return folder


def ran(test, cost, *fixtures):
    return {"test": test, "cost": cost, "fixtures": list(fixtures)}


def test_a_test_above_the_limit_is_slow(tmp_path):
    limit = 2 * lanes.LIMIT
    folder = written(tmp_path, ran("a.py::one", limit), ran("a.py::two", limit + 1.2), ran("b.py::three", 9.0))
    assert lanes.record(folder) == {"a.py::two": lanes.LIMIT + 0.6, "b.py": 4.5}


def test_a_fixtures_cost_is_divided_among_the_fast_tests_that_use_it(tmp_path):
    fixture = {"fixture": "lake", "cost": 6.0}
    few = written(tmp_path, fixture, ran("a.py::one", 0.1, "lake"), ran("a.py::two", 0.1))
    assert lanes.record(few) == {"a.py::one": 3.0}
    many = written(tmp_path, fixture, *(ran(f"a.py::{number}", 0.1, "lake") for number in range(20)))
    assert lanes.record(many) == {}


def test_tests_of_a_costly_fixture_are_slow_however_many_share_it(tmp_path):
    fixture = {"fixture": "world", "cost": 2.1 * lanes.FIXTURE_LIMIT}
    folder = written(tmp_path, fixture, *(ran(f"a.py::{number}", 0.1, "world") for number in range(90)))
    assert set(lanes.record(folder)) == {"a.py"}


def test_exemplars_are_at_most_forty_tests_that_exist():
    assert 20 < len(lanes.exemplars()) <= 40
    for test in lanes.exemplars():
        path, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}(" in (lanes.ROOT / path).read_text(), test
        assert not lanes.is_slow(test)
