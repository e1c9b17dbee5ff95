"""Dataset `av_estimates`: consensus estimates from Alpha Vantage, dated by their fetch."""

from collections.abc import Iterator, Sequence
from typing import Any

from assets.external.alpha_vantage._spelling import PATH, answer_about, number, word
from assets.extraction import Place, Record, RunFacts, dated, parsed
from assets.feeds import dating
from assets.feeds.feed import Feed, Fetch, Scope, Unit, one_entity, unit_per_ticker
from assets.feeds.items import TWICE, Came, evidence_of, mark_repeats, parsed_or_text
from pitlake.datasets import _figures as figures
from pitlake.datasets import av_estimates as contract
from pitlake.datasets.av_estimates import DATASET, FIGURES
from pitlake.errors import RecordRefused, Unparsable, Unreadable
from resources.http.capture import Capture, Request
from resources.http.providers.alpha_vantage import PROVIDER

PARSERS = {column.name: number for column in FIGURES}


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    """Fetch all periods, which are in one answer."""
    yield fetch(Request(PATH, {"function": "EARNINGS_ESTIMATES", "symbol": unit.name}))


def records(unit: Unit, captures: Sequence[Capture]) -> Iterator[Came]:
    """Return one record per estimate."""
    return mark_repeats(
        _estimates(unit, captures),
        lambda estimate: (
            parsed_or_text(word, estimate.get("horizon")),
            parsed_or_text(dating.day, estimate.get("date")),
        ),
    )


def _estimates(unit: Unit, captures: Sequence[Capture]) -> Iterator[Came]:
    for capture in captures:
        answer = capture.json()
        estimates = answer.get("estimates") if isinstance(answer, dict) else None
        if not isinstance(estimates, list) or not all(isinstance(estimate, dict) for estimate in estimates):
            raise Unparsable(capture.evidence, "estimates is not a list of records")
        answer_about(unit.name, answer.get("symbol"), capture.evidence)
        yield from (({**estimate, "ticker": unit.name}, capture) for estimate in estimates)


def locate(record: Record, run: RunFacts) -> Place:
    """Return when the answer was fetched."""
    evidence = evidence_of(run, record, record["ticker"], record.get("horizon"), record.get("date"))
    if TWICE in record:
        return Place(evidence, run.fetched_at, reason=figures.TOLD_TWICE.reason)
    if run.fetched_at is None:
        raise ValueError("an estimate without the instant it was fetched at")
    return dated(evidence, run.fetched_at)


def values(record: Record) -> dict[str, Any]:
    """Return the business columns.

    If the name of a figure is missing, the source may have renamed it, so null would be wrong.
    """
    try:
        horizon = word(record.get("horizon"))
    except Unreadable:
        horizon = None
    if horizon is None:
        raise RecordRefused(contract.NO_HORIZON.reason)
    try:
        period = dating.day(record.get("date"))
    except Unreadable:
        raise RecordRefused(figures.NO_PERIOD.reason) from None
    if not PARSERS.keys() <= record.keys():
        raise RecordRefused(contract.OTHER_SHAPE.reason)
    return parsed(record, PARSERS) | {"ticker": record["ticker"], "horizon": horizon, "fiscal_date_ending": period}


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
)
