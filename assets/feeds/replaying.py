"""Which captures of a scope the lake has not read, and in which rounds they are replayed: in the order they were taken.

Each capture of a unit's first request begins a state: what the source said then. What was asked in the same sitting
belongs to it, what was captured later does not. States of several units that were taken in one sitting are one round.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from assets.feeds.feed import Feed, Unit
from pitlake import clock
from pitlake.errors import AnswerRefused, BadInput, NotCaptured, Unparsable
from pitlake.lake.lake import Lake
from resources.http.capture import Capture, CaptureStore, Request
from resources.http.client import HttpClient
from resources.http.provider import OK

SITTING = clock.micros(clock.EPOCH + timedelta(minutes=15))
"""The longest pause between two answers of one sitting, in microseconds: Retry-After is followed for five minutes."""


@dataclass(frozen=True)
class State:
    """What a source said of a unit when `capture` was taken. until: when the last of its answers was, in microseconds.
    newest: whether no later answer to any of its requests is there.
    """

    unit: Unit
    capture: str
    until: int
    newest: bool


class _Asked(Exception):
    """No error: it ends a unit at its first request."""

    def __init__(self, request: Request) -> None:
        super().__init__()
        self.request = request


def name(capture: Capture) -> str:
    """Return the name that tells a capture from the others of its request."""
    return _name(capture.request_key, clock.micros(capture.fetched_at))


def _name(request_key: str, micros: int) -> str:
    return f"{request_key}-{micros}"


def taken_at(capture: str) -> int:
    """Return when a capture of this name was taken, in microseconds."""
    return int(capture.rpartition("-")[2])


def read_by(lake: Lake, dataset: str, store: CaptureStore) -> frozenset[str]:
    """Return the captures that began a state which the lake has read."""
    captures: set[str] = set()
    for run_id in {poll.run_id for poll in lake.polls(dataset)}:
        with suppress(BadInput):  # its captures are elsewhere
            captures.update(store.run(run_id, dataset).get("read", ()))
    return frozenset(captures)


def unread_rounds(
    feed: Feed, units: Sequence[Unit], store: CaptureStore, read: frozenset[str]
) -> tuple[list[list[State]], Mapping[str, str]]:
    """Return the rounds of states that were not read, in the order they were taken; and the newest capture of each
    unit.
    """
    states, newest = list[State](), dict[str, str]()
    with HttpClient(feed.provider, store, "replay") as client:
        for unit in units:
            request = first_request(feed, unit)
            key = request.key(feed.provider.name) if request else ""
            taken = store.instants(feed.provider.name, key) if request else []
            if taken:
                newest[unit.name] = _name(key, taken[-1])
            for at, following in pairwise([*taken, None]):
                if at is None or _name(key, at) in read or _asked_again(feed, store, key, at, following):
                    continue
                states.append(_state(feed, unit, client, store, _name(key, at), at, following))
    return list(_rounds(states)), newest


def _asked_again(feed: Feed, store: CaptureStore, key: str, at: int, following: int | None) -> bool:
    """Whether an answer was refused and the question put again in the same sitting: what came then is what was said."""
    if following is None or following > at + SITTING:
        return False
    capture = next(store.until(clock.from_micros(at)).newest_first(feed.provider.name, key))
    return feed.provider.judge(capture) != OK


def first_request(feed: Feed, unit: Unit) -> Request | None:
    """Return what a unit asks first, None for one that asks nothing."""

    def fetch(request: Request) -> Capture:
        raise _Asked(request)

    try:
        next(iter(feed.collect(unit, fetch)), None)
    except _Asked as first_request:
        return first_request.request
    return None


def _state(
    feed: Feed, unit: Unit, client: HttpClient, store: CaptureStore, capture: str, at: int, following: int | None
) -> State:
    """The state that a capture begins: its own answers are those of its sitting, before the next state begins."""
    until = at
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
            return State(unit, capture, until, newest=not later)
        until = min(own)


def _rounds(states: Sequence[State]) -> Iterator[list[State]]:
    batch: list[State] = []
    for state in sorted(states, key=lambda state: state.until):
        again = any(state.unit.name == earlier.unit.name for earlier in batch)
        if batch and (again or state.until > batch[-1].until + SITTING):
            yield batch
            batch = []
        batch.append(state)
    if batch:
        yield batch
