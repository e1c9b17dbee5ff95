"""Dataset `model_registry`: language models from CSV files, dated by their receipt."""

import re
from calendar import monthrange
from datetime import date
from typing import Any

from assets.drops import _lines as lines
from assets.extraction import Place, Record, RunFacts, dated, parsed
from assets.feeds import fields
from assets.feeds.items import evidence_of
from pitlake.datasets.model_registry import DATASET
from pitlake.errors import Unreadable

NEEDED, NOT_STATED = ("model", "source"), {"provider": "", "released": "", "knowledge_cutoff": ""}
_MONTH = re.compile(r"([1-9]\d{3})-(0[1-9]|1[0-2])", re.ASCII)


def locate(record: Record, run: RunFacts) -> Place:
    """Return when the file was received."""
    evidence = evidence_of(run, record, record.get("model", record["place"]))
    if reason := lines.problem(record):
        return Place(evidence, reason=reason)
    return dated(evidence, run.fetched_at or run.observed_at)


def last_day(value: Any) -> date | None:
    """Return a day, or a month's last day, because a model with a cutoff month may have seen the whole month."""
    word = fields.word(value)
    month = _MONTH.fullmatch(word or "")
    if month:
        year, number = int(month[1]), int(month[2])
        return date(year, number, monthrange(year, number)[1])
    return fields.day(word)


def address(value: Any) -> str:
    address = fields.required_word(value)
    if fields.host(address) is None:
        raise Unreadable("no address")
    return address


PARSERS = {
    "model": fields.required_word,
    "provider": fields.word,
    "released": fields.day,
    "knowledge_cutoff": last_day,
    "source": address,
}

DROP = lines.feed(DATASET, NEEDED, NOT_STATED, locate=locate, values=lambda record: parsed(record, PARSERS))
