"""The instruments that code can follow as of an instant: tickers with daily bars, and instruments with quotes."""

import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from functools import cached_property
from typing import Any, NamedTuple

from forge.memory.plausible import SIDES, level_price, price
from forge.providers.base import At, ask
from forge.records import Expression
from forge.records.judged import Settles
from forge.tracking.bars import adjusted_bars
from forge.tracking.quotes import Quoted, parse_quoted, quoted_bars
from pitlake.clock import iso, new_york_day
from pitlake.errors import MOST_NAMES, BadInput, PitlakeError
from pitlake.questions import catalogue

BARS, QUOTES = ("prices", "own_bars", "av_daily_bars"), "market_quotes"
SHOWN = 20
RECENT = timedelta(days=30)
SERIES = ("macro_observations", "macro_panels")
SEVERAL = re.compile(r"[,;/\s]+")
ALL_SERIES = "SELECT series_id FROM macro_observations UNION SELECT series FROM macro_panels ORDER BY 1"
TICKERS = """
    SELECT unnest(all_names) FROM (
        SELECT all_names FROM names WHERE kind = 'ticker' AND cik IN (SELECT entity_id FROM prices)
        QUALIFY row_number() OVER (PARTITION BY cik ORDER BY available_at DESC) = 1
    )
    UNION SELECT ticker FROM companies WHERE cik IN (SELECT entity_id FROM prices)
    UNION SELECT symbol FROM prices WHERE entity_kind <> 'company'
"""
"""The tickers of `prices` as of an instant, without later names."""


class _Names(NamedTuple):
    """Names in a lake. tickers, quoted: names that code can follow. any_bars: whether any security has a recent bar."""

    tickers: list[str]
    quoted: list[str]
    any_bars: bool


@dataclass(frozen=True)
class Followable:
    """The instruments of a lake that code can follow. at: the instant, the lake and the version to read."""

    at: At

    def fault(self, subject: str | Settles | Expression) -> tuple[str, str] | None:
        """Return why an instrument or a trade can't be followed, or a View's question can't be judged, and what to give
        instead; None without a fault.

        Return None, too, if the lake has no prices from the last 30 days, because the PM then follows all trades, and
        if it has no series at all.
        """
        if isinstance(subject, Settles):
            return self._question_fault(subject)
        if isinstance(subject, Expression):
            return self.fault(subject.instrument) or self._stop_fault(subject)
        instrument = subject
        try:
            if quoted := parse_quoted(instrument):
                params = {**quoted._asdict(), "start_date": "1900-01-01"}
                follows = bool(quoted_bars(quoted, ask(catalogue.get("quotes_range"), params, self.at)["rows"]))
            else:
                try:
                    follows = bool(ask(catalogue.get("entity_latest_price"), {"ticker": instrument}, self.at)["rows"])
                except BadInput:
                    follows = False
            if follows or not (self._names.any_bars or self._names.quoted):
                return None
        except PitlakeError:
            return None  # without a lake, instruments can't be looked up
        step = f"give {self.describe(instrument)}"
        return f"{instrument!r} has neither daily bars nor quotes as of {iso(self.at.as_of)}", step

    def _stop_fault(self, trade: Expression) -> tuple[str, str] | None:
        """Return why a stop would be reached immediately. The stop is compared with the trade's entry, if any."""
        side, stop = SIDES.get(trade.direction), level_price(trade.stop)
        if side is None or stop is None or price(trade.entry_details):
            return None
        try:
            rows = adjusted_bars(trade.instrument, new_york_day(self.at.as_of) - RECENT, self.at)
        except PitlakeError:
            return None
        closes = [row["close"] * row["split_factor"] for row in rows if row["close"]]
        if not closes or side * (closes[-1] - stop) > 0:
            return None
        where = "below" if side > 0 else "above"
        problem = f"{trade.instrument} closed at {closes[-1]:g}, and the stop {trade.stop} of a {trade.direction}"
        return f"{problem} is not {where} it", f"give a stop {where} it, or the entry in entry_details"

    def _question_fault(self, settles: Settles) -> tuple[str, str] | None:
        series, ticker = (settles.params.get(name) for name in ("series", "ticker"))
        try:
            rows = ask(catalogue.get(settles.query), settles.params, self.at)["rows"]
        except BadInput:
            rows = []
        except PitlakeError:
            return None  # without a lake, questions can't be judged
        if not rows and isinstance(ticker, str) and (fault := self.fault(ticker)):
            return fault
        if rows or not isinstance(series, str):
            return None
        with self.at.open([*SERIES]) as session:
            names = [str(name) for (name,) in session.sql(ALL_SERIES).rows()]
        if not names:
            return None
        several = ", and a rule compares one series" if SEVERAL.search(series.strip()) else ""
        problem = f"series: {series[:60]!r} has no value as of {iso(self.at.as_of)}{several}"
        return problem, f"give a series of the lake: {_nearest(SEVERAL.split(series)[0], names)}"

    def describe(self, name: str = "") -> str:
        """Return a phrase with names that can be followed: the first ones, or those most similar to `name`."""
        phrases = list[str]()
        for names in (self._names.tickers, self._names.quoted):
            more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
            phrases.append(_nearest(name, names) if name else f"{', '.join(names[:SHOWN])}{more}")
        tickers, quoted = phrases
        of_quotes = f"an instrument of market_quotes: {quoted}" if quoted else ""
        of_bars = "a ticker with daily bars" + (f": {tickers}" if tickers else "") if self._names.any_bars else ""
        return (
            "; or ".join(filter(None, (of_bars, of_quotes)))
            or "no instrument: the lake has no prices from the last 30 days"
        )

    @cached_property
    def _names(self) -> _Names:
        since = new_york_day(self.at.as_of) - RECENT
        with self.at.open([*BARS, QUOTES, "names", "companies"]) as session:
            counts = dict(session.sql("SELECT dataset, rows FROM lake_info").rows())
            tickers = session.sql(TICKERS).rows() if counts.get("prices") else []
            columns = ("kind", "instrument", "tenor", "point", "measure", "unit", "quoted_on", "value")
            quotes = session.sql(f"SELECT {', '.join(columns)} FROM {QUOTES}").rows() if counts.get(QUOTES) else []
            recent = [session.sql(f"SELECT max(date) FROM {name}").rows()[0][0] for name in BARS if counts.get(name)]
        grouped = defaultdict[Quoted, list[dict[str, Any]]](list)
        for row in quotes:
            grouped[Quoted(*row[:3])].append(dict(zip(columns, row, strict=True)))
        quoted = (
            str(name)
            for name, rows in grouped.items()
            if parse_quoted(str(name)) and max(quoted_bars(name, rows), default=since) > since
        )
        any_bars = any(newest >= since for newest in recent)
        return _Names(sorted(str(name) for (name,) in tickers), sorted(quoted), any_bars)


def _nearest(name: str, names: list[str]) -> str:
    near = get_close_matches(name, names, MOST_NAMES, cutoff=0.0)
    return ", ".join(each for each in names if each in near)
