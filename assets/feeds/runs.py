"""Runs a feed over a scope: collects unit by unit, makes records rows or gaps, audits and publishes as one commit.

The same audit and publish as the graph's runs; parsing captures again without publishing is `assets.feeds.reparse`.
No Dagster here.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime

from assets.buckets import Buckets
from assets.extraction import Gap, Releases, Row, RunFacts, day_of
from assets.feeds.feed import Feed, Fetch, Scope, Unit
from assets.feeds.lake_history import LakeStatements
from assets.feeds.naming import Outcome, named
from assets.feeds.releases import LakeReleases
from assets.reading import collector_paused
from assets.runs import RunReport, concluded
from assets.splits import LakeSplits
from pitlake import clock
from pitlake.datasets._external import EMPTY, UNPARSABLE
from pitlake.errors import AnswerRefused, Unparsable
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.audit import Audit
from pitlake.lake.storage.conventions import ACCEPTANCE
from resources.http.capture import Capture, CaptureStore
from resources.http.client import HttpClient
from resources.http.provider import OK, Provider


def run_feed(
    feed: Feed,
    scope: Scope,
    client: HttpClient,
    lake: Lake,
    *,
    run_id: str,
    observed_at: datetime | None = None,
    releases: Releases | None = None,
    audits: Sequence[Audit] = (),
) -> RunReport:
    """Fetch or replay a scope and publish what came as one lake version, or nothing and the report says why.

    observed_at: the run's one clock. By default records are judged by the wall clock, and what is new is dated by the
    last of the answers it came from: a replay says what was said when they were fetched, whenever it runs.
    releases: what dates records by their filing; by default what the lake knows.
    Raises BadInput for a scope or settings that do not do, NotCaptured in replay, LakeError; nothing is published then.
    """
    read_clock: Callable[[], datetime] = clock.now if observed_at is None else lambda: observed_at
    known, told, splits = releases or LakeReleases(lake), LakeStatements(lake), LakeSplits(lake)
    as_accepted = lake.filings_count_from == ACCEPTANCE
    units, seen = feed.units(scope), _Seen(read_clock)
    before = earlier_captures(feed.provider, client.store)
    entities = [feed.entity_of(unit) for unit in units]
    with lake.stage(feed.dataset, run_id) as stage:
        stage.look(_days(scope), () if all(entities) else None)

        def fill() -> None:
            buckets, until, cited = Buckets(feed, stage), read_clock(), list[str]()
            for unit, entity in zip(units, entities, strict=True):
                captures, refusal = collected(feed, unit, client.fetch)
                if refusal is None and all(entities):
                    stage.look(entities=[str(entity)])
                until = max(until, read_clock(), *(capture.fetched_at for capture in captures))
                cited += [capture.evidence for capture in captures]
                if refusal is not None and client.mode != "replay":
                    seen.at(read_clock())
                seen.at(*(capture.fetched_at for capture in captures))
                with collector_paused():
                    run = RunFacts(
                        observed_at=read_clock(),
                        as_accepted=as_accepted,
                        releases=known,
                        statements=told,
                        splits=splits,
                        earlier=before,
                    )
                    for outcome, day in outcomes(feed, unit, captures, refusal, run):
                        if outcome.available_at is not None:
                            seen.at(outcome.available_at)
                        buckets.add(day, outcome)
                        buckets.spill()
            buckets.close_all()
            facts = {"scope": scope.as_json(), "mode": client.mode, "until": clock.iso(until), "captures": cited}
            client.store.keep_run(run_id, feed.dataset.name, facts)
            client.store.flush()

        last_seen = seen.last if observed_at is None else read_clock
        return concluded(stage, lake, fill, last_seen, audits)


def _days(scope: Scope) -> tuple[date, date] | None:
    """The New York days that a scope is limited to."""
    if scope.date_from is None and scope.updated_since is None:
        return None
    first = scope.date_from or day_of(scope.updated_since or clock.now())
    return first, scope.date_to or (first if scope.date_from else date.max)


class _Seen:
    """When what a run tells had all been seen: the latest of its answers and of the instants its records are dated."""

    def __init__(self, read_clock: Callable[[], datetime]) -> None:
        self._read_clock = read_clock
        self._last: datetime | None = None

    def at(self, *instants: datetime) -> None:
        """Note some."""
        known = [] if self._last is None else [self._last]
        self._last = max((*known, *(one for one in instants if one.tzinfo is not None)), default=None)

    def last(self) -> datetime:
        """The latest, never ahead of the clock; the clock where nothing was seen."""
        now = self._read_clock()
        return min(now, self._last) if self._last else now


def collected(feed: Feed, unit: Unit, fetch: Fetch) -> tuple[list[Capture], AnswerRefused | None]:
    """The captures of a unit, and the refusal that ended it early if one did."""
    captures: list[Capture] = []
    try:
        for capture in feed.collect(unit, fetch):
            captures.append(capture)  # noqa: PERF402 - what came before a refusal is kept
    except AnswerRefused as refusal:
        return captures, refusal
    except Unparsable as problem:
        return captures, AnswerRefused(UNPARSABLE.type, UNPARSABLE.reason, problem.evidence)
    return captures, None


def outcomes(
    feed: Feed, unit: Unit, captures: Sequence[Capture], refusal: AnswerRefused | None, run: RunFacts
) -> Iterable[Outcome]:
    """One row or gap for each source record of a unit; a refused, unreadable or empty answer is a record too."""
    found = _outcomes(feed, unit, captures, refusal, run)
    if feed.naming is not None:
        return named(feed.naming, feed.dataset, found, run)
    if feed.among is not None:
        return feed.among(feed.dataset, found, run)
    if feed.as_fetched and captures:
        return _first_held(feed, unit, found, captures, run)
    return found


def _first_held(
    feed: Feed, unit: Unit, found: Iterable[Outcome], captures: Sequence[Capture], run: RunFacts
) -> Iterator[Outcome]:
    """The outcomes of one unit, none of them dated before the first capture that holds its content."""
    fetched_at = max(capture.fetched_at for capture in captures)
    first: dict[str, datetime] = {}
    for capture in captures:
        for older in run.earlier(capture) if run.earlier else ():
            for one, _ in _outcomes(feed, unit, [older], None, run):
                if isinstance(one, Row):
                    first[_content(one)] = min(older.fetched_at, first.get(_content(one), fetched_at))
    for one, day in found:
        if one.available_at is None:
            yield one, day
        else:
            held = first.get(_content(one), fetched_at) if isinstance(one, Row) else fetched_at
            at = max(one.available_at, held)
            if isinstance(one, Row) and at > run.observed_at:
                yield _not_yet(feed, one), day_of(at)
            else:
                yield replace(one, available_at=at), day_of(at)


def _not_yet(feed: Feed, row: Row) -> Gap:
    """The gap of a row whose capture, by the provider's clock, was taken after this run saw it."""
    return Gap(feed.future.type, feed.future.reason, row.evidence, None, day_of(row.available_at))


def _content(row: Row) -> str:
    return json.dumps(row.values, sort_keys=True, default=str)


def earlier_captures(provider: Provider, store: CaptureStore) -> Callable[[Capture], Iterator[Capture]]:
    """A function that gives the usable captures of a capture's request that were taken before it."""

    def earlier(capture: Capture) -> Iterator[Capture]:
        for one in store.newest_first(capture.source, capture.request_key):
            if one.fetched_at < capture.fetched_at and provider.judge(one) == OK:
                yield one

    return earlier


def _outcomes(
    feed: Feed, unit: Unit, captures: Sequence[Capture], refusal: AnswerRefused | None, run: RunFacts
) -> Iterator[Outcome]:
    count = 0
    facts: dict[int, RunFacts] = {}
    try:
        for record, capture in feed.records(unit, captures):
            known = facts.get(id(capture))
            if known is None:
                known = facts[id(capture)] = replace(
                    run,
                    fetched_at=capture.fetched_at,
                    evidence=capture.evidence,
                    location=feed.provider.location(capture),
                )
            for one in feed.split(record):
                count += 1
                place = feed.locate(one, known)
                yield feed.outcome(one, place, known), place.day
    except Unparsable as problem:
        count += 1
        yield Gap(UNPARSABLE.type, UNPARSABLE.reason, problem.evidence, None, None), None
    if refusal is not None:
        yield Gap(refusal.gap_type, refusal.reason, refusal.evidence, None, None), None
    elif not count:
        evidence = captures[-1].evidence if captures else f"{feed.provider.name}:{unit.name}"
        yield Gap(EMPTY.type, EMPTY.reason, evidence, None, None), None
