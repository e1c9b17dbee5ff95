"""A sample of the small worlds of splits; `make splits` queries all of them."""

from collections import Counter

import pytest

from tests.wall import split_figures
from tests.wall.split_worlds import Judge, World, lake_of

# Every way of recording and of restating a split occurs.
SAMPLE = [
    World("GRAPH", ((2, 3.0), (4, 0.1)), "graph", "no bar"),
    World("POLY", ((3, 3.0),), "polygon", "no bar"),
    World("LATE", ((2, 0.1),), "late", "no bar"),
    World("OFF", ((3, 3.0),), "polygon a day off", "no bar"),
    World("TWO", ((3, 3.0),), "two ratios", "no bar"),
    World("LOST", ((2, 3.0),), "none", "no bar"),
    World("BACK", ((3, 3.0),), "both", "every bar before"),
    World("HALF", ((2, 2.0),), "none", "no bar"),
    World("BLIND", ((3, 2.0),), "none", "no bar", "unknown"),
    World("EARLY", ((4, 2.0),), "graph a day off", "no bar"),
    World("THREE", ((3, 1.5),), "none", "no bar"),
    World("FIVE", ((4, 1.25),), "graph a day off", "no bar"),
    World("CRASH", (), "none", "no bar", "known", (3, 0.48)),
    World("PANIC", (), "none", "no bar", "unknown", (3, 0.53)),
    World("BOTH", ((2, 2.0),), "graph", "no bar", "known", (5, 0.66)),
    World("BUSY", ((3, 1.5),), "graph a day off", "no bar", "known", (3, 0.9)),
    World("STRAY", ((3, 4 / 3),), "graph", "a bar two days after"),
    World("SOON", ((4, 4 / 3),), "polygon", "a bar two days before", "unknown"),
]


def judged(question, folder):
    judge = Judge(question, lake_of(question, folder))
    judge.judge()
    return judge


def test_no_answer_uses_a_later_split_and_no_return_uses_an_unproven_split(tmp_path):
    result = judged(SAMPLE, tmp_path)
    assert not result.wrong, result.wrong[:5]
    kinds = {"panel", "prices_as_of_event", "bars_adjusted", "snapshot level", "snapshot return", "outcome"}
    assert kinds <= result.compared.keys()


def test_the_judge_notices_when_a_split_is_ignored(tmp_path, monkeypatch):
    """If the judge assumes that holders had no split, it finds every kind of answer wrong."""
    reply = lake_of(SAMPLE[1:2], tmp_path)
    monkeypatch.setattr(World, "value", lambda world, after, until: world.traded(until) / world.traded(after))
    judge = Judge(SAMPLE[1:2], reply)
    judge.judge()
    assert {"panel", "prices_as_of_event", "snapshot return", "outcome"} <= {kind for kind, *_ in judge.wrong}


@pytest.mark.long
def test_no_figure_changed_by_a_split_appears_before_its_fetch():
    compared = Counter()
    assert split_figures.judge(0, compared) == []
    assert min(compared.values()) > 200
