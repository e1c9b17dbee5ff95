"""Documents at a source and their changes: each is a sequence of dated states, generated from a seed.

A kind defines how a document begins and how it may be edited. `graph` and `outside` decide what a poll finds of
a document; `judge` decides what the lake should make of it.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from random import Random
from typing import Any

from pitlake.clock import NEW_YORK

State = dict[str, Any]
Edit = Callable[[State, Random, datetime], None]

FIRST, LAST = datetime(2024, 3, 4, 5, tzinfo=timezone.utc), datetime(2024, 6, 24, 4, tzinfo=timezone.utc)
LATE_SHARE, VANISHING_SHARE, EDITS = 0.25, 0.12, 8
WEEKEND = 5


@dataclass(frozen=True)
class Kind:
    """A kind of documents: `born` creates one, and `edits` are its possible changes by name."""

    name: str
    born: Callable[[int, Random, datetime], State]
    edits: Mapping[str, Edit]


@dataclass(frozen=True)
class Event:
    """A change to the source: from `at` on it contains `state`, or nothing if that is None."""

    at: datetime
    what: str
    state: State | None


@dataclass(frozen=True)
class Document:
    """A document and its changes over time."""

    kind: Kind
    number: int
    events: tuple[Event, ...]

    def at(self, moment: datetime) -> State | None:
        """Return the state that the source has at an instant."""
        content = None
        for event in self.events:
            if event.at <= moment:
                content = event.state
        return content

    def story(self) -> list[str]:
        """Return the document's changes, one line each."""
        return [f"{event.at:%Y-%m-%d %H:%M} {self.kind.name} {self.number} {event.what}" for event in self.events]


def life(kind: Kind, number: int, seed: str) -> Document:
    """Return a document of a kind, always the same one for a number and seed."""
    rng = Random(f"{seed}/{kind.name}/{number}")
    published = at_work(rng, FIRST, FIRST + (LAST - FIRST) * 0.5)
    state = kind.born(number, rng, published)
    late = rng.random() < LATE_SHARE
    at = published + (timedelta(days=rng.uniform(1, 70)) if late else timedelta(seconds=rng.randrange(1, 600)))
    events = [Event(at, f"appears, published {published:%Y-%m-%d %H:%M}", state)]
    gone = False
    for _ in range(rng.randrange(EDITS + 1)):
        at += timedelta(days=rng.expovariate(1 / 10), seconds=rng.randrange(1, 3600))
        if at >= LAST:
            break
        if gone or rng.random() < VANISHING_SHARE:
            gone = not gone
            events.append(Event(at, "vanishes" if gone else "returns", None if gone else state))
            continue
        state = copy.deepcopy(state)
        what = rng.choice(sorted(kind.edits))
        kind.edits[what](state, rng, at)
        events.append(Event(at, what, state))
    return Document(kind, number, tuple(events))


def at_work(rng: Random, lo: datetime, hi: datetime) -> datetime:
    """Return a random whole second between two instants, on a weekday."""
    while True:
        result = lo + timedelta(seconds=rng.randrange(int((hi - lo).total_seconds())))
        if result.astimezone(NEW_YORK).weekday() < WEEKEND:
            return result


def weekday(day: date) -> date:
    """Return the day, or the next Monday if it is on a weekend."""
    return day if day.weekday() < WEEKEND else day + timedelta(days=7 - day.weekday())


def new_york(day: date, *clock: int) -> datetime:
    """Return the instant at which New York's clocks show this time."""
    return datetime.combine(day, time(*clock), NEW_YORK)


def spelled(moment: datetime, how: str) -> str:
    """Return an instant as sources write it. "wrong" is New York's time marked as UTC, as EDGAR once wrote it."""
    there = moment.astimezone(NEW_YORK)
    if how == "utc":
        return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    if how == "wrong":
        return there.strftime("%Y-%m-%dT%H:%M:%SZ")
    return there.strftime("%Y-%m-%d %H:%M:%S%z") if how == "blank" else there.isoformat(timespec="seconds")


def moved(rng: Random, moment: datetime) -> datetime:
    """Return a date moved back or forward, by a little or a lot."""
    away = rng.choice((60, 3600, 86_400, 20 * 86_400)) * rng.uniform(-1, 1)
    return moment + timedelta(seconds=int(away))


def claimed(rng: Random, before: datetime, now: datetime) -> datetime:
    """Return the time that a source gives for a change at `now`: usually one since `before`, else one around it."""
    between = before + timedelta(seconds=int((now - before).total_seconds() * rng.random()))
    return rng.choice((between, between, moved(rng, before)))


def flip(state: State, rng: Random, _at: datetime) -> None:
    """Change the format in which the source writes its instants."""
    state["clock"] = rng.choice([how for how in ("ny", "utc", "wrong") if how != state["clock"]])


def setting(name: str, make: Callable[[Random], Any]) -> Edit:
    """Return an edit that changes the value of a field."""

    def edit(state: State, rng: Random, _at: datetime) -> None:
        state[name] = make(rng)

    return edit
