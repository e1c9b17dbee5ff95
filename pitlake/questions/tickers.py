"""Whose ticker it is: callers' tickers resolved to CIKs by the parent, outside of any session, so that no row tells it.

A ticker belongs to the company whose newest statement, public at the instant, gives it; where nobody bore it by then,
to whoever was known by it later, which is hindsight and said so.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from pitlake.clock import from_micros
from pitlake.lake.storage.manifest import Snapshot
from pitlake.lake.tables.query import calculator, reading

_SHOWN = re.compile(r"[A-Z0-9.-]{1,12}")  # what the gate lets through
_NAMES = """
    SELECT cik, epoch_us(available_at) AS at, source, statement,
        list_transform(all_names, lambda x: upper(x)) AS tickers
    FROM {rows} WHERE kind = 'ticker'"""
_COMPANIES = """
    SELECT cik, epoch_us(available_at) AS at, 'companies' AS source, '' AS statement, [upper(ticker)] AS tickers
    FROM {rows}"""


@dataclass(frozen=True)
class Resolved:
    """The companies a ticker stands for. hindsight: nothing that was public at the instant says so.

    others: who bore it at other times, told with hindsight alone. note: what a caller is told, in words the gate knows.
    """

    ticker: str
    ciks: tuple[str, ...]
    hindsight: bool
    others: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What a caller is told; empty where the ticker was borne by then."""
        ticker = self.ticker.upper() if _SHOWN.fullmatch(self.ticker.upper()) else "TICKER"
        if not self.ciks:
            return f"{ticker}: no company is known"
        if self.hindsight:
            others = f"; not {', '.join(self.others)}" if self.others else ""
            return f"{ticker}: read as CIK {', '.join(self.ciks)}, with hindsight{others}"
        return ""


class Tickers:
    """Every statement of one lake version about tickers."""

    def __init__(self, snapshot: Snapshot) -> None:
        told = []
        for dataset, question in (("names", _NAMES), ("companies", _COMPANIES)):
            files = snapshot.files(dataset)
            if files:
                snapshot.fetch(files)
                with calculator() as connection:
                    told += connection.sql(question.format(rows=reading(files))).fetchall()
        self._told: dict[str, list[tuple[datetime, frozenset[str], tuple[str, ...]]]] = defaultdict(list)
        for cik, at, _, _, tickers in sorted(told, key=lambda one: one[:4]):
            self._told[cik].append((from_micros(at), frozenset(tickers), tuple(tickers)))

    def resolve(self, ticker: str, as_of: datetime | None) -> Resolved:
        """The company that bore a ticker at an instant (None: now), else who bears it now, else who bore it last.

        Of several whose newest statements claim it, whoever claimed it last.
        """
        wanted = ticker.upper()
        borne = self._borne(wanted, as_of)
        if borne:
            return Resolved(ticker, _last(borne), hindsight=False)
        claims = [(at, cik) for cik, told in self._told.items() for at, tickers, _ in told if wanted in tickers]
        found = _last(self._borne(wanted, None) or claims)
        others = tuple(sorted({cik for _, cik in claims}.difference(found)))
        return Resolved(ticker, found, hindsight=bool(found), others=others)

    def _borne(self, ticker: str, as_of: datetime | None) -> list[tuple[datetime, str]]:
        """Which companies' newest statement by an instant gives the ticker, and since when."""
        found = []
        for cik, told in self._told.items():
            known = [one for one in told if as_of is None or one[0] <= as_of]
            if known and ticker in known[-1][1]:
                found.append((known[-1][0], cik))
        return found

    def of(self, cik: str, at: datetime) -> tuple[str, ...]:
        """The tickers a company bore at an instant, else the first it was known by later."""
        told = self._told.get(cik, [])
        known = [one for one in told if one[0] <= at]
        if known:
            return known[-1][2]
        return told[0][2] if told else ()


def _last(claims: list[tuple[datetime, str]]) -> tuple[str, ...]:
    newest = max((at for at, _ in claims), default=None)
    return tuple(sorted(cik for at, cik in claims if at == newest))
