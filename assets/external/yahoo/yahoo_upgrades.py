"""Dataset `yahoo_upgrades`: analyst ratings from Yahoo, dated by the end of the rating's day."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from assets.external.yahoo import _answers, _dates
from assets.extraction import Place, Record, RunFacts, dated, parsed
from assets.feeds import fields
from assets.feeds.feed import Feed, Fetch, Scope, Unit, Whole, one_entity, unit_per_ticker
from assets.feeds.items import TWICE, Came, evidence_of, mark_repeats, parsed_or_text
from assets.feeds.naming import first_dated
from assets.splits import EVIDENCE, per_share_since
from pitlake.datasets import _figures as figures
from pitlake.datasets import yahoo_upgrades as contract
from pitlake.datasets.yahoo_upgrades import DATASET
from pitlake.errors import RecordRefused, Unparsable, Unreadable
from resources.http.capture import Capture, Request
from resources.http.providers.yahoo import PROVIDER

MODULE = "upgradeDowngradeHistory"
# A corrected instant is near the first stated one, and a firm rates a company again only after weeks.
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
    """Fetch a company's whole history, which is in one answer."""
    yield fetch(
        Request(f"/v10/finance/quoteSummary/{quote(unit.name, safe='')}", {"modules": MODULE, "formatted": "false"})
    )


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[Came]:
    return mark_repeats(
        _ratings(unit, captures),
        lambda rating: (
            parsed_or_text(fields.word, rating.get("firm")),
            parsed_or_text(_dates.instant_of_epoch, rating.get("epochGradeDate")),
        ),
    )


def _ratings(unit: Unit, captures: Sequence[Capture]) -> Iterator[Came]:
    for capture in captures:
        for result in _answers.results(capture, "quoteSummary"):
            module = result.get(MODULE) if isinstance(result, dict) else None
            history = module.get("history") if isinstance(module, dict) else None
            if not isinstance(history, list) or not all(isinstance(rating, dict) for rating in history):
                raise Unparsable(capture.evidence, "the history is not a list of records")
            yield from (({**rating, "ticker": unit.name}, capture) for rating in history)


def locate(record: Record, run: RunFacts) -> Place:
    """Return the end of the rating's day, or the fetch time if a split followed and there is a price target."""
    # The instant may be corrected, so a record that replaces a gap is matched only by company and firm.
    evidence = f"{evidence_of(run, record, record['ticker'], record.get('firm'))}&graded={record.get('epochGradeDate')}"
    try:
        graded = _dates.of_instant(_dates.instant_of_epoch(record.get("epochGradeDate")))
    except Unreadable:
        return Place(evidence, reason=contract.NO_DATE.reason)
    if TWICE in record:
        return Place(evidence, day=graded.day, reason=figures.TOLD_TWICE.reason)
    targeted = any(record.get(name) for name in SPELLED.values())
    return dated(
        evidence, per_share_since(record["ticker"], graded.available_at, run) if targeted else graded.available_at
    )


def values(record: Record) -> dict[str, Any]:
    """Return the business columns; a price target of 0 means none."""
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
        | {"ticker": record["ticker"], "firm": firm, "graded_at": _dates.instant_of_epoch(record["epochGradeDate"])}
    )


NAMING = first_dated(("ticker", "firm"), "graded_at", moved_at_most=MOVED_AT_MOST, step=timedelta(seconds=1))

FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(tickers=("QACB",)),
    units=unit_per_ticker,
    entity_of=one_entity,
    collect=collect,
    records=records,
    locate=locate,
    values=values,
    naming=NAMING,
    whole=lambda unit, _: Whole(unit.name),
    after=EVIDENCE,
)
