"""Dataset `market_quotes`: quotes from a desk's CSV files, dated by their receipt."""

from typing import Any

from assets.drops import _lines as lines
from assets.extraction import Place, Record, RunFacts, dated, day_of, parsed
from assets.feeds import fields
from assets.feeds.items import evidence_of
from pitlake.datasets import market_quotes as contract
from pitlake.datasets.market_quotes import DATASET, KINDS, OUTRIGHT
from pitlake.errors import RecordRefused, Unreadable

NEEDED = ("kind", "instrument", "measure", "quoted_on", "value")
NOT_STATED = {"tenor": "spot", "point": OUTRIGHT, "unit": ""}


def locate(record: Record, run: RunFacts) -> Place:
    """Return when the file was received."""
    name = [record.get(column, "") for column in DATASET.key] if "problem" not in record else [record["place"]]
    evidence = evidence_of(run, record, *name)
    received = run.fetched_at or run.observed_at
    if reason := lines.problem(record):
        return Place(evidence, reason=reason)
    try:
        if (day := fields.day(record["quoted_on"])) is not None and day > day_of(received):
            return Place(evidence, reason=contract.AHEAD.reason)
    except Unreadable:
        return Place(evidence, reason="quoted_on is unreadable")
    return dated(evidence, received)


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of a quote."""
    row = parsed(record, PARSERS)
    for required in ("quoted_on", "value"):
        if row[required] is None:
            raise RecordRefused(f"{required} is unreadable")
    return row


def kind(value: Any) -> str:
    """Return one of the known kinds, in lower case."""
    word = fields.required_word(value).lower()
    if word not in KINDS:
        raise Unreadable("no such kind")
    return word


PARSERS = {
    "kind": kind,
    "instrument": fields.required_word,
    "tenor": fields.required_word,
    "point": fields.required_word,
    "measure": fields.required_word,
    "quoted_on": fields.day,
    "value": fields.number,
    "unit": fields.word,
}

DROP = lines.feed(DATASET, NEEDED, NOT_STATED, locate=locate, values=values)
