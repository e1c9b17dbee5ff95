"""Exits computed from bars, against a slow oracle in fractions that checks each price of a bar. Ids: O2."""

import random
from collections import Counter
from datetime import date, timedelta
from fractions import Fraction

import pytest

from forge.tracking.ledger import Prices
from forge.tracking.paths import PATIENCE, Bar, Trade, follow

DAY = date(2024, 3, 1)
FOREVER = date(2199, 12, 31)


def bars(*reply, first=DAY):
    """Return bars of consecutive days, with splits and dividends by day. reply: open, high, low, close, events."""
    days = [first + timedelta(days=number) for number in range(len(reply))]
    events = {day: each[4] if each[4:] else {} for day, each in zip(days, reply, strict=True)}
    splits, dividends = (
        {day: names[what] for day, names in events.items() if what in names} for what in ("split", "dividend")
    )
    return {day: Bar(day, *each[:4]) for day, each in zip(days, reply, strict=True)}, Prices({}, splits, dividends)


def path(trade, world, missing=(), unproven=()):
    existing, prices = world
    seen = {day: bar for day, bar in existing.items() if day not in missing}
    return follow(trade, seen, prices, sorted(existing), unproven)


@pytest.mark.parametrize(
    ("side", "reply", "reason", "price", "outcome"),
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
def test_o2_a_trade_exits_in_the_price_order_that_a_bar_allows(side, reply, reason, price, outcome):
    target, stop = (110.0, 95.0) if side > 0 else (95.0, 110.0)
    result = path(Trade(side, target, stop, FOREVER), bars(*reply))
    assert (result.reason, result.price, result.total_return) == (reason, price, outcome)


def later(days):
    return DAY + timedelta(days=days)


def test_o2_a_trade_exits_at_the_close_of_its_last_day():
    timed = path(Trade(1, None, None, later(2)), bars(*[(100, 101, 99, 100 + number) for number in range(4)]))
    assert (timed.reason, timed.price, timed.total_return, len(timed.marks)) == ("time", 102, 0.02, 3)


FALL = [(100, 101, 99, 100), (100, 101, 99, 100), (60, 62, 58, 61), (61, 62, 60, 61)]


@pytest.mark.parametrize(
    ("trade", "missing", "unproven", "reason", "price", "day"),
    [
        (Trade(1, None, 95.0, FOREVER), [1], [], "stop", 60, 2),
        (Trade(1, None, 95.0, FOREVER), [], [2], "stop", 61, 3),
        (Trade(-1, 95.0, None, FOREVER), [1], [], "target", 60, 2),
        (Trade(1, None, 95.0, FOREVER), [0], [], "stop", 60, 2),
        (Trade(1, None, None, later(1)), [1], [], "time", 60, 2),
        (Trade(1, None, None, later(0)), [0], [], "", None, None),
        (Trade(1, None, 40.0, FOREVER), [1, 2], [], "", None, None),
    ],
)
def test_o2_levels_passed_while_bars_are_missing_fill_at_the_next_open(trade, missing, unproven, reason, price, day):
    outcome = path(trade, bars(*FALL), [later(each) for each in missing], [later(each) for each in unproven])
    assert (outcome.reason, outcome.price) == (reason, price)
    assert outcome.holes == tuple(later(each) for each in [*missing, *unproven])
    assert (outcome.marks[-1].day if reason else None) == (None if day is None else later(day))


def test_o2_without_bars_only_a_trade_closed_by_the_pm_ends():
    world = bars(*[(100, 101, 99, 100 + 2 * number) for number in range(3 + PATIENCE)])
    gone = [later(number) for number in range(3, 3 + PATIENCE)]
    for closing in (True, False):
        outcome = path(Trade(1, None, None, later(3), closing=closing), world, missing=gone)
        assert (outcome.reason, outcome.price) == (("time", 104) if closing else ("", None))
        assert (outcome.unfollowed, outcome.holes) == (later(3), tuple(gone))
    split = bars(*FALL[:2], (0, 0, 0, 0, {"split": 2.0, "dividend": 3.0}), (51, 52, 50, 51))
    outcome = path(Trade(1, None, 45.0, later(3)), split, missing=[later(2)])
    assert (outcome.price, outcome.stop, outcome.total_return) == (51, 22.5, pytest.approx(0.02 + 0.06))


def oracle(trade, existing, prices, days):
    """Return entry, exit reason and return, in fractions. Split-adjusted prices are compared with original levels."""
    scale, content, paid, first, left, outcome = Fraction(1), Fraction(1), Fraction(0), None, None, Fraction(0)
    for day in days:
        bar = existing.get(day)
        split = Fraction(str(prices.splits.get(day, 1)))
        scale *= split
        if first is not None:
            content *= split
            paid += content * Fraction(str(prices.dividends.get(day, 0)))
        if bar is None:
            continue
        if first is None and day > trade.until:
            return None, "", None
        first = first or Fraction(str(bar.open))
        traded = {name: Fraction(str(getattr(bar, name))) for name in ("open", "high", "low", "close")}
        bad, good = ("low", "high") if trade.side > 0 else ("high", "low")
        for moment in ("open", bad, good):
            at = traded[moment] * scale
            stopped = trade.stop is not None and trade.side * (at - Fraction(str(trade.stop))) <= 0
            taken = trade.target is not None and trade.side * (at - Fraction(str(trade.target))) >= 0
            for reason, level, due in (("stop", trade.stop, stopped), ("target", trade.target, taken)):
                if left is None and due and moment != (good if reason == "stop" else bad):
                    left = reason, traded["open"] if moment == "open" else Fraction(str(level)) / scale
            if left is None and moment == "open" and day > trade.until:
                left = "time", traded["open"]
        if left is None and day >= trade.until:
            left = "time", traded["close"]
        outcome = trade.side * ((left[1] if left else traded["close"]) * content + paid - first) / first
        if left:
            return first, left[0], outcome
    return first, "", outcome


def random_world(rng):
    """Return a trade on a random walk with overnight gaps, splits, dividends and an occasional missing bar."""
    price, existing, splits, dividends = rng.uniform(20, 200), {}, {}, {}
    days = [DAY + timedelta(days=number) for number in range(rng.randint(1, 40))]
    level = price
    for day in days:
        split = splits[day] = rng.choice((2.0, 3.0, 0.5)) if rng.random() < 0.03 else 1.0
        price = max(1.0, price / split * rng.uniform(0.94, 1.06))
        ends = [price, price * rng.uniform(0.97, 1.03)]
        high, low = max(ends) * rng.uniform(1, 1.03), min(ends) * rng.uniform(0.97, 1)
        dividends[day] = round(rng.uniform(0.1, 2), 3) if rng.random() < 0.05 else 0.0
        figures = [round(each, 2) for each in (ends[0], high, low, ends[1])]
        existing[day] = Bar(day, *figures)
        price = ends[1]
    side = rng.choice((1, -1))
    wide = lambda: level * rng.uniform(0.02, 0.25)  # noqa: E731
    target = round(level + side * wide(), 2) if rng.random() < 0.8 else None
    stop = round(level - side * wide(), 2) if rng.random() < 0.8 else None
    trade = Trade(side, target, stop, DAY + timedelta(days=rng.randint(3, 60)))
    for day in rng.sample(days, min(len(days), rng.choice((0, 0, 1, 3)))):
        existing.pop(day)
    return trade, existing, Prices({}, splits, dividends), days


def test_o2_random_price_paths_agree_with_the_oracle():
    tally = Counter()
    for seed in range(600):
        trade, *world, days = random_world(random.Random(f"paths/{seed}"))
        result, (first, reason, outcome) = follow(trade, *world, days), oracle(trade, *world, days)
        assert result.reason == reason, seed
        assert result.entry_price == (None if first is None else float(first)), seed
        if outcome is not None:
            assert result.total_return == pytest.approx(float(outcome), abs=2e-9), seed
        tally.update([reason or "held", "holes" if result.holes else "whole"])
    assert min(tally[each] for each in ("stop", "target", "time", "held", "holes")) >= 10
