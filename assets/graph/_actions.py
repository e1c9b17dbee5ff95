"""Shared code of dividends and splits: the node states a day, and its Date confirms it. Independent of datasets."""

from collections.abc import Iterable
from datetime import date
from typing import Any

from assets.extraction import Contest, Place, dated
from assets.graph import texts
from pitlake.contract import Dataset, GapRule
from pitlake.datasets import _shared as shared


def place_action(evidence: str, ticker: Any, date_text: Any, date_nodes: Any, *, differs: str) -> Place:
    """Return the close of the stated day, taken from a Date of exactly that day. date_nodes: (date, close) pairs."""
    day = texts.leading_day(date_text)
    if texts.word(ticker) is None:
        return Place(evidence, day=day, reason=shared.NO_TICKER.reason)
    if not date_nodes:
        return Place(evidence, day=day, reason=shared.NO_DATE.reason)
    exact_day: date | None = texts.readable(texts.day, date_text)
    closes = [close for linked, close in date_nodes if exact_day and texts.readable(texts.day, linked) == exact_day]
    if not closes:
        return Place(evidence, day=day, reason=differs)
    close_at = texts.readable(texts.instant, closes[0])
    if close_at is None:
        return Place(evidence, day=day, reason=shared.NO_CLOSE.reason)
    if not texts.session_day(close_at, day):
        return Place(evidence, day=day, reason=shared.STRAY_CLOSE.reason)
    return dated(evidence, close_at)


def company(companies: Iterable[Any]) -> str | None:
    """Return the CIK of the company to which a node is linked; None if there is not exactly one company."""
    ciks = {texts.readable(texts.cik, company_id) for company_id in companies}
    return ciks.pop() if len(ciks) == 1 else None


def contest(dataset: Dataset, rule: GapRule) -> Contest:
    """Return the rule for several nodes of one action, such as the nodes of a ticker and its later name."""
    return Contest(
        group=dataset.key,
        contender=lambda record: str(record["node"]),
        rank=lambda _record: (0, 0),
        reason=rule.reason,
        labels=("ticker",),
    )
