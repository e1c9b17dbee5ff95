"""Bars are converted back to traded prices, compared with a known price path for every subset of three splits."""

from datetime import date, timedelta
from itertools import combinations
from math import exp, prod

import duckdb
import pytest

from assets.graph._basis import Bar, factors
from assets.splits import Split, between, merged, plausible, strays
from pitlake.questions.sql_files import sql_file

GOES_ON = sql_file("macros", "goes_on").read_text(encoding="utf-8")

DAYS = [day for number in range(16) if (day := date(2024, 6, 3) + timedelta(days=number)).weekday() < 5]
MOVES = (0.01, -0.02, 0.03, -0.01, 0.0, 0.02, -0.03, 0.015, 0.01, -0.005, 0.02, -0.01)
RATIOS = (3.0, 2.0, 0.25)
SUBSETS = [
    [Split(DAYS[place], DAYS[place], ratio) for place, ratio in zip(places, RATIOS, strict=False)]
    for count in range(4)
    for places in combinations(range(1, len(DAYS)), count)
]


def stored(splits, loaded):
    """Return the bars as a loader stores them, and the factor by which it divided each day's traded prices: the product
    of the splits executed between the bar and its load.
    """
    bars, price = [], 300.0
    for day, move in zip(DAYS, MOVES, strict=True):
        opening = price / prod(split.ratio for split in splits if split.first == day) * (1 + move / 2)
        price = opening * (1 + move)
        divided = prod(split.ratio for split in splits if day < split.first <= loaded[day])
        bars.append((Bar(day, opening / divided, price / divided), divided))
    return [bar for bar, _ in bars], {bar.day: divided for bar, divided in bars}


def judged(splits, loaded):
    """Return the share of bars with a proven factor, after checking that no proven factor is wrong."""
    bars, true = stored(splits, loaded)
    result = factors(bars, splits, {})
    wrong = {day: factor for day, factor in result.items() if factor is not None and factor != pytest.approx(true[day])}
    assert not wrong, (splits, loaded, wrong)
    return sum(factor is not None for factor in result.values()) / len(result)


def test_bars_loaded_all_at_once_are_converted_back_to_traded_prices():
    shares = [judged(splits, {day: max(day, load) for day in DAYS}) for splits in SUBSETS for load in DAYS]
    assert len(shares) == 232 * 12
    assert min(shares) == 1.0


def test_bars_of_a_stretch_loaded_late_are_converted_back_to_traded_prices():
    shares = []
    for number, splits in enumerate(SUBSETS):
        for first, last in list(combinations(range(len(DAYS)), 2))[number % 5 :: 5]:
            late = dict.fromkeys(DAYS[first:last], DAYS[-1])
            shares.append(judged(splits, {day: late.get(day, day) for day in DAYS}))
    assert len(shares) > 3000
    assert min(shares) == 1.0


@pytest.mark.parametrize("moves", [0.1, -0.15, 0.3, -0.4])
def test_a_large_overnight_move_may_leave_bars_unproven_but_never_wrong(moves, monkeypatch):
    for night in range(1, len(DAYS)):
        changed = (*MOVES[:night], 2 * moves / (2 - moves), *MOVES[night + 1 :])
        monkeypatch.setattr(f"{__name__}.MOVES", changed)
        for splits in ([Split(DAYS[6], DAYS[6], ratio)] for ratio in (2.0, 10.0, 0.05)):
            judged(splits, {day: max(day, DAYS[7]) for day in DAYS[:4]} | {day: day for day in DAYS[4:]})


def test_repeated_splits_within_a_week_merge_and_conflicting_ratios_are_unknown():
    monday, friday, later = DAYS[0], DAYS[4], DAYS[0] + timedelta(days=20)
    assert merged([(monday, 2.0), (friday, 2.0005), (later, 2.0)]) == (
        Split(monday, friday, 2.0005),
        Split(later, later, 2.0),
    )
    assert merged([(monday, 3.0), (friday, 2.0)]) == (Split(monday, monday, 3.0), Split(friday, friday, 2.0))
    assert merged([(monday, 3.0), (monday, 2.0)]) == (Split(monday, monday, None),)
    assert merged([(monday, None), (monday, 2.0)]) == (Split(monday, monday, 2.0),)


def test_the_split_ratio_between_two_days_counts_only_splits_after_the_first_day():
    splits = merged([(DAYS[2], 3.0), (DAYS[5], 2.0)])
    result = [between(splits, DAYS[first], DAYS[last]) for first, last in ((0, 1), (1, 2), (2, 4), (0, 9), (5, 9))]
    assert result == [1.0, 3.0, 1.0, 6.0, 1.0]
    assert between([Split(DAYS[2], DAYS[4], 3.0)], DAYS[2], DAYS[5]) is None
    assert between([Split(DAYS[2], DAYS[2], None)], DAYS[0], DAYS[5]) is None


@pytest.mark.parametrize(
    ("close", "opening", "shares", "volumes", "expected"),
    [
        (20.97, 10.57, 1.0, (None, None), False),  # an unrecorded 2:1 split, with a small rise overnight
        (20.97, 10.57, 1.0, (1e6, 2.1e6), False),
        (20.97, 10.57, 1.0, (1e6, 2e7), True),  # the same fall on news
        (20.97, 10.57, 1.0, (1e6, 0), False),
        (53.50, 28.19, 1.0, (17492600, 132529300), True),  # AAPL on 2000-09-29
        (101.25, 50.50, 1.0, (4476700, 8750000), False),  # AAPL on 2000-06-21, without its split
        (30.0, 20.5, 1.0, (1e6, 1.6e6), False),  # 3:2
        (20.0, 30.2, 1.0, (1e6, 7e5), False),  # 2:3
        (1.0, 9.8, 1.0, (1e6, 9e5), False),  # 1:10, with nine times the traded value
        (1.0, 2.1, 1.0, (1e6, 4e6), True),
        (100.0, 34.0, 1.0, (1e6, 1e8), False),  # no volume explains a fall as large as a 3:1 split
        (40.0, 13.0, 3.0, (1e6, 3e6), True),
        (40.0, 26.0, 2.0, (1e6, 8e6), True),  # a recorded split, and bad news the same night
    ] + [(close, opening, shares, (None, None), expected) for close, opening, shares, expected in (
        (100.0, 99.0, 1.0, True), (100.0, 33.0, 3.0, True), (100.0, 33.0, 1.0, False), (100.0, 99.0, 3.0, False),
     (100.0, 67.0, 1.5, True), (100.0, 99.0, 1.5, False), (100.0, 96.0, 1.047, True), (100.0, 2000.0, 0.05, True))],
)  # fmt: skip
def test_an_overnight_move_is_plausible_if_a_recorded_split_or_the_volume_explains_it(
    close, opening, shares, volumes, expected
):
    assert plausible(close, opening, shares, volumes) is expected
    before, after = (None if volume is None else float(volume) for volume in volumes)
    question = "SELECT goes_on(ln($o * $s / $c), ln($s), ln(nullif($a, 0) / nullif($b, 0)) - ln($s))"
    with duckdb.connect() as connection:
        connection.execute(GOES_ON)
        result = connection.execute(
            question, {"o": opening, "s": shares, "c": close, "a": after, "b": before}
        ).fetchone()
    assert result == (expected,)


def test_a_split_recorded_on_the_wrong_day_leaves_earlier_bars_unproven():
    bars, _ = stored([Split(DAYS[6], DAYS[6], 10.0)], {day: day for day in DAYS})
    result = factors(bars, [Split(DAYS[5], DAYS[5], 10.0)], {})
    assert [result[day] for day in DAYS[:5]] == [None] * 5


@pytest.mark.parametrize(("move", "factor"), [(0.0, 1.0), (0.22, 1.0), (-0.22, 1.0), (0.24, None), (-0.24, None)])
def test_a_factor_is_proven_only_if_every_other_reading_needs_twice_the_move(move, factor):
    """The two readings of a 2:1 split differ by 0.693 in log price. A third of that is 0.231."""
    bars = [Bar(DAYS[0], 100.0, 100.0), Bar(DAYS[1], 50.0 * exp(move), 50.0)]
    assert factors(bars, [Split(DAYS[1], DAYS[1], 2.0)], {}) == {DAYS[0]: factor, DAYS[1]: 1.0}


@pytest.mark.parametrize(("move", "factor"), [(0.0, 2.0), (0.3, 2.0), (-0.3, 2.0), (0.6, None), (-0.6, None)])
def test_an_overnight_move_near_a_split_raises_doubt_only_if_it_resembles_the_split(move, factor):
    prices = (50.0, 50.0, 50.0, 50.0 * exp(move))
    bars = [Bar(day, price, price) for day, price in zip(DAYS, prices, strict=False)]
    result = factors(bars, [Split(DAYS[2], DAYS[2], 2.0)], {})
    assert result == {DAYS[0]: factor, DAYS[1]: factor, DAYS[2]: 1.0, DAYS[3]: 1.0}


def test_before_a_split_of_unknown_ratio_only_bars_already_seen_are_proven():
    bars, _ = stored([], {day: day for day in DAYS})
    closes = {bar.day: bar.close for bar in bars[:2]}
    result = factors(bars, [Split(DAYS[6], DAYS[6], None)], closes)
    assert [result[day] for day in DAYS] == [1.0, 1.0, None, None, None, None, *[1.0] * 6]


@pytest.mark.parametrize(
    ("opening", "near", "volumes", "expected"),
    [
        (50.0, 2.0, (1e6, 1.1e6), True),
        (200.0, 2.0, (1e6, 1.1e6), True),  # on the basis before the split
        (50.0, 2.0, (1e6, 2e7), False),  # a fall on news
        (99.0, 2.0, (1e6, 1.1e6), False),
        (50.0, 20.0, (1e6, 1.1e6), False),
    ],
)
def test_a_price_strays_if_it_moves_like_a_nearby_split_without_its_volume(opening, near, volumes, expected):
    assert strays(100.0, opening, 1.0, near, volumes) is expected
