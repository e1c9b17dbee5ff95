"""Dataset `own_bars`: daily bars from a user's files, dated by the exchange's close."""

from dataclasses import replace
from typing import Any

from assets.drops import _lines as lines
from assets.extraction import Place, Record, RunFacts, dated, parsed
from assets.feeds import dating, fields
from assets.feeds.bars import counts_from, with_traded
from assets.feeds.items import evidence_of
from pitlake.datasets import _figures as figures
from pitlake.datasets import own_bars as contract
from pitlake.datasets.own_bars import DATASET
from pitlake.errors import Unreadable
from pitlake.exchange import session

COLUMNS = tuple(column.name for column in DATASET.columns)


def locate(record: Record, run: RunFacts) -> Place:
    """Return when the bar of a day became available, if the file was received after that."""
    name = [record.get(column, "") for column in DATASET.key] if "problem" not in record else [record["place"]]
    evidence = evidence_of(run, record, *name)
    if reason := lines.problem(record):
        return Place(evidence, reason=reason)
    try:
        day = dating.day(record["date"])
        dating.end_of_day(day)
    except Unreadable:
        return Place(evidence, reason=contract.NO_DAY.reason)
    hours = session(day)
    if hours is None:
        return Place(evidence, day=day, reason=figures.NO_SESSION.reason)
    at = counts_from(hours.close, record, DATASET, run)
    if (run.fetched_at or run.observed_at) < at:
        return Place(evidence, day=day, reason=figures.UNFINISHED.reason)
    return dated(evidence, at)


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of a bar."""
    return parsed(record, PARSERS) | {"date": dating.day(record["date"])}


def _price(value: Any) -> float:
    price = fields.number(value)
    if price is None:
        raise Unreadable("a number is required")
    return price


def _shares(value: Any) -> int:
    shares = _price(value)
    if not shares.is_integer():
        raise Unreadable("a whole number is required")
    return int(shares)


PARSERS = {
    "ticker": lambda value: fields.required_word(value).upper(),
    **dict.fromkeys(("open", "high", "low", "close"), _price),
    "volume": _shares,
}

FEED = lines.feed(DATASET, COLUMNS, {}, locate=locate, values=values)
DROP = replace(FEED, records=lambda unit, captures: with_traded(lambda: FEED.records(unit, captures)))
