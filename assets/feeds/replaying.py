"""Finds the captures of a scope that the lake has not read, and groups them into rounds for a replay in order of
capture.

Each capture of a unit's first request starts a state of the source. Captures of the same session of requests belong to
this state; later captures do not. The states of several units from one session form one round.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from assets.feeds.feed import Feed, Scope, Unit
from pitlake import clock
from pitlake.errors import AnswerRefused, BadInput, NotCaptured, Unparsable
from pitlake.lake.lake import Lake
from resources.http.capture import Capture, CaptureStore, Request
from resources.http.client import HttpClient
from resources.http.provider import OK

SITTING = clock.micros(clock.EPOCH + timedelta(minutes=15))
"""The longest pause between two answers of one session of requests, in microseconds.

Retry-After is followed for up to five minutes.
"""


@dataclass(frozen=True)
class State:
    """The state of a unit at its source when `capture` was taken. scope: the scope of the run. until: the time of the
    last answer, in microseconds. newest: whether no request of the state has a later answer.
    """

    unit: Unit
    scope: Scope
    capture: str
    until: int
    newest: bool


class _FirstRequest(Exception):
    """A signal that stops a unit at its first request. This is not an error."""

    def __init__(self, request: Request) -> None:
        super().__init__()
        self.request = request


def name(capture: Capture) -> str:
    """Return a capture's name, which is unique among the captures of a request."""
    return _name(capture.request_key, clock.micros(capture.fetched_at))


def _name(request_key: str, micros: int) -> str:
    return f"{request_key}-{micros}"


def taken_at(capture: str) -> int:
    """Return when the capture of a name was taken, in microseconds."""
    return int(capture.rpartition("-")[2])


def read_by(lake: Lake, dataset: str, store: CaptureStore) -> Mapping[str, Sequence[str]]:
    """Return the first capture of each state that the lake has read, with the reasons of its gaps at the last
    reading.
    """
    captures: dict[str, Sequence[str]] = {}
    # Version 0 includes retracted runs, whose captures are not read again.
    for run_id in dict.fromkeys(poll.run_id for poll in lake.polls(dataset, 0)):
        with suppress(BadInput):  # The captures of this run are on another machine.
            run = store.run(run_id, dataset)
            for capture in run.get("read", ()):
                captures.setdefault(capture, run.get("refused", {}).get(capture, ()))
    return captures


def has_unread(feed: Feed, scope: Scope, store: CaptureStore, read: Container[str]) -> bool:
    """Return whether a scope's units have a captured state that the lake has not read."""
    for unit in feed.units(scope):
        request = first_request(feed, unit)
        key = request.key(feed.provider.name) if request else ""
        if request and any(_name(key, at) not in read for at in store.instants(feed.provider.name, key)):
            return True
    return False


def unread_rounds(
    feed: Feed, scope: Scope, others: Iterable[Scope], store: CaptureStore, read: Container[str]
) -> tuple[list[list[State]], Mapping[str, str]]:
    """Return the rounds of unread states of a scope and of others, in the order they were taken, and the newest capture
    of each of the scope's units.
    """
    states, newest, keys = list[State](), dict[str, str](), set[str]()
    units = [(unit, of) for of in (scope, *others) for unit in feed.units(of)]
    with HttpClient(feed.provider, store, "replay") as client:
        for unit, of in units:
            request = first_request(feed, unit)
            key = request.key(feed.provider.name) if request else ""
            taken = store.instants(feed.provider.name, key) if request and key not in keys else []
            keys.add(key)
            if taken and of is scope:
                newest[unit.name] = _name(key, taken[-1])
            for at, following in pairwise([*taken, None]):
                if at is None or _name(key, at) in read or _asked_again(feed, store, key, at, following):
                    continue
                states.append(_state(feed, unit, of, client, store, _name(key, at), following))
    rounds: list[list[State]] = []
    for state in sorted(states, key=lambda state: state.until):
        batch = rounds[-1] if rounds else []
        again = any(state.unit.name == earlier.unit.name or state.scope != earlier.scope for earlier in batch)
        if not batch or again or state.until > batch[-1].until + SITTING:
            rounds.append([state])
        else:
            batch.append(state)
    return rounds, newest


def _asked_again(feed: Feed, store: CaptureStore, key: str, at: int, following: int | None) -> bool:
    """Return whether an answer was refused and requested again in the same session. The later answer is then used."""
    if following is None or following > at + SITTING:
        return False
    capture = next(store.until(clock.from_micros(at)).newest_first(feed.provider.name, key))
    return feed.provider.judge(capture) != OK


def first_request(feed: Feed, unit: Unit) -> Request | None:
    """Return the first request of a unit, or None."""

    def fetch(request: Request) -> Capture:
        raise _FirstRequest(request)

    try:
        next(iter(feed.collect(unit, fetch)), None)
    except _FirstRequest as first_request:
        return first_request.request
    return None


def _state(
    feed: Feed, unit: Unit, scope: Scope, client: HttpClient, store: CaptureStore, capture: str, following: int | None
) -> State:
    """Return the state that starts with a capture: the answers of its session, up to the start of the next state."""
    until = taken_at(capture)
    while True:
        keys: set[str] = set()

        def fetch(request: Request, keys: set[str] = keys) -> Capture:
            keys.add(request.key(feed.provider.name))
            return client.fetch(request)

        client.store = store.until(clock.from_micros(until))
        with suppress(AnswerRefused, NotCaptured, Unparsable):
            for _ in feed.collect(unit, fetch):
                pass
        later = [instant for key in keys for instant in store.instants(feed.provider.name, key) if instant > until]
        own = [
            instant for instant in later if instant <= until + SITTING and (following is None or instant < following)
        ]
        if not own:
            return State(unit, scope, capture, until, newest=not later)
        until = min(own)
