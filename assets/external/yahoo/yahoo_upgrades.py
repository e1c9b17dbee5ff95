"""Dataset `yahoo_upgrades`: analyst ratings of Yahoo, dated by the end of the rating's day."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from assets.external import fields
from assets.external.feed import Feed, Fetch, Unit, one_entity
from assets.external.items import TWICE, Came, named, read_or_spelled, told_once
from assets.external.naming import Naming, Values
from assets.external.yahoo import _answers, _dates
from assets.extraction import Place, Record, RunFacts, dated, parsed
from assets.splits import a_share
from pitlake.datasets import _figures as figures
from pitlake.datasets import yahoo_upgrades as contract
from pitlake.datasets.yahoo_upgrades import DATASET
from pitlake.errors import RecordRefused, Unparsable, Unreadable
from resources.http.capture import Capture, Request
from resources.http.providers.yahoo import PROVIDER

MODULE = "upgradeDowngradeHistory"
# A rating whose instant was corrected lies near the one stated first; a firm rates a company again weeks later.
MOVED_AT_MOST = timedelta(days=6)

PARSERS = {"current_price_target": _answers.number, "prior_price_target": _answers.number}
SPELLED = {"current_price_target": "currentPriceTarget", "prior_price_target": "priorPriceTarget"}
WORDS = {
    "to_grade": "toGrade",
    "from_grade": "fromGrade",
    "action": "action",
    "price_target_action": "priceTargetAction",
}


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """One answer holds a company's whole history."""
    yield fetch(
        Request(f"/v10/finance/quoteSummary/{quote(unit.name, safe='')}", {"modules": MODULE, "formatted": "false"})
    )


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[Came]:
    """One record a rating."""
    return told_once(
        _ratings(unit, captures),
        lambda one: (
            read_or_spelled(fields.word, one.get("firm")),
            read_or_spelled(_dates.instant_of_epoch, one.get("epochGradeDate")),
        ),
    )


def _ratings(unit: Unit, captures: Sequence[Capture]) -> Iterator[Came]:
    for capture in captures:
        for result in _answers.results(capture, "quoteSummary"):
            module = result.get(MODULE) if isinstance(result, dict) else None
            history = module.get("history") if isinstance(module, dict) else None
            if not isinstance(history, list) or not all(isinstance(one, dict) for one in history):
                raise Unparsable(capture.evidence, "the history is no list of records")
            yield from (({**one, "ticker": unit.name}, capture) for one in history)


def locate(record: Record, run: RunFacts) -> Place:
    """The end of the rating's day; with a price target, the fetch after a split."""
    # The instant may be corrected: what comes for a gap is known by its company and firm alone.
    evidence = f"{named(run, record, record['ticker'], record.get('firm'))}&graded={record.get('epochGradeDate')}"
    try:
        found = _dates.of_instant(_dates.instant_of_epoch(record.get("epochGradeDate")))
    except Unreadable:
        return Place(evidence, reason=contract.NO_DATE.reason)
    if TWICE in record:
        return Place(evidence, day=found.day, reason=figures.TOLD_TWICE.reason)
    targeted = any(record.get(name) for name in SPELLED.values())
    return dated(evidence, a_share(record["ticker"], found.available_at, run) if targeted else found.available_at)


def values(record: Record) -> dict[str, Any]:
    """The business columns; a price target of 0 stands for none."""
    try:
        firm = fields.word(record.get("firm"))
    except Unreadable:
        firm = None
    if firm is None:
        raise RecordRefused(contract.NO_FIRM.reason)
    targets = parsed({column: record.get(name) for column, name in SPELLED.items()}, PARSERS)
    words = parsed({column: record.get(name) for column, name in WORDS.items()}, dict.fromkeys(WORDS, fields.word))
    return (
        {column: value or None for column, value in targets.items()}
        | words
        | {
            "ticker": record["ticker"],
            "firm": firm,
            "graded_at": _dates.instant_of_epoch(record["epochGradeDate"]),
        }
    )


def likeness(one: Values, other: Values) -> float:
    """By their instants: a rating that has gone from its instant is the one that came beside it."""
    apart = abs(one["graded_at"] - other["graded_at"])
    return 0 if apart > MOVED_AT_MOST else 1 + (MOVED_AT_MOST - apart) / MOVED_AT_MOST


def first_stated(rating: Values, taken: Collection[datetime]) -> datetime:
    """The rating's instant, or the next one that names no other rating."""
    moment: datetime = rating["graded_at"]
    while moment in taken:
        moment += timedelta(seconds=1)
    return moment


NAMING = Naming(
    column="first_stated",
    group=("ticker", "firm"),
    likeness=likeness,
    fresh=first_stated,
    order=lambda row: row["graded_at"],
)

FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    units=_answers.one_a_ticker,
    entity_of=one_entity,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
    naming=NAMING,
)
