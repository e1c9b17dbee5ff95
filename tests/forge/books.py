"""Random securities and a slow ledger of an account that holds them. Both share no code with Forge."""

import random
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from math import floor

from pitlake.clock import NEW_YORK, end_of_new_york_day
from pitlake.exchange import session
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows

FIRST, CAPITAL, COSTS, PATIENCE = date(2024, 1, 2), 1_000_000.0, 7.0, 5
DAYS = [FIRST + timedelta(days=number) for number in range(110)]
SESSIONS = [day for day in DAYS if session(day)]
TICKERS = [f"T{letter}{other}" for letter in "ABCDEF" for other in "ABCDE"]


def evening(day, hour=20):
    return datetime(day.year, day.month, day.day, hour, tzinfo=NEW_YORK)


@dataclass
class Security:
    """The history of a security: bars as traded, and splits and dividends by effective session."""

    bars: dict = field(default_factory=dict)
    splits: dict = field(default_factory=dict)
    dividends: dict = field(default_factory=dict)
    jump: date | None = None


def security(ticker):
    """Return a random security and the lake rows that describe it."""
    rng, outcome, level = random.Random(f"books/{ticker}"), Security(), random.Random(ticker).uniform(20, 300)
    dark = {day for start in rng.sample(range(len(SESSIONS)), 3) for day in SESSIONS[start : start + rng.randint(1, 4)]}
    if rng.random() < 0.2:
        dark |= set(SESSIONS[rng.randrange(30, len(SESSIONS)) :])
    acts = dict(zip(rng.sample(DAYS[12:], 2), rng.sample((2.0, 3.0, 0.5), 2), strict=True))
    jumps, facts = rng.choice(((), (SESSIONS[rng.randrange(20, 60)],))), defaultdict(list)
    paid = FIRST - timedelta(days=99)
    for day in DAYS:
        counts = next((later for later in SESSIONS if later >= day), None)
        if (ratio := acts.get(day)) and counts and day not in jumps:
            outcome.splits[counts] = outcome.splits.get(counts, 1.0) * ratio
            level /= ratio
            reply = {"split_id": f"{ticker}{day}", "ticker": ticker, "execution_date": day, "split_from": 1.0}
            facts["splits"].append(reply | {"split_to": ratio, "available_at": end_of_new_york_day(FIRST)})
        if rng.random() < 0.04 and counts and day - paid > timedelta(days=6):
            paid = day  # The lake may count two payments within a week as one.
            currency, amount = rng.choice(("USD", "USD", "CAD")), round(level * 0.01, 3)
            if currency == "USD":
                outcome.dividends[counts] = outcome.dividends.get(counts, 0.0) + amount
            reply = {"ticker": ticker, "declaration_date": day - timedelta(days=30), "ex_dividend_date": day}
            reply |= {"cash_amount": amount, "currency": currency, "dividend_type": "Regular"}
            reply["dividend_id"] = f"{ticker}{day}"
            facts["dividends"].append(reply | {"available_at": end_of_new_york_day(FIRST)})
        if day not in SESSIONS:
            continue
        level *= rng.uniform(0.96, 1.04) * (rng.choice((0.5, 1.9)) if day in jumps else 1)
        if day in dark and day not in jumps:
            continue
        if day in jumps:
            outcome.jump = day
        first, last = level, level * rng.uniform(0.98, 1.02)
        high, low = max(first, last) * rng.uniform(1, 1.02), min(first, last) * rng.uniform(0.98, 1)
        outcome.bars[day] = tuple(round(price, 2) for price in (first, high, low, last))
        bar = dict(zip(("open", "high", "low", "close"), outcome.bars[day], strict=True)) | {"volume": 1000.0}
        bar |= {"entity_kind": "company", "entity_id": ticker, "symbol": ticker, "date": day}
        facts["prices"].append(bar | {"available_at": session(day).close})
        level = last
    return outcome, facts


def market(root):
    """Return a lake of random securities, and their histories."""
    outcome, facts = {}, defaultdict(list)
    for ticker in TICKERS:
        outcome[ticker], rows = security(ticker)
        for dataset, of_ticker in rows.items():
            facts[dataset] += of_ticker
    lake = Lake(root)
    for dataset, rows in facts.items():
        put_rows(lake, dataset, *rows)
    return lake, outcome


class Trade:
    """An Expression as the PM approved it: its terms by effective day, its status and its result."""

    def __init__(self, name, ticker, side, notional, approved, terms):
        self.name, self.ticker, self.side, self.notional, self.approved = name, ticker, side, notional, approved
        self.terms, self.status, self.made = [(approved, terms)], "active", None

    @property
    def newest(self):
        return self.terms[-1][1]

    def change(self, day, later=1, **changed):
        self.terms.append((day + timedelta(days=later), {**self.newest, **changed}))

    def course(self, world, today):
        """Return the entry, the exit, all sessions without a usable bar, and the sessions since the last usable bar."""
        item, levels = world[self.ticker], dict(self.terms[0][1])
        rest, entry, shares, last, dark, dim = list(self.terms[1:]), None, 1.0, None, [], []
        for day in SESSIONS:
            if day <= self.approved or day > today:
                continue
            while rest and rest[0][0] <= day:
                before = self.terms[len(self.terms) - len(rest) - 1][1]
                levels |= {name: value for name, value in rest.pop(0)[1].items() if value != before[name]}
            ratio = item.splits.get(day, 1.0)
            for name in ("stop", "target"):
                levels[name] = levels[name] and levels[name] / ratio
            last = last and last / ratio
            if entry is None and levels["until"] and day > levels["until"]:
                break
            shares = shares * ratio if entry else 1.0
            prices = None if day == item.jump else item.bars.get(day)
            if prices is None:
                dark, dim = [*dark, day], [*dim, day]
                overdue = [hole for hole in dark if levels["until"] and hole >= levels["until"]]
                if entry and levels["reason"] and len(overdue) >= PATIENCE:
                    return entry, (day, "time", last, shares), dark, dim
                continue
            dim, first = [], prices[0]
            entry, last = entry or (day, first), prices[3]
            leave = self.leave(levels, prices, day)
            if leave:
                return entry, (day, *leave, shares), dark, dim
        return entry, None, dark, dim

    def leave(self, levels, prices, day):
        """Return why and at what price a bar closes the position: open first, then worse side, then better side."""
        first, high, low, last = prices
        worse, better = (low, high) if self.side > 0 else (high, low)
        stop, target, until = levels["stop"], levels["target"], levels["until"]
        for moment, price in (("open", first), ("stop", worse), ("target", better)):
            stopped = stop is not None and moment != "target" and (stop - price) * self.side >= 0
            taken = target is not None and moment != "stop" and (price - target) * self.side >= 0
            if stopped:
                return "stop", first if moment == "open" else stop
            if taken:
                return "target", first if moment == "open" else target
            if moment == "open" and until and day > until:
                return "time", first
        return ("time", last) if until and day >= until else None


class Books:
    """A slow ledger that is recomputed from the first day every evening."""

    def __init__(self, world):
        self.world, self.fills, self.cash, self.rates, self.trades = world, [], [], [], []

    def booked(self, by, ticker, quantity, price, at, fees=0.0, trade=""):
        self.fills.append(
            {"id": len(self.fills), "by": by, "ticker": ticker, "quantity": quantity, "price": price, "at": at}
            | {"fees": fees, "trade": trade, "void": False}
        )

    def live(self, trade=None):
        return [each for each in self.fills if not each["void"] and trade in (None, each["trade"])]

    def replayed(self, until, fills, *, alone=False):
        """Return the value and the shares at the end of a day. alone: only the P&L of `fills`, without other cash."""
        cash = 0.0 if alone else CAPITAL
        content, prices = defaultdict(float), {}
        ordered = sorted(fills, key=lambda each: (each["at"], each["id"]))
        for day in (day for day in DAYS if day <= until):
            for ticker, item in self.world.items():
                ratio = item.splits.get(day, 1.0)
                content[ticker] *= ratio
                prices[ticker] = prices.get(ticker, 0.0) / ratio
                cash += content[ticker] * item.dividends.get(day, 0.0)
            cash += 0.0 if alone else sum(amount for on, amount, _ in self.cash if on == day)
            for fill in (each for each in ordered if each["at"].date() == day):
                content[fill["ticker"]] += fill["quantity"]
                cash -= fill["quantity"] * fill["price"] + fill["fees"]
            prices |= {ticker: each.bars[day][3] for ticker, each in self.world.items() if day in each.bars}
            rate = next((rate for on, rate in reversed(self.rates) if on <= day), self.rates[0][1])
            if not alone and day < until and cash < 0:
                cash += cash * rate / 100 / 365
        return cash + sum(shares * prices[ticker] for ticker, shares in content.items()), content

    def execute(self, today):
        """Book the fills of approved Expressions that code executes by this evening."""
        due = []
        for trade in self.trades:
            entry, leave, _, _ = trade.course(self.world, today)
            own = [each for each in self.fills if each["trade"] == trade.name]
            by_code = [each["void"] for each in own if each["by"] == "code"]
            if entry is None or (own and by_code != [False]):
                continue
            due += [(entry[0], 0, trade, entry, leave)] if not own else []
            due += [(leave[0], 1, trade, entry, leave)] if leave else []
        for day, leaves, trade, entry, leave in sorted(due, key=lambda each: (each[0], each[1], each[2].name)):
            if leaves:
                (_, content), (_, then) = (
                    self.replayed(until, self.live(trade.name), alone=True) for until in (today, day)
                )
                ratio = 1.0
                for on, split in self.world[trade.ticker].splits.items():
                    ratio *= split if day < on <= today else 1.0
                quantity = -content[trade.ticker] / ratio if content[trade.ticker] * then[trade.ticker] > 0 else 0.0
                price, at = leave[2], session(day).close
            else:
                before = day - timedelta(days=1)
                nav, _ = self.replayed(before, [each for each in self.live() if each["at"].date() <= before])
                price, at = entry[1], session(day).open
                quantity = trade.side * floor(trade.notional / 100 * nav / price + 1e-9)
            if quantity:
                fees = round(abs(quantity) * price * COSTS / 10_000, 6)
                self.booked("code", trade.ticker, quantity, price, at.astimezone(NEW_YORK), fees, trade.name)

    def close(self, today):
        """Close the Expressions that end by this evening; return their reasons and results."""
        ended = {}
        for trade in self.trades:
            if trade.status != "active":
                continue
            entry, leave, dark, _ = trade.course(self.world, today)
            until, ordered = trade.newest["until"], trade.newest["reason"]
            fills = self.live(trade.name)
            outcome, content = self.replayed(today, fills, alone=True)
            none_left = fills and all(abs(shares) < 1e-9 for shares in content.values())
            if leave:
                reason = leave[1] if leave[1] != "time" else ordered or "time"
            elif until and until < today and entry is None and (ordered or not dark):
                reason = ordered or "time"
            elif none_left and any(each["by"] == "pm" for each in fills):
                reason = ordered or "fill"
            else:
                continue
            paid_in = CAPITAL + sum(amount for on, amount, flows in self.cash if flows and on <= today)
            trade.status, trade.made = "closed", outcome / paid_in * 100
            ended[trade.name] = reason, trade.made
        return ended
