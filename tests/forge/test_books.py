"""Quarters of random accounts on bars with holes, compared with a slow ledger that shares no code with Forge.

They contain halts, delistings, splits in holes, unproven jumps, dividends in other currencies, moved stops, positions
closed by the PM, partial, closing, late and void fills, deposits, fees and changed settings. Both ledgers must agree
every evening on net asset value and on each position's status and result. Unfollowed positions must have an alert.
`python -m tests.forge.test_books 300 0` runs 300 quarters, starting with seed 0.
"""

import random
import shutil
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from functools import cache, lru_cache
from pathlib import Path
from unittest import mock

import pytest

from forge.core.clock import Simulated
from forge.core.config import AccountSettings, Alerts, Config
from forge.memory import Memory
from forge.memory.approvals import change_held
from forge.memory.cash import Entry, book_cash
from forge.memory.fills import import_fills, void_fill
from forge.memory.guardrails import Guardrails
from forge.providers.base import At
from forge.records import parse
from forge.tracking import alerts, risk, trades, valuation
from forge.tracking.account import advance_account
from forge.tracking.ledger import Prices
from forge.tracking.paths import follow
from forge.tracking.settlement import whole_memory
from forge.tracking.trades import close_exits
from pitlake.clock import NEW_YORK
from pitlake.errors import PitlakeError
from tests.forge.books import CAPITAL, COSTS, DAYS, FIRST, SESSIONS, TICKERS, Books, Trade, evening, market
from tests.forge.test_untaken import held, standing
from tests.forge.world import FAST, NEW_VIEW, wrote
from tests.tally import Tally

TOLERANCE, QUARTERS = 1e-6, 10


class Player:
    """A random PM, who takes the same actions in Forge and in the slow ledger."""

    def __init__(self, memory, lake, world, seed):
        self.rng, self.memory, self.lake, self.world = random.Random(f"books/{seed}"), memory, lake, world
        self.books, self.seen, self.settings = Books(world), Counter(), AccountSettings(capital=CAPITAL, costs_bp=COSTS)
        self.tickers, self.navs = self.rng.sample(TICKERS, 5), []

    def close_of(self, ticker, day):
        bars = self.world[ticker].bars
        last = max((each for each in bars if each <= day), default=None)
        if last is None:
            return None
        price = bars[last][3]
        for on, ratio in self.world[ticker].splits.items():
            price /= ratio if last < on <= day else 1.0
        return round(price, 2)

    def approves(self, day):
        ticker, side = self.rng.choice(self.tickers), self.rng.choice((1, 1, -1))
        price = self.close_of(ticker, day)
        if not price:
            return
        stop, target = (round(price * (1 + side * way * self.rng.uniform(0.03, 0.2)), 2) for way in (-1, 1))
        until = self.rng.choice((None, None, *SESSIONS[-60:]))
        until = until if until and until > day else None
        name = held(
            self.memory, instrument=ticker, direction="long" if side > 0 else "short", expires=until, notional=4.0,
            stop=f"{stop:g}", target=f"{target:g}", factor_exposures={"rates": 0.0},
        )  # fmt: skip
        terms = {"stop": stop, "target": target, "until": until, "reason": ""}
        self.books.trades.append(Trade(name, ticker, side, 4.0, day, terms))

    def one_held(self):
        return self.rng.choice([trade for trade in self.books.trades if trade.status == "active"] or [None])

    def adjusts(self, day):
        trade = self.one_held()
        price = trade and self.close_of(trade.ticker, day)
        if price and not trade.newest["reason"]:
            stop = round(price * (1 - trade.side * self.rng.uniform(0.02, 0.1)), 2)
            change_held(self.memory, trade.name, "pm", Guardrails(), {"stop": f"{stop:g}"})
            trade.change(day, stop=float(f"{stop:g}"))

    def closes(self, day):
        trade, later = self.one_held(), self.hour > 16
        if trade and not trade.newest["reason"] and trade.terms[-1][0] <= day:
            change_held(self.memory, trade.name, "pm", Guardrails(), {"exit_reason": "thesis"})
            ends = next(each for each in [*SESSIONS, DAYS[-1]] if each >= day + timedelta(days=later))
            trade.change(day, later, reason="thesis", until=min(ends, trade.newest["until"] or ends))

    def fills(self, day):
        trade = self.one_held() if self.rng.random() < 0.5 else None
        on = self.rng.choice([each for each in SESSIONS if each <= day][-3:])
        ticker = trade.ticker if trade else self.rng.choice(self.tickers)
        price, quantity = self.close_of(ticker, on), self.rng.choice((-1, 1)) * self.rng.randint(1, 300)
        if not price:
            return
        if trade:
            on = day
            _, content = self.books.replayed(day, self.books.live(trade.name), alone=True)
            left = content[ticker]
            quantity = -left if left and self.rng.random() < 0.6 else -round(left / 3) or quantity
            self.seen["closing fills" if quantity == -left else "partial fills"] += 1
        at, fees = evening(on, 12) + timedelta(seconds=len(self.books.fills)), self.rng.choice((0.0, 1.25))
        row = f"{ticker},{quantity!r},{price!r},{at.isoformat()},{fees},{trade.name if trade else ''}\n"
        assert import_fills(self.memory, f"ticker,quantity,price,filled_at,fees,expression\n{row}") == 1
        self.books.booked("pm", ticker, float(quantity), price, at, fees, trade.name if trade else "")

    def voids(self, _day):
        live = self.books.live()
        if live:
            item = self.rng.choice(live)
            void_fill(self.memory, f"F-{item['id'] + 1:03d}", "wrong")
            item["void"] = True

    def pays(self, day):
        kind, amount = self.rng.choice(("deposit", "withdrawal", "fee", "interest")), self.rng.randint(1, 90_000)
        on = self.rng.choice([each for each in DAYS if each <= day][-9:])
        book_cash(self.memory, Entry(kind, amount / 1, on, "by wire"))
        self.books.cash.append((on, amount if kind == "deposit" else -amount, kind in ("deposit", "withdrawal")))

    def sets(self, day):
        self.settings = replace(
            self.settings, capital=self.rng.choice((5e5, 2e6)), financing_rate=self.rng.choice((0.0, 4.0, 9.0))
        )

    def plays(self):
        """Run the quarter. Return the differences of each evening."""
        acts = (self.approves,) * 4 + (self.fills,) * 3 + (self.adjusts, self.closes, self.voids, self.pays, self.sets)
        number, wrong = 0, []
        while number < len(SESSIONS) - 1:
            day = SESSIONS[number]
            self.hour = self.rng.choice((13, 19))
            self.memory.journal.clock.move(evening(day, self.hour))
            for act in self.rng.choices(acts, k=self.rng.randint(0, 3)) if number else ():
                try:
                    act(day)
                    self.seen[act.__name__] += 1
                except PitlakeError:
                    self.seen["refused"] += 1
            self.memory.journal.clock.move(evening(day))
            wrong += [(str(day), *each) for each in self.differences(day)]
            number += self.rng.randint(1, 4)
        for at, nav in self.rng.sample(self.navs, 2):
            then = valuation.value_account(self.memory.hydrate(at), At(as_of=at, lake=self.lake.root)).account.nav
            wrong += [(str(at), "the past", then, nav)] if abs(then - nav) > TOLERANCE * abs(nav) else []
        return wrong

    def differences(self, day):
        at = At(as_of=self.memory.read_instant(evening(day)), lake=self.lake.root)
        rate = self.settings.financing_rate
        if not self.books.rates or self.books.rates[-1][1] != rate:
            self.books.rates.append((day, rate))
        advance_account(self.memory, at, self.settings)
        outcomes, _ = close_exits(self.memory, at)
        self.books.execute(day)
        ended = self.books.close(day)
        remembered = whole_memory(self.memory, at.as_of)
        nav, (due, content) = (
            valuation.value_account(remembered, at).account.nav,
            self.books.replayed(day, self.books.live()),
        )
        self.navs.append((self.memory.read_instant(at.as_of), nav))
        result = {each.expression: (each.status, each.pnl) for each in outcomes}
        yield from [("nav", nav, due)] if abs(nav - due) > TOLERANCE * abs(due) else []
        for name in result.keys() | ended.keys():
            here, there = result.get(name), ended.get(name)
            if not here or not there or here[0] != there[0] or abs(here[1] - there[1]) > TOLERANCE:
                yield name, here, there
        listing = alerts.alerts(remembered, at, Config(alerts=Alerts(data_late_hours=4)))
        alerted = {alert.subject for alert in listing if alert.kind == "unfollowed"}
        courses = [
            (trade.name, trade.course(self.world, day)) for trade in self.books.trades if trade.status == "active"
        ]
        unseen = {name for name, (_, _, _, dim) in courses if dim}
        yield from [("unfollowed", alerted, unseen)] if alerted != unseen else []
        reply = {trade.ticker for trade in self.books.trades if trade.name in alerted}
        reply |= {alert.subject for alert in listing if alert.kind == "data late"}
        late = {
            ticker for ticker, shares in content.items() if abs(shares) > 1e-9 and day not in self.world[ticker].bars
        }
        yield from [("without an alert", late - reply)] if late - reply else []
        self.seen.update({f"closed by {reason}": 1 for reason, _ in ended.values()})
        self.seen.update(unfollowed=len(unseen), dark=sum(bool(dark) for _, (_, _, dark, _) in courses))


def answers(lake):
    """Return functions that query the lake once and cut its bars at any evening. Queries check a random sample."""
    bars, rows = trades.traded_bars, alerts.adjusted_bars
    end = At(as_of=evening(DAYS[-1]), lake=lake.root, version=lake.head())
    whole, of_all = (lru_cache(maxsize=None)(lambda ticker, ask=ask: ask(ticker, FIRST, end)) for ask in (bars, rows))

    @cache
    def cut(ticker, day):
        item = whole(ticker)
        until = [
            {on: value for on, value in by.items() if on <= day} for by in (item.bars, *vars(item.prices).values())
        ]
        outcome = replace(
            item, bars=until[0], prices=Prices(*until[1:]), unproven={on for on in item.unproven if on <= day}
        )
        if random.Random(f"{ticker}{day}").random() < 0.01:
            question = bars(ticker, FIRST, replace(end, as_of=evening(day)))
            assert (question.bars, question.prices, question.unproven) == (
                outcome.bars,
                outcome.prices,
                outcome.unproven,
            ), (ticker, day)
        return outcome

    def newest(ticker, since, at):
        rows = of_all(ticker) if ticker in TICKERS else ()
        return [row for row in rows if since <= row["date"] <= at.as_of.astimezone(NEW_YORK).date()]

    return (lambda ticker, _since, at: cut(ticker, at.as_of.astimezone(NEW_YORK).date())), newest


def campaign(count, first=0):
    """Run `count` quarters. Return the differences and how often each event happened."""
    wrong, seen = [], Counter()
    with tempfile.TemporaryDirectory(dir=FAST) as folder:
        lake, world = market(Path(folder) / "lake")
        fast, newest = answers(lake)
        parsed = lru_cache(maxsize=None)(parse)
        with (
            mock.patch.object(trades, "traded_bars", fast),
            mock.patch.object(valuation, "traded_bars", fast),
            mock.patch.object(alerts, "adjusted_bars", newest),
            mock.patch.object(risk, "adjusted_bars", newest),
            mock.patch.multiple("forge.memory.remembered", parse=parsed),
            mock.patch.multiple("forge.memory.book", parse=parsed),
            mock.patch.multiple("forge.memory.approvals", parse=parsed),
        ):
            for seed in range(first, first + count):
                with closing(Memory(Path(folder) / "forge", clock=Simulated("books", evening(FIRST, 8)))) as memory:
                    wrote(
                        standing(memory), "/memory/views/new.md", replace(NEW_VIEW, status="draft", settles=None), "v"
                    )
                    player = Player(memory, lake, world, seed)
                    wrong += [(seed, *each) for each in player.plays()]
                    seen += player.seen
                for place in Path(folder).glob("forge*"):
                    shutil.rmtree(place) if place.is_dir() else place.unlink()
    return wrong, seen


def test_every_evening_of_a_random_quarter_agrees_with_the_slow_ledger():
    wrong, seen = campaign(30)
    assert wrong == []
    whats = ("stop", "target", "time", "thesis", "fill")
    assert min(seen[f"closed by {what}"] for what in whats) > 3, seen
    assert min(seen[what] for what in ("unfollowed", "dark", "voids", "pays", "sets", "partial fills")) > 10, seen


@pytest.mark.parametrize(
    ("where", "what", "mutant"),
    [
        (valuation, "fills", valuation.all_fills),
        (trades, "follow", lambda trade, bars, prices, days, unproven=(): follow(trade, bars, prices, days)),
    ],
)
def test_mutated_accounting_differs_from_the_slow_ledger(where, what, mutant):
    with mock.patch.object(where, what, mutant):
        assert campaign(4)[0]


def share(seed, _folder):
    """Run some quarters."""
    wrong, seen = campaign(QUARTERS, seed * QUARTERS)
    return Tally(QUARTERS, counts=seen, failures=wrong)
