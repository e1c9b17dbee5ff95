"""An exhaustive test: two revisions of each of two keys, each available and observed at one of four instants.

All 10,000 interleavings share one lake as pairs of keys. The instants span the start of summer time and the end of a
month in New York. The oracle is plain Python. The order of partitions must not change the result.
"""

import copy
import shutil
from functools import cache
from itertools import permutations, product

import pytest

from pitlake.lake import Lake
from tests.every import every
from tests.lake.world import KINDS, Oracle, Toy, answers, by_day, publish, rows, utc

# The last microsecond of 9 March, 03:00 on the day without 02:xx, the last microsecond of March, and its end.
INSTANTS = (
    utc("2024-03-09T23:59:59.999999-05:00"),
    utc("2024-03-10T03:00:00-04:00"),
    utc("2024-03-31T23:59:59.999999-04:00"),
    utc("2024-04-01T00:00:00-04:00"),
)
TIMES = [(available, observed) for available, observed in product(range(4), repeat=2) if available <= observed]
LIVES = list(product(TIMES, repeat=2))
WORLDS = list(product(LIVES, repeat=2))
WHY = "the toys of these worlds change at each look"
SMALL_WORLDS = [(life, life) for life in LIVES]
LIVED = {kind: pytest.param(kind, marks=pytest.mark.xdist_group(f"every world {kind}")) for kind in KINDS}


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path / "lake", allow_drift=WHY)


def source_at(kind, worlds, observed):
    """Yield the source's records at an instant: the current record of each key, or every vintage if the source keeps
    its history.
    """
    for world, lives in enumerate(worlds):
        for key, life in zip("ab", lives, strict=True):
            seen = sorted((o, number, a) for number, (a, o) in enumerate(life) if o <= observed)
            if kind == "history":
                reply = {a: number for o, number, a in seen}
            else:
                reply = {a: number for o, number, a in seen[-1:]}
            for a, number in reply.items():
                yield Toy(f"{world}{key}", f"text {number}", INSTANTS[a], INSTANTS[a])


def observe(lake, oracle, worlds, observed, order):
    """Publish one observation, with its partitions in the given order, or all together if `order` is None."""
    toys = list(source_at(oracle.kind, worlds, observed))
    days = sorted(by_day(toys).items())
    runs = [toys] if order is None else [days[place][1] for place in order if place < len(days)]
    for run in runs:
        counted = publish(lake, run, INSTANTS[observed], dataset=KINDS[oracle.kind]).total
        assert counted.extracted == counted.published + counted.unchanged == len(run)
    oracle.publish(toys, INSTANTS[observed])


def live_through(lake, kind, worlds, order):
    """Publish four observations, and return the oracle that received the same observations."""
    oracle = Oracle(kind)
    for observed in range(len(INSTANTS)):
        observe(lake, oracle, worlds, observed, order)
    return oracle


@pytest.fixture(scope="module", params=LIVED.values())
def lived(request, tmp_path_factory):
    """The lake with all interleavings of a kind, the oracle, and the rows after each poll."""
    lake, oracle, then = Lake(tmp_path_factory.mktemp(request.param), allow_drift=WHY), Oracle(request.param), []
    for observed in range(len(INSTANTS)):
        observe(lake, oracle, WORLDS, observed, None)
        then.append(rows(lake))
    return lake, oracle, then


FORWARD, BACKWARD = (0, 1, 2, 3), (3, 2, 1, 0)


@pytest.mark.parametrize(("kind", "order"), [*zip(KINDS, (FORWARD, BACKWARD, FORWARD), strict=True)])
def test_publishing_by_partition_ends_with_the_oracles_rows_in_every_world(lake, kind, order):
    oracle = live_through(lake, kind, WORLDS, order)
    assert rows(lake) == oracle.rows
    nothing_new(lake, kind)


def test_publishing_all_at_once_ends_with_the_oracles_rows_in_every_world(lived):
    lake, oracle, then = lived
    assert then[-1] == oracle.rows
    nothing_new(lake, oracle.kind)


def nothing_new(lake, kind):
    """Check that repeating the last poll changes nothing."""
    version = lake.head()
    again = publish(lake, source_at(kind, WORLDS, 3), INSTANTS[3], dataset=KINDS[kind])
    assert (again.changed, again.total.published, lake.head()) == (False, 0, version)


@pytest.mark.parametrize("looks", [3, pytest.param(4, marks=pytest.mark.long)])
def test_every_order_of_partitions_gives_the_same_rows(tmp_path, looks):
    """The n-th poll has n partitions. Orders that begin alike share the lakes of their first polls."""

    @cache
    def after(order):
        root, oracle, last = tmp_path / f"after-{order}", Oracle("history"), len(order) - 1
        if last:
            before, existing = after(tuple(place for place in order if place != last))
            shutil.copytree(before.root, root)
            oracle = copy.deepcopy(existing)
        observe(Lake(root, allow_drift=WHY), oracle, SMALL_WORLDS, last, order)
        return Lake(root), oracle

    ends = []
    for order in permutations(range(looks)):
        lake, oracle = after(order)
        ends.append(rows(lake))
        assert ends[-1] == oracle.rows
    assert every(end == ends[0] for end in ends)


@pytest.mark.parametrize("lived", [LIVED["observed"]], indirect=True)
def test_as_of_each_observation_the_lake_answers_what_the_source_showed(lived):
    *_, result = lived[2]
    for observed, instant in enumerate(INSTANTS):
        reply = {toy.key: toy.text for toy in source_at("observed", WORLDS, observed)}
        answered = answers(result, instant)
        assert {key: answered[key].text for key in reply} == reply


def test_a_history_answers_its_newest_vintage_at_any_instant(lake):
    in_time = [life for life in LIVES if life[0][0] < life[1][0] and all(a == o for a, o in life)]
    worlds = list(product(in_time, repeat=2))
    live_through(lake, "history", worlds, None)
    result_rows = rows(lake)
    for place, instant in enumerate(INSTANTS):
        reply = {}
        for toy in sorted(source_at("history", worlds, 3), key=lambda toy: toy.available_at):
            if toy.available_at <= INSTANTS[place]:
                reply[toy.key] = toy.text
        assert {key: row.text for key, row in answers(result_rows, instant).items()} == reply


def test_later_polls_never_change_the_answers_as_of_an_earlier_poll(lived):
    *_, result = lived[2]
    for instant, existing in zip(INSTANTS, lived[2], strict=True):
        then, now = answers(existing, instant), answers(result, instant)
        assert {key: now[key] for key in then} == then


def test_nothing_is_shown_before_it_was_available_or_seen(lived):
    _, oracle, (*_, result) = lived
    earliest = {}
    for observed in range(4):
        for toy in source_at(oracle.kind, WORLDS, observed):
            earliest.setdefault(toy.content, set()).add(toy.available_at)
            earliest[toy.content].add(INSTANTS[observed])
    for row in result:
        assert row.available_at in earliest[row[:3]]
        assert row.available_at <= row.observed_at
