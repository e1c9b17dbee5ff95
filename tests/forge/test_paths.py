"""Exits by bars, against a slow oracle in fractions that walks every price a bar allows. Ids: O2."""

import random
from collections import Counter
from datetime import date, timedelta
from fractions import Fraction

import pytest

from forge.tracking.paths import Bar, Trade, follow

DAY = date(2024, 3, 1)
FOREVER = date(2199, 12, 31)


def bars(*told, first=DAY):
    """Bars of consecutive days: open, high, low, close, and by name split and dividend."""
    made = [
        Bar(first + timedelta(days=number), *one[:4], **(one[4] if one[4:] else {})) for number, one in enumerate(told)
    ]
    return {bar.day: bar for bar in made}


def path(trade, known, missing=()):
    days = sorted(known)
    return follow(trade, {day: bar for day, bar in known.items() if day not in missing}, days)


@pytest.mark.parametrize(
    ("side", "told", "reason", "price", "made"),
    [
        (1, [(100, 101, 99, 100), (100, 111, 94, 100)], "stop", 95, -0.05),
        (1, [(100, 101, 99, 100), (90, 120, 80, 110)], "stop", 90, -0.1),
        (1, [(100, 101, 99, 100), (115, 120, 80, 90)], "target", 115, 0.15),
        (1, [(100, 112, 99, 100)], "target", 110, 0.1),
        (1, [(94, 100, 93, 99)], "stop", 94, 0.0),
        (-1, [(100, 101, 99, 100), (100, 111, 94, 100)], "stop", 110, -0.1),
        (-1, [(100, 101, 99, 100), (112, 113, 90, 100)], "stop", 112, -0.12),
        (1, [(100, 101, 99, 100), (50, 51, 49, 50, {"split": 2.0}), (50, 56, 50, 55)], "target", 55, 0.1),
        (1, [(100, 101, 99, 100), (97, 98, 96, 97, {"dividend": 3.0}), (97, 97, 95, 96)], "stop", 95, -0.02),
        (-1, [(100, 101, 99, 100), (97, 98, 94, 97, {"dividend": 3.0})], "target", 95, 0.02),
        (1, [(100, 101, 99, 100, {"dividend": 9.0}), (100, 111, 99, 100)], "target", 110, 0.1),
        (1, [(100, 101, 99, 100), (100, 102, 99, 101)], "", None, 0.01),
    ],
)
def test_o2_a_trade_is_left_in_the_order_a_bar_allows(side, told, reason, price, made):
    target, stop = (110.0, 95.0) if side > 0 else (95.0, 110.0)
    found = path(Trade(side, target, stop, FOREVER), bars(*told))
    assert (found.reason, found.price, found.total_return) == (reason, price, made)


def test_o2_a_trade_is_left_at_the_close_of_its_last_day_and_not_followed_over_a_missing_bar():
    known = bars(*[(100, 101, 99, 100 + number) for number in range(4)])
    timed = path(Trade(1, None, None, DAY + timedelta(days=2)), known)
    assert (timed.reason, timed.price, timed.total_return, len(timed.marks)) == ("time", 102, 0.02, 3)
    gone = path(Trade(1, 200.0, None, FOREVER), known, missing=[DAY + timedelta(days=1)])
    assert (gone.reason, gone.gap, len(gone.marks)) == ("", DAY + timedelta(days=1), 1)
    assert path(Trade(1, 200.0, None, FOREVER), known, missing=[DAY]).entry_price is None


def oracle(trade, known, days):
    """By fractions: every price is brought back to the eve's shares and held against the levels as they were told."""
    scale, held, paid, first = Fraction(1), Fraction(1), Fraction(0), None
    for day in days:
        bar = known.get(day)
        if bar is None:
            return first, "", None, day
        scale *= Fraction(str(bar.split))
        if first is None:
            first = Fraction(str(bar.open))
        else:
            held *= Fraction(str(bar.split))
            paid += held * Fraction(str(bar.dividend))
        prices = {name: Fraction(str(getattr(bar, name))) for name in ("open", "high", "low", "close")}
        bad, good = ("low", "high") if trade.side > 0 else ("high", "low")
        left = None
        for moment in ("open", bad, good):
            at = prices[moment] * scale
            stopped = trade.stop is not None and trade.side * (at - Fraction(str(trade.stop))) <= 0
            taken = trade.target is not None and trade.side * (at - Fraction(str(trade.target))) >= 0
            for reason, level, due in (("stop", trade.stop, stopped), ("target", trade.target, taken)):
                if left is None and due and moment != (good if reason == "stop" else bad):
                    left = reason, prices["open"] if moment == "open" else Fraction(str(level)) / scale
        if left is None and day >= trade.until:
            left = "time", prices["close"]
        if left:
            made = trade.side * (left[1] * held + paid - first) / first
            return first, left[0], made, None
    made = trade.side * (prices["close"] * held + paid - first) / first if first else Fraction(0)
    return first, "", made, None


def random_world(rng):
    """A random walk with gaps over night, splits, dividends and now and then a missing bar."""
    price, known = rng.uniform(20, 200), {}
    days = [DAY + timedelta(days=number) for number in range(rng.randint(1, 40))]
    level = price
    for day in days:
        split = rng.choice((2.0, 3.0, 0.5)) if rng.random() < 0.03 else 1.0
        price = max(1.0, price / split * rng.uniform(0.94, 1.06))
        ends = [price, price * rng.uniform(0.97, 1.03)]
        high, low = max(ends) * rng.uniform(1, 1.03), min(ends) * rng.uniform(0.97, 1)
        dividend = round(rng.uniform(0.1, 2), 3) if rng.random() < 0.05 else 0.0
        figures = [round(one, 2) for one in (ends[0], high, low, ends[1])]
        known[day] = Bar(day, *figures, split=split, dividend=dividend)
        price = ends[1]
    side = rng.choice((1, -1))
    wide = lambda: level * rng.uniform(0.02, 0.25)  # noqa: E731
    target = round(level + side * wide(), 2) if rng.random() < 0.8 else None
    stop = round(level - side * wide(), 2) if rng.random() < 0.8 else None
    trade = Trade(side, target, stop, DAY + timedelta(days=rng.randint(3, 60)))
    if rng.random() < 0.1:
        known.pop(rng.choice(days))
    return trade, known, days


def test_o2_hundreds_of_random_paths_are_those_of_the_oracle():
    tally = Counter()
    for seed in range(600):
        trade, known, days = random_world(random.Random(f"paths/{seed}"))
        found, (first, reason, made, gap) = follow(trade, known, days), oracle(trade, known, days)
        assert (found.reason, found.gap) == (reason, gap), seed
        assert found.entry_price == (None if first is None else float(first)), seed
        if made is not None:
            assert found.total_return == pytest.approx(float(made), abs=2e-9), seed
        tally[reason or ("gap" if gap else "held")] += 1
    assert min(tally[one] for one in ("stop", "target", "time", "held", "gap")) >= 10
