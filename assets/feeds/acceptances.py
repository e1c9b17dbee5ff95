"""Combines EDGAR's time zones: proves an acceptance by two different timestamps or by the lake's earlier statements.

EDGAR's JSON states an acceptance in UTC or in New York time, which may change between downloads. If the later of two
timestamps, read as UTC, is the same instant as the earlier one, read as New York time, both readings are proven. A
proven acceptance stays proven. assets.feeds.dating reads a single timestamp; assets.edgar decides the release. Pure.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from itertools import product
from typing import Any

from assets.edgar import Release, released
from assets.extraction import Row, RunFacts, day_of
from assets.feeds import dating
from assets.feeds.dating import Dated
from assets.feeds.naming import Outcome
from pitlake.clock import AVAILABLE_AT, NEW_YORK
from pitlake.contract import Dataset
from pitlake.datasets._shared import RELEASE_RULE, UNPROVEN
from pitlake.errors import Unreadable

MICROSECOND = timedelta(microseconds=1)


def readings(accepted: Dated) -> tuple[datetime, ...]:
    """Return every possible instant of an acceptance, in ascending order."""
    if accepted.rule == dating.LATER:
        return accepted.instant.astimezone(NEW_YORK).replace(tzinfo=timezone.utc), accepted.instant
    return (accepted.instant - MICROSECOND,) if accepted.rule == dating.DATE_ONLY else (accepted.instant,)


def release(accepted: Dated, form: str | None, filing_date: date | None, *, as_accepted: bool = False) -> Release:
    """Return the latest of a filing's releases under all readings of its acceptance."""
    possible = [released(at, form, filing_date, as_accepted=as_accepted) for at in readings(accepted)]
    return Release(
        max(accepted.instant, *(release_at.at for release_at in possible)), possible[-1].rule, accepted.instant
    )


def proven_by(texts: Iterable[str]) -> tuple[str, Dated] | None:
    """Return the instant that two of these timestamps in EDGAR's JSON prove, and the one in UTC; None without proof."""
    clocks = [(text, naive) for text in sorted(set(texts)) if (naive := dating.wall_clock(text)) is not None]
    for (_, earlier), (text, later) in product(clocks, repeat=2):
        instant = later.replace(tzinfo=timezone.utc)
        if instant.astimezone(NEW_YORK).replace(tzinfo=None) == earlier and earlier.time() != datetime.min.time():
            return text, Dated(instant, dating.TWO_READINGS)
    return None


def with_earlier_acceptances(dataset: Dataset, found_outcomes: Iterable[Outcome], run: RunFacts) -> Iterator[Outcome]:
    """Yield a unit's outcomes, each filing with the best acceptance that its own and all earlier timestamps prove."""
    outcomes = list(found_outcomes)
    numbers = {outcome.values["accession_no"] for outcome, _ in outcomes if isinstance(outcome, Row)}
    statements_of: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for statement in run.statements(dataset, "accession_no", numbers) if run.statements and numbers else ():
        statements_of[statement["accession_no"]].append(statement)
    for outcome, day in outcomes:
        statements = statements_of[outcome.values["accession_no"]] if isinstance(outcome, Row) else ()
        if not isinstance(outcome, Row) or not statements:
            yield outcome, day
            continue
        row = _as_published(dataset, _proven(outcome, statements, run), statements, run)
        yield row, day_of(row.available_at)


def _proven(row: Row, statements: Sequence[Mapping[str, Any]], run: RunFacts) -> Row:
    """Return the row with the acceptance that its own and all earlier timestamps prove."""
    settled = _settled(row.values, statements)
    if settled is None:
        return row
    raw, decided = settled
    at, rule, _ = release(decided, row.values["form_type"], row.values["filing_date"], as_accepted=run.as_accepted)
    clock = {"accepted_at": decided.instant, "acceptance_rule": decided.rule, "acceptance_raw": raw}
    return replace(row, values=row.values | clock | {RELEASE_RULE.name: rule}, available_at=at)


def _as_published(dataset: Dataset, row: Row, statements: Sequence[Mapping[str, Any]], run: RunFacts) -> Row:
    """Return the row with the acceptance that the lake published, if the filing is otherwise unchanged and both may be
    the same instant. A better proof is not new content.
    """
    content = [name for name in dataset.content_columns if name != "accepted_at"]
    published = [
        statement
        for statement in statements
        if statement["cik"] == row.values["cik"] and statement[AVAILABLE_AT] <= run.observed_at
    ]
    if not published or any(published[-1][name] != row.values[name] for name in content):
        return row
    before = published[-1]
    same = _possible(row.values) & _possible(before) or _on_day(row.values, before) or _on_day(before, row.values)
    return replace(row, values=row.values | {"accepted_at": before["accepted_at"]}) if same else row


def _on_day(filing: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether a filing whose acceptance is only a day may have been accepted at the time of the other filing."""
    end = filing["accepted_at"]
    by_day = filing["acceptance_rule"] == dating.DATE_ONLY
    return by_day and any(end - dating.DATE_ONLY_BOUND <= at <= end for at in _possible(other))


def _settled(row: Mapping[str, Any], statements: Sequence[Mapping[str, Any]]) -> tuple[str, Dated] | None:
    """Return the acceptance that earlier statements and the row's timestamp prove together; None without new proof."""
    own = Dated(row["accepted_at"], row["acceptance_rule"])
    possible = _possible(row)
    for statement in statements:
        before = Dated(statement["accepted_at"], statement["acceptance_rule"])
        if before.rule not in UNPROVEN and _whole(before.instant) in possible:
            return statement["acceptance_raw"], before
    if own.rule not in UNPROVEN:
        return None
    return proven_by([row["acceptance_raw"], *(statement["acceptance_raw"] for statement in statements)])


def _possible(filing: Mapping[str, Any]) -> set[datetime]:
    """Return every instant, in whole seconds, that a filing's raw acceptance timestamp can mean."""
    naive = dating.wall_clock(filing["acceptance_raw"]) if filing["acceptance_rule"] in UNPROVEN else None
    if naive is None:
        return {_whole(filing["accepted_at"])}
    every = {naive.replace(tzinfo=timezone.utc)}
    with suppress(Unreadable):
        every.add(dating.new_york_clock(naive))
    return {_whole(at) for at in every}


def _whole(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)  # Headers state seconds, the JSON milliseconds.
