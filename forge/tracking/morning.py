"""The first figures of a PM's day: P&L, positions, risk and scenarios, from memory and the lake as of an instant.

P&L is measured from the end of an earlier day to the newest prices; `day` starts at the session before the last
completed one. A scenario moves the book's exposures linearly: it ignores the curvature of options, and stops.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, time, timedelta
from itertools import groupby
from typing import Any, cast

from forge.core.config import Config
from forge.memory.book import held_in, remembered_book, with_approved
from forge.memory.cash import cash
from forge.memory.chain import Row
from forge.memory.fills import fills
from forge.memory.guardrails import Guardrails, Totals
from forge.memory.halts import halted_spans
from forge.memory.plausible import SIDES
from forge.memory.remembered import Remembered
from forge.providers.base import At
from forge.records import Cash, Expression, Fill, Record, SessionRecord, kind_of_path
from forge.records.kinds import NEW
from forge.tracking.account import book_of
from forge.tracking.bars import NotFollowable, sessions, traded_bars
from forge.tracking.ledger import Account, keep
from forge.tracking.risk import EQUITY, Market, book_returns, stops, volatility
from forge.tracking.trades import expressions, follow_held, texts_of
from forge.tracking.valuation import Valued, value_account
from pitlake.clock import NEW_YORK, new_york_day
from pitlake.errors import BadInput, LakeNotFound
from pitlake.exchange import session

PERCENT, CENT, NOON = 100, 0.01, time(12)
DAY, LOOKBACK = timedelta(days=1), timedelta(days=14)
RATES_UP, EQUITIES, NAME = 1.0, -10.0, -20.0
"""The scenarios: rates in percentage points, all shares in percent, the largest name in percent."""
OTHER = "fees and interest"
OWN = "Code never closes your own positions. An alert says when one lost more than you stated: pitlake forge cash loss"


@dataclass(frozen=True)
class Period:
    """The account's P&L since the end of a day, and the benchmark's return; None without a price to compare.

    compared_since: the day from whose close the benchmark is measured: `since`, or the first day with data.
    """

    name: str
    since: date
    usd: float
    percent: float
    benchmark: float | None = None
    compared_since: date | None = None

    def benchmark_text(self, ticker: str) -> str:
        """Return the benchmark's return as a phrase, with its first day if later than `since`; "" without a return."""
        since = "" if self.compared_since == self.since else f" since {self.compared_since}"
        return "" if self.benchmark is None else f"{ticker} {self.benchmark:+.2f} %{since}"


@dataclass(frozen=True)
class ResultLine:
    """The P&L in USD in each period, of a View, one of its Expressions, or a position without a View.

    expression: "" for the whole View.
    """

    view: str
    expression: str
    amounts: tuple[float, ...]


@dataclass(frozen=True)
class PositionLine:
    """A position. exposure, day: notional and P&L of the day in USD, None without an account.

    to_stop, to_target: the distance from the last close, in percent of it; None without a level or a close.
    """

    instrument: str
    expression: str
    direction: str
    exposure: float | None = None
    day: float | None = None
    to_stop: float | None = None
    to_target: float | None = None


@dataclass(frozen=True)
class Scenario:
    """A scenario's effect on the book, in percent of capital and in USD; None if a required figure is unknown.

    without: the positions that are left out, because their figure is unknown.
    """

    name: str
    percent: float | None
    usd: float | None
    without: tuple[str, ...] = ()

    @property
    def partial(self) -> str:
        """A phrase with the positions that are left out, "" if the effect is complete or unknown."""
        return f"partial, without {', '.join(self.without)}" if self.without and self.percent is not None else ""


@dataclass(frozen=True)
class BookRisk:
    """The risk of the whole book, in percent of capital; None if it is unknown.

    loss_at_stops: the loss if every stop is hit, with the largest gap of the last quarter. volatility: the yearly
    volatility of the present positions over the last quarter. margin: the initial margin of futures, relative to the
    net asset value. without: the positions that beta and factors leave out, because their factors are unknown.
    """

    gross: float | None = None
    net: float | None = None
    beta: float | None = None
    volatility: float | None = None
    loss_at_stops: float | None = None
    margin: float = 0.0
    factors: Mapping[str, float] | None = None
    without: tuple[str, ...] = ()

    def figures(self) -> list[tuple[str, float | None]]:
        """Return the figures with their names."""
        partial = f", without {', '.join(self.without)}" if self.without else ""
        names = {"volatility": "volatility a year", "loss_at_stops": "loss if every stop is hit"}
        names |= {"margin": "margin used", "beta": f"beta{partial}"}
        hidden = {"factors", "without"} if self.margin else {"factors", "without", "margin"}
        plain = [(names.get(name, name), number) for name, number in vars(self).items() if name not in hidden]
        return plain + [(f"factor {name}{partial}", share) for name, share in (self.factors or {}).items()]


@dataclass(frozen=True)
class Morning:
    """The first figures of a day.

    account: the account, or why there is none. overnight: the end of the last session. benchmark: its ticker, or "".
    """

    account: Valued | str
    overnight: datetime
    benchmark: str
    periods: tuple[Period, ...]
    results: tuple[ResultLine, ...]
    positions: tuple[PositionLine, ...]
    risk: BookRisk
    scenarios: tuple[Scenario, ...]
    gaps: tuple[str, ...]

    @property
    def own_positions_note(self) -> str:
        """A note that code does not close the PM's own positions; "" if there are none."""
        return "" if all(line.expression for line in self.positions) else OWN

    def as_json(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        valued = {} if isinstance(self.account, str) else {"nav": self.account.account.nav}
        parts = {name: [asdict(line) for line in getattr(self, name)] for name in ("results", "positions", "scenarios")}
        periods = [
            {name: str(value) if isinstance(value, date) else value for name, value in asdict(period).items()}
            for period in self.periods
        ]
        return valued | {"periods": periods, **parts, "risk": asdict(self.risk), "gaps": list(self.gaps)}


def morning(remembered: Remembered, at: At, settings: Config) -> Morning:
    """Return the first figures of the day as of an instant."""
    account: Valued | str
    if cash(remembered):
        try:
            account = value_account(remembered, at, settings.account.capital)
        except LakeNotFound:
            account = "There is no lake to value the fills with."
    else:
        account = "No account is open. `pitlake forge book` opens it, with the capital that the settings name."
    ledger, ticker = account.account if isinstance(account, Valued) else None, settings.account.benchmark
    gaps, today = list(account.gaps if isinstance(account, Valued) else ()), new_york_day(at.as_of)
    recent = [today, today, *sessions(at.as_of - LOOKBACK, today, at.as_of)]
    before, last = recent[-2:]
    periods, results, days = tuple[Period, ...](), tuple[ResultLine, ...](), dict[tuple[str, str], float]()
    if ledger:
        views = {trade.id: trade.view_id for _, trade in expressions(remembered)}
        starts = {"day": before, "month": today.replace(day=1) - DAY, "year": today.replace(month=1, day=1) - DAY}
        openings = [entry.booked_on for entry in cash(remembered) if entry.entry == "opening"]
        first = min([*openings, *(day for day, _ in ledger.curve)], default=today) - DAY
        counted = {since: max(since, first) for since in starts.values()}
        compared = _benchmark(ticker, counted, last, at, gaps) if ticker else {}
        periods = tuple(
            Period(name, since, *ledger.since(since), *compared.get(since, (None, None)))
            for name, since in starts.items()
        )
        results, days = tuple(_results(ledger, periods, views)), ledger.results_since(before)
    trades, market = held_in(remembered).values(), Market(at, cash(remembered), stops(remembered))
    limits = Guardrails(settings.guardrails, market.compute)
    # The stored book is valued at the prices of its last settlement.
    own = book_of(ledger, trades, limits, fills(remembered)) if ledger else None
    book = with_approved(own, trades) or remembered_book(remembered)
    totals = limits.totals(book, trades, "")
    hours = session(last)
    # The account's positions are followed by the held Expressions without a position.
    positions, paths = list[PositionLine](), {trade.id: (path, trade) for path, trade in held_in(remembered).items()}
    for holding in ledger.positions if ledger else ():
        path, own_trade = paths.pop(holding.expression, ("", None))
        follows = own_trade is not None and own_trade.instrument == holding.instrument
        levels = _distances(remembered, path, at) if follows else (None, None)
        direction = "long" if holding.quantity > 0 else "short"
        day = days[holding.instrument, holding.expression]
        line = PositionLine(holding.instrument, holding.expression, direction, holding.exposure, day, *levels)
        positions.append(line)
    for path, trade in paths.values():
        levels = _distances(remembered, path, at)
        positions.append(PositionLine(trade.instrument, trade.id, trade.direction, None, None, *levels))
    risk = BookRisk(
        gross=totals.gross,
        net=totals.net,
        beta=None if totals.factors is None else totals.factors.get(EQUITY, 0.0) / PERCENT,
        volatility=volatility(book_returns(book, trades, market, gaps)),
        loss_at_stops=totals.loss,
        margin=ledger.margin / ledger.nav * PERCENT if ledger and ledger.nav > 0 else 0.0,
        factors=totals.factors,
        without=_unfactored(totals),
    )
    return Morning(
        account,
        hours.close if hours and hours.close <= at.as_of else at.as_of - DAY,
        ticker,
        periods,
        results,
        tuple(positions),
        risk,
        scenarios(totals, book.nav if book else None),
        tuple(dict.fromkeys(gaps)),
    )


def records_since(remembered: Remembered, since: datetime) -> list[tuple[datetime, Record]]:
    """Return the records written after an instant, newest first, without those of conversations."""
    kinds = ((path, kind_of_path(path)) for path in remembered.paths())
    rows = (row for path, kind in kinds if kind and kind.cls is not SessionRecord for row in remembered.all(path))
    texts = [(remembered.written_at(row), remembered.record(row)) for row in rows]
    return sorted((text for text in texts if text[0] > since), key=lambda text: text[0], reverse=True)


def scenarios(totals: Totals, nav: float | None) -> tuple[Scenario, ...]:
    """Return the effects on a book of rates up 100 basis points, shares down 10 % and the largest name down 20 %."""
    names = totals.names or {}
    name = max(names, key=lambda each: names[each], default="")
    largest = max(names.get(name, 0.0), 0.0)
    durations = [own.duration for _, own in totals.counted if own.duration is not None]
    unmeasured = tuple(name for name, own in totals.counted if own.duration is None) if totals.duration is None else ()
    unfactored = _unfactored(totals)
    equity = None if totals.factors is None else totals.factors.get(EQUITY, 0.0)
    if unfactored and len(unfactored) == len(totals.counted):
        equity = None
    duration = sum(durations) if totals.duration is None and durations else totals.duration
    effects: list[tuple[str, float | None, tuple[str, ...]]] = [
        ("rates +100 bp", None if duration is None else 0.0 - duration * RATES_UP, unmeasured),
        ("equities −10 %", None if equity is None else equity * EQUITIES / PERCENT, unfactored),
        (f"{name if largest else 'one name'} −20 %", None if totals.names is None else largest * NAME / PERCENT, ()),
    ]
    return tuple(
        Scenario(label, effect, None if effect is None or nav is None else effect / PERCENT * nav, without)
        for label, effect, without in effects
    )


def _unfactored(totals: Totals) -> tuple[str, ...]:
    """Return the positions whose factors are neither claimed nor computed."""
    return tuple(name for name, own in totals.counted if not own.factors)


def _benchmark(
    ticker: str, counted: Mapping[date, date], last: date, at: At, gaps: list[str]
) -> dict[date, tuple[float | None, date | None]]:
    """Return a ticker's return with dividends in percent, and its first day, by the start of a period.

    counted: by the start of each period, the day from whose close the return is measured, or from the first close if it
    is later. last: the session whose close is expected.
    """
    try:
        prices = traded_bars(ticker, min(counted.values()), at).prices
    except (BadInput, LakeNotFound) as problem:
        gaps.append(f"{ticker}: {problem if isinstance(problem, BadInput) else 'there is no lake'}")
        return {}
    newest = max(prices.closes, default=None)
    if newest is None or newest < last:
        gaps.append(f"{ticker}: there are no bars {f'after {newest}' if newest else 'to compare with'}")
    returns, today = dict[date, tuple[float | None, date | None]](), new_york_day(at.as_of)
    for since, first in counted.items() if newest else ():
        start = max(first, min(prices.closes))
        bought = max(day for day in prices.closes if day <= start)
        price, filled_at = prices.closes[bought], datetime.combine(bought, NOON, NEW_YORK)
        fill = Fill(id=NEW, instrument=ticker, quantity=1.0, price=price, filled_at=filled_at)
        opening = Cash(id=NEW, entry="opening", amount=price, booked_on=bought)
        returns[since] = keep([opening], [fill], {ticker: prices}, (), today).since(start)[1], start
    return returns


def _results(account: Account, periods: Sequence[Period], views: Mapping[str, str]) -> Iterator[ResultLine]:
    """Yield the P&L of each View with its Expressions, then of the rest, without positions closed before the year."""
    since = [account.results_since(period.since) for period in periods]
    amounts: dict[tuple[str, str], list[float]] = {}
    for instrument, expression in account.by_key():
        line = amounts.setdefault((views.get(expression, ""), expression or instrument), [0.0] * len(periods))
        for number, results in enumerate(since):
            line[number] += results[instrument, expression]
    rest = [period.usd - sum(results.values()) for period, results in zip(periods, since, strict=True)]
    open_names = {holding.expression or holding.instrument for holding in account.positions}
    lines_to_show = [key for key in amounts if any(amounts[key]) or key[1] in open_names]
    for view, keys in groupby(sorted(lines_to_show, key=lambda key: (not key[0], key)), lambda key: key[0]):
        lines = [ResultLine(view, name, tuple(amounts[view, name])) for _, name in keys]
        if view:
            yield ResultLine(view, "", tuple(map(sum, zip(*(line.amounts for line in lines), strict=True))))
        yield from lines
    if any(abs(amount) >= CENT for amount in rest):
        yield ResultLine("", OTHER, tuple(rest))


def _distances(remembered: Remembered, path: str, at: At) -> tuple[float | None, float | None]:
    """Return the distances from the last close to stop and target, in percent of that close."""
    try:
        trade = follow_held(texts_of(remembered, path), at, halted_spans(remembered))
    except (NotFollowable, BadInput, LakeNotFound):
        return None, None
    close = trade.path.close if trade else None
    if trade is None or not close:
        return None, None
    side = SIDES[cast("Expression", remembered.record(cast("Row", remembered.newest(path)))).direction]
    stop, target = trade.path.stop, trade.path.target
    return (
        None if stop is None else side * (close - stop) / close * PERCENT,
        None if target is None else side * (target - close) / close * PERCENT,
    )
