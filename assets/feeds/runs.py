"""Runs a feed over a scope: collects units, turns records into rows or gaps, audits, and publishes as one commit.

Audit and publish are shared with the graph's runs. `assets.feeds.reparse` parses captures again without publishing.
This module does not use Dagster.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from assets.buckets import Buckets
from assets.extraction import Gap, Place, Record, Releases, Row, RunFacts, day_of
from assets.feeds.captured import scopes_of, unread_datasets
from assets.feeds.feed import Feed, Fetch, Scope, Unit, Whole
from assets.feeds.lake_history import LakeStatements
from assets.feeds.naming import Outcome, name_rows
from assets.feeds.releases import LakeReleases
from assets.feeds.replaying import SITTING, State, has_unread, name, read_by, taken_at, unread_rounds
from assets.reading import collector_paused
from assets.runs import RunReport, concluded, together
from assets.splits import LakeSplits
from pitlake import clock
from pitlake.contract import OBSERVED
from pitlake.datasets._external import EMPTY, EMPTY_PART, UNPARSABLE
from pitlake.errors import AnswerRefused, NotCaptured, Unparsable
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.audit import Audit
from pitlake.lake.publishing.polls import FOREVER
from pitlake.lake.publishing.publish import Published
from pitlake.lake.publishing.stage import CLOCK_TAG, Stage
from resources.http.capture import Capture, CaptureStore, answer_name
from resources.http.client import HttpClient
from resources.http.provider import NO_DATA, OK, Provider

NEVER_CAPTURED = "never captured"
NO_ROW = "no row"
"""A pseudo-reason among the reasons of gaps: every record of the answer became a gap."""


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
    """Replay a scope's captures that the lake has not read, in order of capture, and then fetch or replay the scope.

    The first run of a dataset in a lake reads the captures of all scopes in this order. So does each replay of unread
    captures whose source claims dates. A rebuilt lake therefore does not depend on the scope that is replayed first. As
    long as the lake has not read the captures of a dataset that dates these records, the source's dates are ignored and
    the records are dated by their fetch.

    Each round of captures is published as one lake version, as it would have been when they were taken. The last state
    is published too, or the report states the reason. A refused round is left out and mentioned in the report's notes.
    observed_at: the clock of the last state. By default, records are checked against the wall clock, and those of a
    replay against the time of their answer. New content is dated by the last of its answers, so a replay gives the same
    result whenever it runs. releases: the releases of filings (default: the lake's). Raises BadInput for an invalid
    scope or settings, NotCaptured in replay, LakeError. Nothing is published in these cases.
    """
    dataset, units = feed.dataset, feed.units(scope)
    by_claim = not feed.as_fetched and dataset.source_tag != CLOCK_TAG
    unread = unread_datasets(feed, lake, client.store) if by_claim else []
    if unread:
        feed = replace(feed, locate=_at_fetch(feed.locate))
    read = read_by(lake, dataset.name, client.store)
    replays = by_claim and client.mode == "replay" and has_unread(feed, scope, client.store, read)
    others = list(scopes_of(feed, client.store)) if replays or not lake.polls(dataset.name) else ()
    rounds, newest = unread_rounds(feed, scope, others, client.store, read)
    last = max(map(taken_at, newest.values()), default=0) if client.mode == "replay" else FOREVER
    lake_releases = LakeReleases(lake)

    def releases_at(observed_at: datetime) -> Releases:
        return lake_releases.at(observed_at) if releases is None else releases

    run = _Run(feed, scope, client.store, lake, run_id, releases_at, audits)
    end = max([last, *(state.until for states in rounds for state in states if state.scope == scope)])
    # The scope's newest answers in its last session are read last anyway.
    remaining_rounds = (
        [state for state in states if not (state.newest and state.scope == scope and state.until >= last - SITTING)]
        for states in rounds
    )
    earlier = [states for states in remaining_rounds if states and states[0].until <= end]
    reports = [run.replayed(states) for states in earlier]
    if run.read:
        run.keep_read()  # The requested scope may have no captures.
    requested = run.publish(units, client.fetch, client.mode, observed_at)
    reports += [run.replayed(states) for states in rounds if states[0].until > end]
    reports.append(requested)
    run.read |= set(newest.values()) - read.keys()
    if isinstance(reports[-1].outcome, Published):
        run.keep_read()
    report = together(reports)
    if unread:
        waiting = f"{dataset.name} is dated by its fetch: replay {' and '.join(unread)} into this lake first"
        report = replace(report, notes=(*report.notes, waiting))
    return report


def run_once(
    feed: Feed, scope: Scope, client: HttpClient, lake: Lake, *, run_id: str, audits: Sequence[Audit] = ()
) -> RunReport:
    """Fetch or replay only this scope, and ignore other captures, for callers that decide the order of reading.

    Raises the errors of `run_feed`.
    """
    run = _Run(feed, scope, client.store, lake, run_id, LakeReleases(lake).at, audits)
    return run.publish(feed.units(scope), client.fetch, client.mode, None)


def nothing_asked(feed: Feed, lake: Lake, run_id: str, audits: Sequence[Audit] = ()) -> RunReport:
    """Return the report of a run without requests, which published nothing and polled nothing."""
    with lake.stage(feed.dataset, run_id) as stage:
        stage.poll(entities=())
        return concluded(stage, lake, lambda: None, clock.now, audits)


def _at_fetch(locate: Callable[[Record, RunFacts], Place]) -> Callable[[Record, RunFacts], Place]:
    """Return the same function with no availability before the record's fetch."""

    def located(record: Record, run: RunFacts) -> Place:
        place = locate(record, run)
        if place.available_at is None or run.fetched_at is None or place.available_at >= run.fetched_at:
            return place
        return replace(place, available_at=run.fetched_at, day=day_of(run.fetched_at))

    return located


class _Run:
    """A run of a feed into a lake. read: the first captures of the states that the run has read. refused: the reasons
    of the gaps from these captures.
    """

    def __init__(
        self,
        feed: Feed,
        scope: Scope,
        store: CaptureStore,
        lake: Lake,
        run_id: str,
        releases_at: Callable[[datetime], Releases],
        audits: Sequence[Audit],
    ) -> None:
        self._feed, self._scope, self._store, self._lake, self._run_id = feed, scope, store, lake, run_id
        self._releases_at, self._audits = releases_at, audits
        self._facts: dict[str, Any] = {}
        self.read: set[str] = set()
        self.refused: dict[str, list[str]] = {}

    def replayed(self, states: Sequence[State]) -> RunReport:
        """Publish a round of states as of the capture of the last state."""
        until = clock.from_micros(max(state.until for state in states))
        days, units = _days(states[0].scope), [state.unit for state in states]
        with HttpClient(self._feed.provider, self._store, "replay", until=until) as client:
            report = self.publish(units, client.fetch, "replay", None, until, days)
        if isinstance(report.outcome, Published):
            self.read |= {state.capture for state in states}
            return report
        left_out = f"captures until {clock.iso(until)} are left out: {report.outcome}"
        return replace(report, notes=(*report.notes, left_out))

    def publish(
        self,
        units: Sequence[Unit],
        fetch: Fetch,
        mode: str,
        observed_at: datetime | None,
        until: datetime | None = None,
        days: tuple[date, date] | None = None,
    ) -> RunReport:
        """Publish the answers of units as one lake version. until: when the replayed captures were taken. days: the
        days that the captures cover, None for all days.
        """
        feed, lake = self._feed, self._lake
        at = observed_at or until
        read_clock: Callable[[], datetime] = clock.now if at is None else lambda: at
        store = self._store if until is None else self._store.until(until)
        seen, statements, splits = _Seen(read_clock), LakeStatements(lake), LakeSplits(lake)
        entities = [feed.entity_of(unit) for unit in units]
        with lake.stage(feed.dataset, self._run_id) as stage:
            stage.poll(days if until else _days(self._scope), () if all(entities) else None)

            def fill() -> None:
                buckets, last, started = Buckets(feed, stage), read_clock(), clock.now()
                cited, fetched = list[str](), list[str]()
                looked: list[tuple[Whole | None, str | None, int | None]] = []
                for unit, entity in zip(units, entities, strict=True):
                    captures, refusal = collect_unit(feed, unit, fetch)
                    last = max(last, read_clock(), *(capture.fetched_at for capture in captures))
                    cited += [capture.evidence for capture in captures]
                    fetched += [answer_name(capture) for capture in captures if capture.fetched_at >= started]
                    if until is None:
                        self.read |= {name(capture) for capture in captures[:1]}
                    if refusal is not None and refusal.answered_at is not None:
                        seen.at(refusal.answered_at)
                    elif refusal is not None and mode != "replay":
                        seen.at(read_clock())
                    seen.at(*(capture.fetched_at for capture in captures))
                    observed = read_clock()
                    if not at and mode == "replay":
                        observed = min(observed, max((capture.fetched_at for capture in captures), default=observed))
                    run = RunFacts.of_lake(
                        lake,
                        observed_at=observed,
                        releases=self._releases_at(observed),
                        statements=statements,
                        splits=splits,
                        earlier=earlier_captures(feed.provider, store),
                    )
                    whole = self._fill(unit, captures, refusal, run, buckets, stage, seen)
                    answered = max((clock.micros(capture.fetched_at) for capture in captures), default=None)
                    looked.append((whole, str(entity) if refusal is None and all(entities) else None, answered))
                _poll(stage, looked)
                buckets.close_all()
                self._facts = {
                    "scope": self._scope.as_json(),
                    "mode": mode,
                    "until": clock.iso(last),
                    "captures": cited,
                    "fetched": [*self._facts.get("fetched", ()), *fetched],
                }
                self._store.keep_run(self._run_id, feed.dataset.name, self._facts)
                self._store.flush()

            last_seen = seen.last if observed_at is None else read_clock
            return concluded(stage, lake, fill, last_seen, self._audits)

    def _fill(
        self,
        unit: Unit,
        captures: Sequence[Capture],
        refusal: AnswerRefused | None,
        run: RunFacts,
        buckets: Buckets,
        stage: Stage,
        seen: "_Seen",
    ) -> Whole | None:
        """Add a unit's answers to the stage, and return the completely covered part."""
        readable, has_rows, reasons = refusal is None or refusal.gap_type == NO_DATA, False, set[str]()
        with collector_paused():
            for outcome, day in outcomes(self._feed, unit, captures, refusal, run):
                readable &= not (isinstance(outcome, Gap) and outcome.reason == UNPARSABLE.reason)
                if outcome.available_at is not None:
                    seen.at(outcome.available_at)
                if isinstance(outcome, Row):
                    has_rows = True
                elif outcome.type not in (NO_DATA, "pit_excluded"):
                    reasons.add(outcome.reason)
                buckets.add(day, outcome)
                buckets.spill()
        for capture in captures[:1] if reasons else ():
            self.refused[name(capture)] = sorted(reasons if has_rows else reasons | {NO_ROW})
        return self._feed.whole(unit, captures) if self._feed.whole and readable else None

    def keep_read(self) -> None:
        """Record which captures were read, once they are published. After a crash, the next run reads them again."""
        self._store.keep_run(
            self._run_id, self._feed.dataset.name, self._facts | {"read": sorted(self.read), "refused": self.refused}
        )


def _poll(stage: Stage, looked: Sequence[tuple[Whole | None, str | None, int | None]]) -> None:
    """Declare the polled part on the stage, except units that were last answered in an earlier session.

    looked: for each unit, the completely covered part, its entity, and the time of its last answer in microseconds.
    """
    last = max((at for *_, at in looked if at is not None), default=0)
    for whole, entity, at in looked:
        if at is not None and at < last - SITTING:
            continue
        if entity is not None:
            stage.poll(entities=[entity])
        if whole is not None:
            stage.cover(*whole)


def _days(scope: Scope) -> tuple[date, date] | None:
    if scope.date_from is None and scope.updated_since is None:
        return None
    first = scope.date_from or day_of(scope.updated_since or clock.now())
    return first, scope.date_to or (first if scope.date_from else date.max)


class _Seen:
    """The latest instant among a run's answers and the dates of its records."""

    def __init__(self, read_clock: Callable[[], datetime]) -> None:
        self._read_clock = read_clock
        self._last: datetime | None = None

    def at(self, *instants: datetime) -> None:
        instants_before = [] if self._last is None else [self._last]
        self._last = max(
            (*instants_before, *(instant for instant in instants if instant.tzinfo is not None)), default=None
        )

    def last(self) -> datetime:
        """Return the latest instant, but no later than the current time; the current time if there is none."""
        now = self._read_clock()
        return min(now, self._last) if self._last else now


def collect_unit(feed: Feed, unit: Unit, fetch: Fetch) -> tuple[list[Capture], AnswerRefused | None]:
    """Return the captures of a unit, and the refusal that ended the unit early, if any."""
    captures: list[Capture] = []
    try:
        for capture in feed.collect(unit, fetch):
            captures.append(capture)  # noqa: PERF402 - what came before a refusal is kept
    except NotCaptured as missing:
        if not captures:
            raise
        return captures, AnswerRefused("upstream_error", NEVER_CAPTURED, missing.location)
    except AnswerRefused as refusal:
        return captures, refusal
    except Unparsable as problem:
        return captures, AnswerRefused(UNPARSABLE.type, UNPARSABLE.reason, problem.evidence)
    return captures, None


def outcomes(
    feed: Feed, unit: Unit, captures: Sequence[Capture], refusal: AnswerRefused | None, run: RunFacts
) -> Iterable[Outcome]:
    """Return one row or gap per source record of a unit. A refused, unreadable or empty answer is a record too."""
    found_outcomes = _outcomes(feed, unit, captures, refusal, run)
    if feed.naming is not None:
        return name_rows(feed.naming, feed.dataset, found_outcomes, run)
    if feed.among is not None:
        return feed.among(feed.dataset, found_outcomes, run)
    if feed.as_fetched and captures:
        return _first_held(feed, unit, found_outcomes, captures, run)
    return found_outcomes


def _first_held(
    feed: Feed, unit: Unit, outcomes: Iterable[Outcome], captures: Sequence[Capture], run: RunFacts
) -> Iterator[Outcome]:
    """Yield the outcomes of a unit, dated no earlier than the first capture of their content."""
    fetched_at = max(capture.fetched_at for capture in captures)
    first: dict[str, datetime] = {}
    for capture in captures:
        for older in run.earlier(capture) if run.earlier else ():
            for older_outcome, _ in _outcomes(feed, unit, [older], None, run):
                if isinstance(older_outcome, Row):
                    first[_content(older_outcome)] = min(
                        older.fetched_at, first.get(_content(older_outcome), fetched_at)
                    )
    for outcome, day in outcomes:
        if outcome.available_at is None:
            yield outcome, day
            continue
        seen_at = first.get(_content(outcome), fetched_at) if isinstance(outcome, Row) else fetched_at
        at = max(outcome.available_at, seen_at)
        if isinstance(outcome, Gap):
            yield replace(outcome, available_at=at), day_of(at)
        elif at > run.observed_at:
            yield (
                Gap(feed.future.type, feed.future.reason, outcome.evidence, None, day_of(outcome.available_at)),
                day_of(at),
            )
        else:
            yield replace(outcome, available_at=at, basis=OBSERVED if at == seen_at else outcome.basis), day_of(at)


def _content(row: Row) -> str:
    return json.dumps(row.values, sort_keys=True, default=str)


def earlier_captures(provider: Provider, store: CaptureStore) -> Callable[[Capture], Iterator[Capture]]:
    """Return a function that yields the usable captures of a capture's request that were taken before it."""

    def earlier(capture: Capture) -> Iterator[Capture]:
        for older in store.newest_first(capture.source, capture.request_key):
            if older.fetched_at < capture.fetched_at and provider.judge(older) == OK:
                yield older

    return earlier


def _outcomes(
    feed: Feed, unit: Unit, captures: Sequence[Capture], refusal: AnswerRefused | None, run: RunFacts
) -> Iterator[Outcome]:
    count = 0
    facts: dict[int, RunFacts] = {}
    try:
        for record, capture in feed.records(unit, captures):
            capture_facts = facts.get(id(capture))
            if capture_facts is None:
                capture_facts = facts[id(capture)] = replace(
                    run,
                    fetched_at=capture.fetched_at,
                    evidence=capture.evidence,
                    location=feed.provider.location(capture),
                )
            for part in feed.split(record):
                count += 1
                place = feed.place(part, capture_facts)
                yield feed.outcome(part, place, capture_facts), place.day
    except Unparsable as problem:
        count += 1
        yield Gap(UNPARSABLE.type, UNPARSABLE.reason, problem.evidence, None, None), None
    if refusal is not None:
        yield Gap(refusal.gap_type, refusal.reason, refusal.evidence, None, None), None
    elif not count:
        evidence = captures[-1].evidence if captures else f"{feed.provider.name}:{unit.name}"
        empty = EMPTY if feed.whole is None or feed.whole(unit, captures) else EMPTY_PART
        yield Gap(empty.type, empty.reason, evidence, None, None), None
