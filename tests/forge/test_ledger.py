"""The ledger, compared with one in decimals that sums cash flows instead of tracking positions.

`python -m tests.forge.test_ledger 500` compares so many portfolios.
"""

import random
import sys
from collections import Counter
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from forge.records import Cash, Fill
from forge.tracking.ledger import Prices, keep
from pitlake.clock import NEW_YORK
from pitlake.exchange import session

FIRST = date(2023, 11, 1)
DAYS = [FIRST + timedelta(days=number) for number in range(120)]
SESSIONS = [day for day in DAYS if session(day)]
HALF_DAY = date(2023, 11, 24)
TOLERANCE = Decimal("1e-6")


def fill(number, day, ticker="QBG", quantity=100, price=10.0, fees=0.0, expression="", hour=10):
    at = datetime(day.year, day.month, day.day, hour, 30, tzinfo=NEW_YORK)
    return Fill(
        id=f"F-{number:03d}", instrument=ticker, quantity=quantity, price=price, filled_at=at, fees=fees,
        expression=expression,
    )  # fmt: skip


def ledger_of(fills, prices, until=SESSIONS[9], rate=0.0, capital=100_000.0, cash=()):
    opening = Cash(id="C-001", entry="opening", amount=capital, booked_on=until)
    entries = (opening, replace(opening, id="C-002", entry="rate", amount=rate), *cash)
    return keep(entries, fills, prices, SESSIONS, until)


def flat(price, days=SESSIONS):
    return dict.fromkeys(days, price)


def test_average_cost_a_partial_sale_and_a_flip():
    fills = [
        fill(1, SESSIONS[0], quantity=100, price=10.0, fees=1.0),
        fill(2, SESSIONS[1], quantity=100, price=14.0),
        fill(3, SESSIONS[2], quantity=-50, price=15.0),
        fill(4, SESSIONS[3], quantity=-250, price=11.0),
    ]
    account = ledger_of(fills, {"QBG": Prices(flat(11.0))})
    (position,) = account.positions
    assert (position.quantity, position.cost, position.closed, position.open) == (-100, 11.0, 150 - 150, 0.0)
    assert account.nav == 100_000 - 1.0


def test_a_split_and_a_dividend_reach_what_was_held_the_evening_before():
    prices = Prices(
        flat(10.0, SESSIONS[:2]) | flat(5.0, SESSIONS[2:]), {SESSIONS[2]: 2.0}, {SESSIONS[2]: 0.1, SESSIONS[0]: 9.0}
    )
    fills = [fill(1, SESSIONS[0]), fill(2, SESSIONS[2], quantity=10, price=5.0)]
    account = ledger_of(fills, {"QBG": prices})
    (position,) = account.positions
    assert (position.quantity, position.income, account.nav) == (210, pytest.approx(20.0), pytest.approx(100_020.0))


def test_borrowed_cash_pays_for_every_night_and_own_cash_for_none():
    (day, next_day) = SESSIONS[0], SESSIONS[0] + timedelta(days=1)
    lent = ledger_of([fill(1, day, quantity=20_000)], {"QBG": Prices(flat(10.0))}, until=next_day, rate=3.65)
    assert lent.financing == pytest.approx(-10.0)
    assert ledger_of([fill(1, day)], {"QBG": Prices(flat(10.0))}, until=next_day, rate=3.65).financing == 0.0


def test_borrowed_shares_cost_the_position_its_fee_every_night_from_its_day_on():
    day, next_day = SESSIONS[0], SESSIONS[0] + timedelta(days=1)
    fee = Cash(id="C-003", entry="borrow", amount=3.65, booked_on=next_day, ticker="QBG")
    short = [fill(1, day, quantity=-10_000)]
    account = ledger_of(short, {"QBG": Prices(flat(10.0))}, until=next_day + timedelta(days=2), rate=5.0, cash=(fee,))
    assert account.holdings[0].fees == pytest.approx(20.0)
    assert account.nav == pytest.approx(100_000 - 20.0)
    assert ledger_of([fill(1, day)], {"QBG": Prices(flat(10.0))}, cash=(fee,)).holdings[0].fees == 0.0


def test_a_missing_price_is_told_and_the_last_one_counts():
    prices = Prices(flat(12.0, SESSIONS[:3]))
    account = ledger_of([fill(1, SESSIONS[0])], {"QBG": prices}, until=SESSIONS[5])
    assert account.missing == {"QBG": tuple(SESSIONS[3:6])}
    assert account.nav == 100_000 + 200
    alone = ledger_of([fill(1, SESSIONS[0], price=11.0)], {}, until=SESSIONS[0])
    assert (alone.nav, alone.missing) == (100_000, {"QBG": (SESSIONS[0],)})


def portfolio(seed):
    """A random portfolio: its fills, prices by ticker, last day and rate, and what is in it."""
    rng, seen = random.Random(f"ledger/{seed}"), Counter()
    fills, prices = [], {}
    for ticker in ("AAA", "BBB", "CCC")[: rng.randint(1, 3)]:
        delisted = rng.choice((None, None, rng.randrange(20, len(SESSIONS))))
        traded = [day for day in SESSIONS[:delisted] if rng.random() > 0.06]
        level, closes, splits, dividends = rng.uniform(5, 300), {}, {}, {}
        for day in SESSIONS:
            level *= rng.uniform(0.95, 1.05)
            if rng.random() < 0.02:
                splits[day] = rng.choice((2.0, 3.0, 0.5, 0.1, 1.5))
                level /= splits[day]
            if rng.random() < 0.03:
                dividends[day] = round(level * 0.01, 3)
            if day in traded:
                closes[day] = round(level, 4)
        prices[ticker] = Prices(closes, splits, dividends)
        seen.update(splits=len(splits), dividends=len(dividends), delisted=delisted is not None)
        seen.update(gaps=len(SESSIONS[:delisted]) - len(traded), half_days=HALF_DAY in closes)
        for _ in range(rng.randint(1, 12)):
            day = rng.choice(SESSIONS[:delisted])
            fills.append(
                fill(
                    len(fills) + 1,
                    day,
                    ticker,
                    rng.choice((-1, 1)) * rng.randint(1, 4000),
                    round(rng.uniform(5, 300), 2),
                    round(rng.uniform(0, 20), 2),
                    rng.choice(("", "E-001")),
                    rng.randint(9, 17),
                )
            )
    rng.shuffle(fills)
    return fills, prices, rng.choice(DAYS[30:]), rng.choice((0.0, 5.25)), seen


def exact(number):
    return Decimal(str(number))


def day_of(item):
    return item.filled_at.astimezone(NEW_YORK).date()


def grown(prices, after, until):
    """How many shares one share has become since the evening of a day."""
    ratio = Decimal(1)
    for day, factor in prices.splits.items():
        if after < day <= until:
            ratio *= exact(factor)
    return ratio


def shares(fills, prices, until, before=None):
    """What these fills come to on a day; before: count those of earlier days alone."""
    return sum(
        exact(each.quantity) * grown(prices, day_of(each), until)
        for each in fills
        if day_of(each) <= until and (before is None or day_of(each) < before)
    )


def worth(fills, prices, day):
    """The value of a position on a day: its last close, or its last fill's price, over the splits since."""
    closed_on = max((each for each in prices.closes if each <= day), default=None)
    if closed_on is not None:
        price, since = exact(prices.closes[closed_on]), closed_on
    else:
        last = max((each for each in fills if day_of(each) <= day), key=lambda each: (each.filled_at, each.id))
        price, since = exact(last.price), day_of(last)
    return shares(fills, prices, day) * price / grown(prices, since, day)


def realised(fills, prices, until):
    """Closed P&L on average cost, with all prices and quantities brought to the last day's shares."""
    quantity = cost = closed = Decimal(0)
    for item in sorted(fills, key=lambda each: (each.filled_at, each.id)):
        if day_of(item) > until:
            continue
        ratio = grown(prices, day_of(item), until)
        traded, price = exact(item.quantity) * ratio, exact(item.price) / ratio
        if quantity * traded >= 0:
            cost = (quantity * cost + traded * price) / (quantity + traded)
            quantity += traded
            continue
        part = min(abs(quantity), abs(traded))
        closed += part * (price - cost) * (1 if quantity > 0 else -1)
        cost = price if abs(traded) > abs(quantity) else cost
        quantity += traded
    return closed


def oracle(fills, prices, until, rate, borrow, capital=100_000):
    """NAV by day, closed P&L, dividends, interest, fees of borrowed shares, by sums over all fills up to each day."""
    keys = {(each.instrument, each.expression) for each in fills}
    groups = {key: [each for each in fills if (each.instrument, each.expression) == key] for key in keys}
    interest, lent, curve = Decimal(0), Decimal(0), {}
    day = min(day_of(each) for each in fills)
    while day <= until:
        paid = sum(
            -exact(each.quantity) * exact(each.price) - exact(each.fees) for each in fills if day_of(each) <= day
        )
        income = sum(
            shares(group, prices[ticker], ex_day, before=ex_day) * exact(amount)
            for (ticker, _), group in groups.items()
            for ex_day, amount in prices[ticker].dividends.items()
            if ex_day <= day
        )
        cash = capital + paid + income + interest - lent
        if day < until and cash < 0:
            due = cash * exact(rate) / 36500
            interest, cash = interest + due, cash + due
        started = [(key, group) for key, group in groups.items() if any(day_of(each) <= day for each in group)]
        if day < until and day >= borrow.booked_on:
            short = [worth(group, prices[key[0]], day) for key, group in started if key[0] == borrow.ticker]
            due = -sum(value for value in short if value < 0) * exact(borrow.amount) / 36500
            lent, cash = lent + due, cash - due
        curve[day] = cash + sum(worth(group, prices[key[0]], day) for key, group in started)
        day += timedelta(days=1)
    closed = sum(realised(group, prices[key[0]], until) for key, group in groups.items())
    return curve, closed, income, interest, lent


def differences(seed):
    fills, prices, until, rate, seen = portfolio(seed)
    if min(day_of(each) for each in fills) > until:
        return [], seen
    ticker, handle = random.Random(seed).choice(sorted(prices)), min(map(day_of, fills))
    borrow = Cash(id="C-003", entry="borrow", amount=8.5, booked_on=handle + timedelta(days=seed % 9), ticker=ticker)
    account = ledger_of(fills, prices, until, rate, cash=(borrow,))
    curve, closed, income, interest, lent = oracle(fills, prices, until, rate, borrow)
    seen.update(borrowed=lent > 0)
    pairs = [(str(day), exact(nav), curve[day]) for day, nav in account.curve]
    pairs.append(("closed", exact(sum(each.closed for each in account.holdings)), closed))
    pairs.append(("income", exact(sum(each.income for each in account.holdings)), income))
    pairs.append(("interest", exact(account.financing), interest))
    count = sum(exact(each.fees) for each in fills if day_of(each) <= until)
    pairs.append(("fees", exact(sum(each.fees for each in account.holdings)), count + lent))
    parts = 100_000 + account.financing + sum(
        each.open + each.closed + each.income - each.fees for each in account.holdings
    )  # fmt: skip
    pairs.append(("parts", exact(parts), exact(account.nav)))
    content = {key: len(days) for key, days in account.missing.items()}
    assert len(account.curve) == len(curve), "a day is missing"
    assert [number for number in content.values() if number <= 0] == [], "a gap without a day"
    return [(seed, *pair) for pair in pairs if abs(pair[1] - pair[2]) > TOLERANCE * max(1, abs(pair[2]))], seen


def campaign(count):
    wrong, seen = [], Counter()
    for seed in range(count):
        differing, what = differences(seed)
        wrong, seen = wrong + differing, seen + what
    return wrong, seen


def test_the_ledger_is_that_of_an_independent_computation():
    wrong, seen = campaign(60)
    assert wrong == []
    assert min(seen[name] for name in ("splits", "dividends", "gaps", "delisted", "half_days", "borrowed")) > 10


if __name__ == "__main__":
    differing, tally = campaign(int(sys.argv[1]))
    print(dict(tally), len(differing), "differences", differing[:5])
    sys.exit(bool(differing))
