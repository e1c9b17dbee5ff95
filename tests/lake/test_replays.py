"""Polls replayed in any order: replaying an older poll changes no answers as of later polls.

All combinations are tested: three polls of a key with every text and date of change, published in every order.
"""

from datetime import timedelta
from itertools import permutations, product

import pytest

from pitlake.lake import Lake
from tests.every import every
from tests.lake.world import KINDS, Oracle, Toy, answers, publish, rows, utc

STEP = timedelta(days=1)
LOOKS = tuple(utc("2024-03-04T12:00:00-05:00") + place * 2 * STEP for place in range(3))
MOMENTS = tuple(LOOKS[0] + place * STEP for place in range(-3, 7))
DATED = LOOKS[0] - 2 * STEP, LOOKS[0] - STEP
# What a poll finds: nothing, or a text that changed before the first poll or since the previous poll.
TELLS = (None, *product("xy", (0, 1)))
STORIES = list(product(TELLS, repeat=3))


def statements_of_look(look, kind):
    """Yield every story's toys at one poll: the current toy, or one toy per date if the source keeps its history."""
    for number, story in enumerate(STORIES):
        statements = {}
        for place in range(look + 1):
            if story[place] is not None:
                text, since = story[place]
                revised = LOOKS[place] - STEP if since else DATED[1]
                at = revised if kind == "history" else DATED[0]
                statements[at] = Toy(f"{number:03}", text, at, revised)
        if story[look] is not None:
            yield from statements.values() if kind == "history" else [statements[DATED[0]]]


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path / "lake", allow_drift="three quarters of the toys change from look to look")


@pytest.fixture(params=list(permutations(range(3))), ids=str)
def order(request):
    return request.param


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", KINDS)
def test_replaying_an_older_poll_never_changes_answers_since_a_later_poll(lake, kind, order):
    oracle, looked = Oracle(kind), []
    lake.start()
    for look in order:
        before = rows(lake)
        publish(lake, statements_of_look(look, kind), LOOKS[look], dataset=KINDS[kind])
        oracle.publish(statements_of_look(look, kind), LOOKS[look])
        after = rows(lake)
        assert after == oracle.rows
        for at in MOMENTS:
            last = max((each for each in looked if LOOKS[each] <= at), default=None)
            if last is not None and LOOKS[look] < LOOKS[last]:
                seen = {toy.key for toy in statements_of_look(last, kind)}
                then, now = (answers(result, at) for result in (before, after))
                wrong = {key: (then[key], now[key]) for key in seen & then.keys() if then[key][:2] != now[key][:2]}
                assert not wrong, (at, wrong)
        looked.append(look)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", ["observed", "column"])
def test_after_all_polls_the_newest_poll_decides_the_answer(lake, kind, order):
    for look in order:
        publish(lake, statements_of_look(look, kind), LOOKS[look], dataset=KINDS[kind])
    now = answers(rows(lake), MOMENTS[-1])
    for number, story in enumerate(STORIES):
        if story[-1] is not None:
            assert now[f"{number:03}"].text == story[-1][0], (story, now[f"{number:03}"])


@pytest.mark.parametrize("kind", ["observed", "column"])
def test_polls_in_order_answer_as_of_each_poll_with_what_it_saw(lake, kind):
    for look, at in enumerate(LOOKS):
        publish(lake, statements_of_look(look, kind), at, dataset=KINDS[kind])
    result_rows = rows(lake)
    for look, at in enumerate(LOOKS):
        now = answers(result_rows, at)
        assert every(now[toy.key].text == toy.text for toy in statements_of_look(look, kind))
