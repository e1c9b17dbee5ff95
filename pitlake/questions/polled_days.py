"""The days on which polls prove that the lake has every split or dividend of a company.

On other days, a missing record proves nothing. A poll is used if its run was published, only up to its own day, and
only for the tickers that it requested.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from itertools import product
from typing import Any

from pitlake.clock import from_micros, micros, new_york_day
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.polls import FOREVER, Bounds, Poll
from pitlake.lake.storage.manifest import Snapshot
from pitlake.questions.tickers import Tickers, spelled

Span = tuple[date, date]  # Both days are included.

EVERY_TICKER = ""
ONE_DAY = timedelta(days=1)
# Numbers of shares that every report restates for splits. Two reports with the same number for one period prove that no
# split took effect between them. Amendments repeat old numbers, and a report may precede its split.
SHARE_COUNTS = (
    "us-gaap:WeightedAverageNumberOfDilutedSharesOutstanding",
    "us-gaap:WeightedAverageNumberOfSharesOutstandingBasic",
)
REPORTS = ("10-K", "10-Q", "10-KT", "10-QT", "20-F", "40-F")
AHEAD = timedelta(days=60)
SAME_COUNT = 0.01
RESTATED = """
    SELECT filing_date, following FROM (
        SELECT *, lead(filing_date) OVER reports AS following, lead(value_number) OVER reports AS again
        FROM {rows} WHERE cik = $cik AND list_contains($concepts::VARCHAR[], concept) AND value_number > 0
            AND list_contains($forms::VARCHAR[], form_type) AND filing_date IS NOT NULL AND period_start IS NOT NULL
        WINDOW reports AS (PARTITION BY concept, unit, period_start, period_end ORDER BY filing_date, accession_no)
    ) WHERE following > filing_date AND abs(again / value_number - 1) < $same"""


@dataclass(frozen=True)
class Actions:
    """A kind of corporate action and the datasets whose polls cover it.

    day: the column that bounds a poll of the provider. filed_before: how long before that day the graph may file an
    action. restates: whether the action restates the numbers of shares in reports.
    """

    graph: str
    provider: str
    day: str
    filed_before: timedelta = timedelta()
    restates: bool = False


SPLITS = Actions("splits", "polygon_splits", "execution_date", restates=True)
DIVIDENDS = Actions("dividends", "polygon_dividends", "ex_dividend_date", filed_before=timedelta(days=366))


# The days of a company's dividends that the answer can't use: those hidden at the instant, and provider gaps.
HIDDEN = """
    SELECT DISTINCT ex_dividend_date FROM {rows}
    WHERE list_contains($names::VARCHAR[], {spelled}) AND epoch_us(available_at) > $until"""
WITHHELD = """
    SELECT DISTINCT try_cast(regexp_extract(locator, '&day=([^&]+)', 1) AS DATE) FROM (
        SELECT *, url_decode(regexp_extract(locator, '&item=([^&/]+)', 1)) AS ticker FROM {rows}
    ) WHERE list_contains($names::VARCHAR[], {spelled})"""
# The graph's gaps name only the declaration.
UNDECLARED = """
    SELECT DISTINCT try_cast(partition AS DATE) FROM (
        SELECT *, regexp_extract(locator, '^neo4j:Dividend:([^_]+)_', 1) AS ticker FROM {rows}
    ) WHERE list_contains($names::VARCHAR[], {spelled})"""
SPELLED = "regexp_replace(upper(ticker), '[-/ ]', '.', 'g')"


class PolledDays:
    """The covered days of one lake version, by company. until: later polls are ignored."""

    def __init__(self, lake: Lake, snapshot: Snapshot, actions: Actions, until: datetime | None = None) -> None:
        self._lake, self._snapshot, self._actions, self._until = lake, snapshot, actions, until

    def of(self, ticker: str, ciks: Sequence[str], tickers: Tickers) -> list[Span]:
        """Return the covered days of a ticker and its companies, in order.

        A provider must have been asked for the ticker, and for the tickers that the company had instead at the time.
        The graph is used if it has the company.
        """
        polled_spans = self._asked(ticker)
        for first, last, others in (era for cik in ciks for era in tickers.eras(cik)):
            if spelled(ticker) in others:
                continue
            inside = common(polled_spans, [(first, last)])
            for other in others:
                inside = common(inside, self._asked(other))
            polled_spans = union(without(polled_spans, [(first, last)]), inside)
        for cik in ciks:
            graph = self._of_graph if cik in self._in_graph else []
            if graph and not self._actions.restates:
                # The graph states dividends that could not become rows; their ex-days may be any of these days.
                names, filed_before = sorted(tickers.every(cik)), self._actions.filed_before
                days = self._rows("gaps/dividends", UNDECLARED, {"names": names}, spelled=SPELLED)
                undeclared = [(date.min, date.max) if day is None else (day, day + filed_before) for (day,) in days]
                graph = without(graph, undeclared)
            polled_spans = union(polled_spans, graph, self.restated(cik))
        return polled_spans

    def _asked(self, ticker: str) -> list[Span]:
        return union(self._by_ticker.get(spelled(ticker), ()), self._by_ticker.get(EVERY_TICKER, ()))

    def _polls(self, dataset: str) -> list[Poll]:
        until = None if self._until is None else micros(self._until)
        polls = self._lake.polls(dataset, self._snapshot.version)
        return [poll for poll in polls if poll.confirmed and (until is None or poll.observed <= until)]

    @cached_property
    def _by_ticker(self) -> Mapping[str, set[Span]]:
        spans: defaultdict[str, set[Span]] = defaultdict(set)
        for poll in self._polls(self._actions.provider):
            today = new_york_day(from_micros(poll.observed))
            for part in poll.coverage:
                span = _bounded(part.bounds, self._actions.day, today)
                for entity in [EVERY_TICKER] if part.entities is None else part.entities:
                    spans[spelled(entity)].update(span)
        return spans

    @cached_property
    def _of_graph(self) -> list[Span]:
        """Return the days that the graph's polls cover. A day is covered once it has ended."""
        spans = []
        for poll in self._polls(self._actions.graph):
            yesterday = new_york_day(from_micros(poll.observed)) - ONE_DAY
            for first, last in poll.days or ():
                spans.append((date.fromisoformat(first), min(date.fromisoformat(last), yesterday)))
        return union((first + self._actions.filed_before, last) for first, last in union(spans))

    @cached_property
    def _in_graph(self) -> frozenset[str]:
        return frozenset(cik for (cik,) in self._rows("companies", "SELECT DISTINCT cik FROM {rows}"))

    def restated(self, cik: str) -> list[Span]:
        """Return the days between two reports of a company that give the same number of shares for one period, without
        the first two months. The company had no split on these days.
        """
        if not self._actions.restates:
            return []
        parameters = {"cik": cik, "concepts": list(SHARE_COUNTS), "forms": list(REPORTS), "same": SAME_COUNT}
        days = self._rows("sec_facts", RESTATED, parameters)
        return union((first + AHEAD, last - ONE_DAY) for first, last in days)

    def _rows(
        self, table: str, question: str, parameters: dict[str, Any] | None = None, **names: str
    ) -> list[tuple[Any, ...]]:
        return rows_of(self._snapshot, table, question, parameters, **names)


def days_of_dividends(
    lake: Lake,
    snapshot: Snapshot,
    tickers: Tickers,
    ticker: str,
    ciks: Sequence[str],
    as_of: datetime | None,
    known_by: datetime | None,
) -> str:
    """Return the days on which a session may rely on its company's dividends and splits, as JSON for SQL.

    If a dividend is hidden at the instant, or is a gap, its ex-day is unknown.
    """
    names = sorted({spelled(ticker), *(name for cik in ciks for name in tickers.every(cik))})
    hidden = rows_of(snapshot, f"gaps/{DIVIDENDS.provider}", WITHHELD, {"names": names}, spelled=SPELLED)
    until = FOREVER if as_of is None else micros(as_of)
    for dataset in (DIVIDENDS.graph, DIVIDENDS.provider):
        hidden += rows_of(snapshot, dataset, HIDDEN, {"names": names, "until": until}, spelled=SPELLED)
    ended = [(date.min, new_york_day(as_of) if as_of else date.max)]
    spans = {
        name: common(PolledDays(lake, snapshot, actions, known_by).of(ticker, ciks, tickers), ended)
        for name, actions in (("dividends", DIVIDENDS), ("splits", SPLITS))
    }
    unknown = [(day or date.min, day or date.max) for (day,) in hidden]
    spans["dividends"] = without(spans["dividends"], unknown)
    return json.dumps(spans, default=str)


def rows_of(
    snapshot: Snapshot, table: str, question: str, parameters: dict[str, Any] | None = None, **names: str
) -> list[tuple[Any, ...]]:
    """Return the answer to a question about a table of a lake version; nothing if there is no such table."""
    from pitlake.lake.tables.query import calculator, reading

    files = snapshot.files(table)
    if not files:
        return []
    snapshot.fetch(files)
    with calculator() as connection:
        return connection.sql(question.format(rows=reading(files), **names), params=parameters).fetchall()


def union(*lists: Iterable[Span]) -> list[Span]:
    """Return the days of all spans as disjoint spans, in order. A span that ends before it begins is empty."""
    merged: list[Span] = []
    for first, last in sorted(span for spans in lists for span in spans):
        if first > last:
            continue
        if merged and (first <= merged[-1][1] or first - merged[-1][1] == ONE_DAY):
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return merged


def common(spans: Iterable[Span], others: Sequence[Span]) -> list[Span]:
    """Return the days that both lists of spans contain."""
    return union((max(span[0], other[0]), min(span[1], other[1])) for span, other in product(spans, others))


def without(spans: Iterable[Span], others: Iterable[Span]) -> list[Span]:
    """Return the days of spans that the others do not contain."""
    left = list(spans)
    for first, last in others:
        around = [(date.min, first - ONE_DAY)] if first > date.min else []
        around += [(last + ONE_DAY, date.max)] if last < date.max else []
        left = common(left, around)
    return left


def _bounded(bounds: Bounds, day: str, today: date) -> list[Span]:
    """Return the days that a part of a poll covers; none if other columns limit it."""
    if any(name != day for name, _, _ in bounds):
        return []
    firsts = [date.fromisoformat(first) for _, first, _ in bounds if first]
    lasts = [date.fromisoformat(last) for _, _, last in bounds if last]
    return [(max(firsts, default=date.min), min([today, *lasts]))]
