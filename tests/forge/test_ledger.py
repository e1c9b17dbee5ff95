"""The ledger, compared with a decimal ledger that sums cash flows instead of tracking positions.

Portfolios hold shares and futures, in USD and in currencies whose rates have gaps.

`python -m tests.forge.test_ledger 500` compares 500 portfolios.
"""

import random
from collections import Counter
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from unittest import mock

import pytest

from forge.records import Cash, Fill
from forge.tracking import ledger
from forge.tracking.ledger import Holding, Prices, keep
from pitlake.clock import NEW_YORK
from pitlake.exchange import session
from tests.tally import Tally

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


def ledger_of(fills, prices, until=SESSIONS[9], rate=0.0, capital=100_000.0, cash=(), rates=None):
    opening = Cash(id="C-001", entry="opening", amount=capital, booked_on=until)
    dated = sorted(cash, key=lambda entry: entry.booked_on)
    entries = (opening, replace(opening, id="C-002", entry="rate", amount=rate), *dated)
    return keep(entries, fills, prices, SESSIONS, until, rates)


def flat(price, days=SESSIONS):
    return dict.fromkeys(days, price)


def test_average_cost_survives_a_partial_sale_and_resets_on_a_flip():
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


def test_splits_and_dividends_apply_to_shares_held_the_evening_before():
    prices = Prices(
        flat(10.0, SESSIONS[:2]) | flat(5.0, SESSIONS[2:]), {SESSIONS[2]: 2.0}, {SESSIONS[2]: 0.1, SESSIONS[0]: 9.0}
    )
    fills = [fill(1, SESSIONS[0]), fill(2, SESSIONS[2], quantity=10, price=5.0)]
    account = ledger_of(fills, {"QBG": prices})
    (position,) = account.positions
    assert (position.quantity, position.income, account.nav) == (210, pytest.approx(20.0), pytest.approx(100_020.0))


def test_only_borrowed_cash_is_charged_interest_per_night():
    (day, next_day) = SESSIONS[0], SESSIONS[0] + timedelta(days=1)
    lent = ledger_of([fill(1, day, quantity=20_000)], {"QBG": Prices(flat(10.0))}, until=next_day, rate=3.65)
    assert lent.financing == pytest.approx(-10.0)
    assert ledger_of([fill(1, day)], {"QBG": Prices(flat(10.0))}, until=next_day, rate=3.65).financing == 0.0


def test_a_short_position_pays_its_borrow_fee_per_night_from_the_fees_date():
    day, next_day = SESSIONS[0], SESSIONS[0] + timedelta(days=1)
    fee = Cash(id="C-003", entry="borrow", amount=3.65, booked_on=next_day, ticker="QBG")
    short = [fill(1, day, quantity=-10_000)]
    account = ledger_of(short, {"QBG": Prices(flat(10.0))}, until=next_day + timedelta(days=2), rate=5.0, cash=(fee,))
    assert account.holdings[0].fees == pytest.approx(20.0)
    assert account.nav == pytest.approx(100_000 - 20.0)
    assert ledger_of([fill(1, day)], {"QBG": Prices(flat(10.0))}, cash=(fee,)).holdings[0].fees == 0.0


def test_the_results_of_the_evenings_include_the_nights_between_and_add_up():
    fee = Cash(id="C-003", entry="borrow", amount=3.65, booked_on=SESSIONS[0], ticker="QZP")
    fills = [fill(1, SESSIONS[0], quantity=30_000), fill(2, SESSIONS[0], "QZP", quantity=-10_000)]
    prices = {"QBG": Prices(flat(10.0)), "QZP": Prices(flat(10.0))}
    evenings = [ledger_of(fills, prices, until=day, rate=3.65, cash=(fee,)) for day in SESSIONS[:4]]
    days = [account.since(SESSIONS[number])[0] for number, account in enumerate(evenings[1:])]
    assert sum(days) == pytest.approx(evenings[-1].since(SESSIONS[0])[0])
    assert days == pytest.approx([later.nav - account.nav for account, later in pairwise(evenings)])
    short = evenings[1].results_since(SESSIONS[0])["QZP", ""]
    assert (days[0], short) == pytest.approx((-20.0, -10.0))


def test_a_missing_price_is_reported_and_the_last_price_counts():
    prices = Prices(flat(12.0, SESSIONS[:3]))
    account = ledger_of([fill(1, SESSIONS[0])], {"QBG": prices}, until=SESSIONS[5])
    assert account.missing == {"QBG": tuple(SESSIONS[3:6])}
    assert account.nav == 100_000 + 200
    alone = ledger_of([fill(1, SESSIONS[0], price=11.0)], {}, until=SESSIONS[0])
    assert (alone.nav, alone.missing) == (100_000, {"QBG": (SESSIONS[0],)})


def test_pnl_since_a_day_excludes_deposits_and_withdrawals():
    """The account gains 100 on 101,000 after the deposit, and loses 200 on 99,100 after the withdrawal."""
    flows = [
        Cash(id=f"C-00{number}", entry=entry, amount=amount, booked_on=SESSIONS[number])
        for number, entry, amount in ((3, "deposit", 1000.0), (4, "withdrawal", 2000.0))
    ]
    closes = dict(zip(SESSIONS, (10.0, 10.0, 10.0, 11.0, 9.0), strict=False))
    account = ledger_of([fill(1, SESSIONS[0])], {"QBG": Prices(closes)}, until=SESSIONS[4], cash=flows)
    assert account.since(SESSIONS[3]) == pytest.approx((-200.0, -200 / 99_100 * 100))
    percent = (101_100 / 101_000 * 98_900 / 99_100 - 1) * 100
    assert account.since(SESSIONS[2]) == account.since(FIRST - timedelta(days=1)) == pytest.approx((-100.0, percent))


OIL = Cash(id="C-003", entry="contract", amount=6000.0, booked_on=SESSIONS[0], ticker="future:QOIL", multiplier=1000.0)
INDEX = replace(OIL, amount=3000.0, ticker="future:QIDX", multiplier=10.0, currency="EUR")
QOIL, QIDX = "future:QOIL:2024-03", "future:QIDX:2024-03"


def future(number, day, contract=OIL, **more):
    terms = {"currency": contract.currency, "multiplier": contract.multiplier}
    return replace(fill(number, day, f"{contract.ticker}:2024-03", **more), **terms)


def test_a_future_costs_only_fees_and_settles_its_variation_every_evening():
    closes = dict(zip(SESSIONS, (81.0, 79.0, 82.0), strict=False))
    fills = [future(1, SESSIONS[0], quantity=3, price=80.0, fees=6.0), future(2, SESSIONS[2], quantity=-1, price=83.0)]
    account = ledger_of(fills, {QOIL: Prices(closes)}, until=SESSIONS[2], cash=(OIL,))
    assert [nav - 100_000 for _, nav in account.curve] == [2994.0, -3006.0, 6994.0]
    (position,) = account.positions
    assert (account.nav, account.cash, position.value) == (106_994.0, 106_994.0, 0.0)
    assert (position.open, position.closed, position.exposure) == (4000.0, 3000.0, 2 * 82_000.0)
    assert (position.margin, account.margin, account.by_key()[QOIL, ""].cost) == (12_000.0, 12_000.0, 80.0)


def test_a_changed_margin_applies_from_its_day_and_a_contract_month_may_differ():
    held, closes = [future(1, SESSIONS[1], quantity=-2, price=80.0)], {QOIL: Prices(flat(80.0))}
    raised = replace(OIL, id="C-004", amount=7000.0, booked_on=SESSIONS[5])
    before, after = (ledger_of(held, closes, SESSIONS[day], cash=(OIL, raised)).margin for day in (4, 5))
    of_month = replace(OIL, id="C-005", amount=9000.0, ticker=QOIL)
    assert (before, after, ledger_of(held, closes, cash=(OIL, of_month)).margin) == (12_000.0, 14_000.0, 18_000.0)


def test_an_amount_in_another_currency_becomes_usd_at_the_rate_of_its_day():
    rates = {"EUR": {SESSIONS[0]: 1.10, SESSIONS[1]: 1.20, SESSIONS[3]: 1.00}}
    shares = replace(fill(1, SESSIONS[0], quantity=100, price=10.0, fees=5.0), currency="EUR")
    closes = {"QBG": Prices(flat(11.0)), QIDX: Prices(dict(zip(SESSIONS, (100.0, 101.0, 103.0, 103.0), strict=False)))}
    account = ledger_of([shares], closes, until=SESSIONS[3], rates=rates)
    assert account.curve[0][1] == pytest.approx(100_000 + 100 * 1.0 * 1.1 - 5 * 1.1)
    assert account.nav == pytest.approx(100_000 - 1000 * 1.1 - 5 * 1.1 + 1100 * 1.0)
    (position,) = account.positions
    assert (position.cost, position.price, position.open) == (10.0, 11.0, pytest.approx(1100 - 1100))
    assert position.fees == pytest.approx(5 * 1.1)
    assert account.unrated == {"EUR": (SESSIONS[2],)}
    held = [future(1, SESSIONS[0], INDEX, quantity=2, price=100.0)]
    account = ledger_of(held, closes, until=SESSIONS[3], rates=rates, cash=(INDEX,))
    assert account.nav == pytest.approx(100_000 + 2 * 10 * (1 * 1.2 + 2 * 1.2))
    assert (account.margin, account.positions[0].exposure) == (6000.0, 2060.0)


def test_a_position_keeps_its_multiplier_until_it_is_closed():
    day, later = SESSIONS[0], SESSIONS[1]
    units = replace(fill(1, day, QOIL, quantity=100, price=80.0), multiplier=None)
    sold = future(2, later, quantity=-100, price=81.0)
    account = ledger_of([units, sold], {QOIL: Prices(flat(80.0))}, until=later, cash=(OIL,))
    assert (account.positions, account.nav) == ([], 100_100.0)


def portfolio(seed):
    """Return a random portfolio's fills, prices by ticker, last day, interest rate, terms, and feature counts."""
    rng, seen = random.Random(f"ledger/{seed}"), Counter()
    fills, prices = [], {}
    for ticker in rng.sample(("AAA", "BBB", "CCC", "EURO", "YEN", QOIL, QIDX), rng.randint(1, 4)):
        contract = {QOIL: OIL, QIDX: INDEX}.get(ticker)
        currency = contract.currency if contract else {"EURO": "EUR", "YEN": "JPY"}.get(ticker, "")
        delisted = rng.choice((None, None, rng.randrange(20, len(SESSIONS))))
        traded = [day for day in SESSIONS[:delisted] if rng.random() > 0.06]
        level, closes, splits, dividends = rng.uniform(5, 300), {}, {}, {}
        for day in SESSIONS:
            level *= rng.uniform(0.95, 1.05)
            if not contract and rng.random() < 0.02:
                splits[day] = rng.choice((2.0, 3.0, 0.5, 0.1, 1.5))
                level /= splits[day]
            if not currency and not contract and rng.random() < 0.03:
                dividends[day] = round(level * 0.01, 3)
            if day in traded:
                closes[day] = round(level, 4)
        prices[ticker] = Prices(closes, splits, dividends)
        seen.update(splits=len(splits), dividends=len(dividends), delisted=delisted is not None)
        seen.update(gaps=len(SESSIONS[:delisted]) - len(traded), half_days=HALF_DAY in closes)
        seen.update(futures=contract is not None, foreign=bool(currency))
        for _ in range(rng.randint(1, 12)):
            day = rng.choice(SESSIONS[:delisted])
            quantity = rng.choice((-1, 1)) * rng.randint(1, 20 if contract else 4000)
            price, fees = round(rng.uniform(5, 300), 2), round(rng.uniform(0, 20), 2)
            traded_at = fill(
                len(fills) + 1, day, ticker, quantity, price, fees, rng.choice(("", "E-001")), rng.randint(9, 17)
            )
            multiplier = contract.multiplier if contract else None
            fills.append(replace(traded_at, currency=currency, multiplier=multiplier))
    rng.shuffle(fills)
    rates = {"EUR": {}, "JPY": {}}  # with gaps, starting before the first session
    for name, start in (("EUR", 1.1), ("JPY", 0.007)):
        level = start
        for number in range(-9, len(DAYS)):
            level *= rng.uniform(0.98, 1.02)
            if number == -9 or rng.random() > 0.15:
                rates[name][FIRST + timedelta(days=number)] = round(level, 6)
    raised = [replace(each, amount=each.amount * 1.5, booked_on=rng.choice(DAYS)) for each in (OIL, INDEX)]
    terms = rates, (OIL, INDEX, *raised)
    return fills, prices, rng.choice(DAYS[30:]), rng.choice((0.0, 5.25)), terms, seen


def exact(number):
    return Decimal(str(number))


def day_of(item):
    return item.filled_at.astimezone(NEW_YORK).date()


def grown(prices, after, until):
    """Return how many shares one share has become since the evening of the day `after`."""
    ratio = Decimal(1)
    for day, factor in prices.splits.items():
        if after < day <= until:
            ratio *= exact(factor)
    return ratio


def shares(fills, prices, until, before=None):
    """Return the quantity of these fills at `until`. If `before` is given, only earlier fills count."""
    return sum(
        exact(each.quantity) * grown(prices, day_of(each), until)
        for each in fills
        if day_of(each) <= until and (before is None or day_of(each) < before)
    )


def usd(rates, currency, day):
    """Return the last rate up to a day, in USD per unit of the currency."""
    return exact(rates[currency][max(each for each in rates[currency] if each <= day)]) if currency else Decimal(1)


def last_price(fills, prices, day):
    """Return the last close up to a day, or else the price of the last fill, with its day."""
    closed_on = max((each for each in prices.closes if each <= day), default=None)
    if closed_on is not None:
        return exact(prices.closes[closed_on]), closed_on
    last = max((each for each in fills if day_of(each) <= day), key=lambda each: (each.filled_at, each.id))
    return exact(last.price), day_of(last)


def worth(fills, prices, day):
    """Return the value of a position on a day in its currency, at its last price adjusted for later splits."""
    price, since = last_price(fills, prices, day)
    return shares(fills, prices, day) * price / grown(prices, since, day)


def variation(fills, prices, day, rates):
    """Return what a future paid up to a day. Each evening it pays the move since the last evening or a new fill."""
    total = before = Decimal(0)
    today = min(day_of(each) for each in fills)
    while today <= day:
        position = shares(fills, prices, today)
        settled, _ = last_price(fills, prices, today)
        news = [each for each in fills if day_of(each) == today]
        points = (position - sum(exact(each.quantity) for each in news)) * (settled - before)
        points += sum(exact(each.quantity) * (settled - exact(each.price)) for each in news)
        total += points * exact(fills[0].multiplier) * usd(rates, fills[0].currency, today)
        before, today = settled, today + timedelta(days=1)
    return total


def realised(fills, prices, until, rates):
    """Return the closed P&L in USD at average cost, with prices and quantities in shares of the last day."""
    quantity = cost = closed = Decimal(0)
    for item in sorted(fills, key=lambda each: (each.filled_at, each.id)):
        if day_of(item) > until:
            continue
        ratio = grown(prices, day_of(item), until)
        traded, price = exact(item.quantity) * ratio, exact(item.price) / ratio
        price *= exact(item.multiplier or 1) * usd(rates, item.currency, day_of(item))
        if quantity * traded >= 0:
            cost = (quantity * cost + traded * price) / (quantity + traded)
            quantity += traded
            continue
        part = min(abs(quantity), abs(traded))
        closed += part * (price - cost) * (1 if quantity > 0 else -1)
        cost = price if abs(traded) > abs(quantity) else cost
        quantity += traded
    return closed


def oracle(fills, prices, until, rate, rates, borrow, capital=100_000):
    """Return NAV by evening, closed P&L, dividends, interest and borrow fees, as sums over the fills up to a day."""
    keys = {(each.instrument, each.expression) for each in fills}
    groups = {key: [each for each in fills if (each.instrument, each.expression) == key] for key in keys}
    interest, lent, curve = Decimal(0), Decimal(0), {}
    day = min(day_of(each) for each in fills)
    while day <= until:
        paid = sum(
            usd(rates, each.currency, day_of(each))
            * (-exact(each.quantity) * exact(0 if each.multiplier else each.price) - exact(each.fees))
            for each in fills
            if day_of(each) <= day
        )
        started = [(key, group) for key, group in groups.items() if any(day_of(each) <= day for each in group)]
        futures = [(key, group) for key, group in started if group[0].multiplier]
        paid += sum(variation(group, prices[ticker], day, rates) for (ticker, _), group in futures)
        income = sum(
            shares(group, prices[ticker], ex_day, before=ex_day) * exact(amount)
            for (ticker, _), group in groups.items()
            for ex_day, amount in prices[ticker].dividends.items()
            if ex_day <= day
        )
        cash = capital + paid + income + interest - lent
        values = {
            key: worth(group, prices[key[0]], day) * usd(rates, group[0].currency, day)
            for key, group in started
            if not group[0].multiplier
        }
        curve[day] = cash + sum(values.values())
        if day < until:
            interest += min(cash, Decimal(0)) * exact(rate) / 36500
        if day < until and day >= borrow.booked_on:
            short = [value for key, value in values.items() if key[0] == borrow.ticker]
            lent -= sum(value for value in short if value < 0) * exact(borrow.amount) / 36500
        day += timedelta(days=1)
    closed = {key: realised(group, prices[key[0]], until, rates) for key, group in groups.items()}
    return curve, closed, income, interest, lent


def differences(seed):
    fills, prices, until, rate, (rates, contracts), seen = portfolio(seed)
    if min(day_of(each) for each in fills) > until:
        return [], seen
    ticker, handle = random.Random(seed).choice(sorted(prices)), min(map(day_of, fills))
    borrow = Cash(id="C-003", entry="borrow", amount=8.5, booked_on=handle + timedelta(days=seed % 9), ticker=ticker)
    account = ledger_of(fills, prices, until, rate, cash=(borrow, *contracts), rates=rates)
    curve, closed, income, interest, lent = oracle(fills, prices, until, rate, rates, borrow)
    seen.update(borrowed=lent > 0, unrated=sum(map(len, account.unrated.values())))
    pairs = [(str(day), exact(nav), curve[day]) for day, nav in account.curve if day in curve]
    for key, holding in account.by_key().items():
        if not (holding.multiplier and holding.currency):
            pairs.append((f"closed {key}", exact(holding.closed), closed[key]))
        group = [each for each in fills if (each.instrument, each.expression) == key]
        worth_now = worth(group, prices[key[0]], until) * usd(rates, group[0].currency, until)
        pairs.append((f"exposure {key}", exact(holding.exposure), worth_now * exact(group[0].multiplier or 1)))
        margin = margin_of(group, prices[key[0]], until, rates, contracts)
        pairs.append((f"margin {key}", exact(holding.margin), margin))
    assert {name: days for name, days in account.unrated.items() if days} == unrated(fills, prices, until, rates)
    pairs.append(("income", exact(sum(each.income for each in account.holdings)), income))
    pairs.append(("interest", exact(account.financing), interest))
    count = sum(exact(each.fees) * usd(rates, each.currency, day_of(each)) for each in fills if day_of(each) <= until)
    pairs.append(("fees", exact(sum(each.fees for each in account.holdings)), count + lent))
    parts = 100_000 + account.financing + sum(
        each.open + each.closed + each.income - each.fees for each in account.holdings
    )  # fmt: skip
    pairs.append(("parts", exact(parts), exact(account.nav)))
    content = {key: len(days) for key, days in account.missing.items()}
    assert {*curve} <= {day for day, _ in account.curve}, "a day is missing"
    assert [number for number in content.values() if number <= 0] == [], "a gap without a day"
    return [(seed, *pair) for pair in pairs if abs(pair[1] - pair[2]) > TOLERANCE * max(1, abs(pair[2]))], seen


def margin_of(group, prices, until, rates, contracts):
    """Return a position's initial margin under the newest contract up to a day, or else the first contract."""
    dated = [each for each in contracts if group[0].instrument.startswith(f"{each.ticker}:")]
    if not dated:
        return Decimal(0)
    past = [each for each in reversed(dated) if each.booked_on <= until]
    newest = max(past, key=lambda each: each.booked_on, default=dated[0])
    return abs(shares(group, prices, until)) * exact(newest.amount) * usd(rates, newest.currency, until)


def unrated(fills, prices, until, rates):
    """Return, by currency, the sessions that ended with an open position and without a public rate."""
    first, days = min(map(day_of, fills)), {}
    for currency in rates:
        keys = {(each.instrument, each.expression) for each in fills if each.currency == currency}
        groups = [[each for each in fills if (each.instrument, each.expression) == key] for key in keys]
        days[currency] = tuple(
            day
            for day in SESSIONS
            if first <= day <= until
            and day not in rates[currency]
            and any(abs(shares(group, prices[group[0].instrument], day)) > Decimal("1e-9") for group in groups)
        )
    return {currency: found for currency, found in days.items() if found}


def campaign(count):
    wrong, seen = [], Counter()
    for seed in range(count):
        differing, what = differences(seed)
        wrong, seen = wrong + differing, seen + what
    return wrong, seen


def test_the_ledger_agrees_with_an_independent_computation():
    wrong, seen = campaign(60)
    assert wrong == []
    assert min(seen[name] for name in ("splits", "dividends", "gaps", "delisted", "half_days", "borrowed")) > 10
    assert min(seen[name] for name in ("futures", "foreign", "unrated")) > 10


@pytest.mark.parametrize(
    ("method", "mutant"),
    [
        ("mark", lambda holding, price: Holding.mark(holding, price) / holding.rate),
        ("trade", lambda holding, *fill: Holding.trade(holding, *fill) / holding.rate),
        ("value", property(lambda holding: holding.exposure)),
    ],
    ids=["mark", "trade", "value"],
)
def test_the_ledger_comparison_detects_each_mutant(method, mutant):
    with mock.patch.object(ledger, "Holding", type("Mutant", (Holding,), {method: mutant})):
        assert campaign(20)[0]


def share(seed, _folder):
    """Compare one portfolio."""
    wrong, seen = differences(seed)
    return Tally(1, counts=seen, failures=wrong)
