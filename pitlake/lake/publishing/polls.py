"""Polls: when runs read a dataset's source, and which part of it. A run without changes writes only its poll.

If a poll saw a record with different content, the source did not have the new content yet. `diff` uses this to date
rows. A poll is written before its commit, because it saw the source even if nothing is published. It is confirmed after
the commit. Only then are all its records in the lake, so that a missing record proves something. Polls belong to no
version. A file's name contains the instants and days of its polls, so that few files are read. Small files are merged.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cached_property

from pitlake import clock
from pitlake.errors import LakeError
from pitlake.lake.storage.parallel import each
from pitlake.lake.storage.store import Store

POLLS = "_lake/polls"
MOST_FILES = 32  # files that are not full
MOST_POLLS = 1_024  # in a file
NEVER, FOREVER = -(2**63), 2**63 - 1
_NAME = re.compile(r"(\d+)-(\d+)_(?:all|(\d{4}-\d\d-\d\d)_(\d{4}-\d\d-\d\d))_(\d+)_[0-9a-f]{32}\.json")

Spans = tuple[tuple[str, str], ...]
Bounds = tuple[tuple[str, str | None, str | None], ...]


@dataclass(frozen=True)
class Coverage:
    """A part of a source that a poll saw completely.

    entities: values of the contract's entity column; None for all. bounds: columns with their first and last value as
    strings (both inclusive; None means unbounded). A date or an instant is its New York day.
    """

    entities: frozenset[str] | None = None
    bounds: Bounds = ()


@dataclass(frozen=True)
class Poll:
    """One completed poll: its time (in microseconds) and its run.

    days: spans of New York days, both ends included, as YYYY-MM-DD; None for all. entities: values of the contract's
    entity column; None for all. Each poll covers records without a day. coverage: the parts of the source that the
    poll saw completely. is_empty: whether it found neither rows nor gaps. confirmed: whether its run was published.
    """

    observed: int
    run_id: str
    days: Spans | None = None
    entities: frozenset[str] | None = None
    coverage: tuple[Coverage, ...] = ()
    is_empty: bool = True
    confirmed: bool = False

    def saw(self, day: str | None, entity: str | None) -> bool:
        """Return whether the poll covered this day and this entity; None matches any."""
        return (day is None or self.days is None or any(first <= day <= last for first, last in self.days)) and (
            entity is None or self.entities is None or entity in self.entities
        )


@dataclass(frozen=True)
class _File:
    """The polls in a file, by its name: first and last instant, first and last day (None: all), and number."""

    key: str
    first: int
    last: int
    days: tuple[str, str] | None
    polls: int

    def may_know(self, day: str | None) -> bool:
        """Return whether one of the file's polls may have seen this day."""
        return day is None or self.days is None or self.days[0] <= day <= self.days[1]


class Polls:
    """The polls of one dataset, before and after one instant. Files are read when first needed."""

    def __init__(
        self,
        store: Store,
        dataset: str,
        at: datetime,
        exclude_run: str = "",
        ignored: Collection[str | tuple[int, str]] = (),
    ) -> None:
        """`exclude_run`: the run whose own poll at that instant is ignored. ignored: runs, or single polls as (instant,
        run), that do not count.
        """
        self._store, self._dataset, self._own = store, dataset, (clock.micros(at), exclude_run)
        self._ignored = ignored
        self._closest: dict[tuple[str | None, str | None], tuple[int, int]] = {}
        self._read: dict[_File, list[Poll]] = {}

    def last(self, day: str | None = None, entity: str | None = None) -> int:
        """Return the last poll of a day and an entity up to the instant, in microseconds, or NEVER."""
        return self._edges(day, entity)[0]

    def next(self, day: str | None = None, entity: str | None = None) -> int:
        """Return the first poll of a day and an entity after the instant, in microseconds, or FOREVER."""
        return self._edges(day, entity)[1]

    @property
    def newest(self) -> bool:
        """Return whether no poll was made after the instant."""
        return self.next() == FOREVER

    @cached_property
    def coverage(self) -> list[tuple[int, Coverage]]:
        """Return the parts of the source that polls at other instants saw completely, with their instants."""
        return [(poll.observed, part) for poll in self._others for part in poll.coverage]

    @property
    def found_nothing(self) -> bool:
        """Return whether a poll at another instant saw a part of the source completely and found nothing in it."""
        return any(poll.is_empty for poll in self._others if poll.coverage)

    @cached_property
    def _others(self) -> list[Poll]:
        polls = read_all(self._store, self._dataset)
        return [poll for poll in polls if poll.observed != self._own[0] and self._counts(poll)]

    def _counts(self, poll: Poll) -> bool:
        return poll.run_id not in self._ignored and (poll.observed, poll.run_id) not in self._ignored

    def _edges(self, day: str | None, entity: str | None) -> tuple[int, int]:
        place, at = (day, entity), self._own[0]
        while place not in self._closest:
            last, after = NEVER, FOREVER
            try:
                files = [file for file in self._files if file.may_know(day)]
                for file in sorted(files, key=lambda file: file.last, reverse=True):
                    if file.first <= at and file.last > last:
                        last = max([last, *(instant for instant in self._seen(file, day, entity) if instant <= at)])
                for file in sorted(files, key=lambda file: file.first):
                    if file.last > at and file.first < after:
                        after = min([after, *(instant for instant in self._seen(file, day, entity) if instant > at)])
                self._closest[place] = last, after
            except FileNotFoundError:  # Another writer has merged this file.
                del self._files
        return self._closest[place]

    def _seen(self, file: _File, day: str | None, entity: str | None) -> Iterator[int]:
        if file not in self._read:
            self._read[file] = _parse(self._store, file)
        for poll in self._read[file]:
            if poll.saw(day, entity) and (poll.observed, poll.run_id) != self._own and self._counts(poll):
                yield poll.observed

    @cached_property
    def _files(self) -> list[_File]:
        return _files(self._store, self._dataset)


def spans(days: Iterable[str]) -> Spans:
    """Return days as contiguous spans, in order."""
    merged: list[tuple[str, str]] = []
    for day in sorted(days):
        before = (date.fromisoformat(day) - timedelta(days=1)).isoformat()
        if merged and merged[-1][1] == before:
            merged[-1] = merged[-1][0], day
        else:
            merged.append((day, day))
    return tuple(merged)


def write(store: Store, dataset: str, poll: Poll) -> str:
    """Write a poll unless it exists, and return its file. Raises LakeError if the lake can't be written."""
    key = _write(store, dataset, [poll])
    loose = [file for file in _files(store, dataset) if file.polls < MOST_POLLS]
    if len(loose) > MOST_FILES:
        with suppress(FileNotFoundError):  # Another writer is merging these files.
            every = _read(store, loose)[::-1]
            parts = [every[start : start + MOST_POLLS] for start in range(0, len(every), MOST_POLLS)]
            folded = {_write(store, dataset, part) for part in parts}
            store.delete(*(file.key for file in loose if file.key not in folded))
    return key


def confirm(store: Store, dataset: str, poll: Poll, key: str) -> None:
    """Record that the run of a poll was published. key: the poll's file. Raises LakeError."""
    _write(store, dataset, [replace(poll, confirmed=True)])
    store.delete(key)


def read_all(store: Store, dataset: str) -> list[Poll]:
    """Return every poll of a dataset, newest first."""
    while True:
        with suppress(FileNotFoundError):  # Another writer has merged these files.
            return _read(store, _files(store, dataset))


def _files(store: Store, dataset: str) -> list[_File]:
    files = []
    for key in (file.key for file in store.walk(f"{POLLS}/{dataset}")):
        name = _NAME.fullmatch(key.rpartition("/")[2])
        if name is None:
            raise LakeError(f"{key} is not named as polls are; restore its name, or the file from a copy of the lake")
        first, last, since, until, polls = name.groups()
        files.append(_File(key, int(first), int(last), (since, until) if since else None, int(polls)))
    return files


def _read(store: Store, files: Iterable[_File]) -> list[Poll]:
    unique = {poll for polls in each(lambda file: _parse(store, file), files) for poll in polls}
    unique -= {replace(poll, confirmed=False) for poll in unique if poll.confirmed}
    return sorted(unique, key=lambda poll: (poll.observed, poll.run_id), reverse=True)


def _write(store: Store, dataset: str, polls: list[Poll]) -> str:
    # Many polls have the same entities, so each set of entities is written once and referenced by its number.
    sets: dict[frozenset[str], int] = {}

    def number_of(entities: frozenset[str] | None) -> int | None:
        return None if entities is None else sets.setdefault(entities, len(sets))

    facts = [
        [
            poll.observed,
            poll.run_id,
            poll.days,
            number_of(poll.entities),
            [[number_of(part.entities), part.bounds] for part in poll.coverage],
            poll.is_empty,
            poll.confirmed,
        ]
        for poll in polls
    ]
    content = json.dumps({"entities": [sorted(names) for names in sets], "polls": facts}).encode()
    moments = [poll.observed for poll in polls]
    days = [day for poll in polls for span in poll.days or () for day in span]
    of_all = not days or any(poll.days is None for poll in polls)
    spans_name = f"{min(moments)}-{max(moments)}_{'all' if of_all else f'{min(days)}_{max(days)}'}"
    key = f"{POLLS}/{dataset}/{spans_name}_{len(polls)}_{_digest(content)}.json"
    store.put_new(key, content)
    return key


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _parse(store: Store, file: _File) -> list[Poll]:
    content = store.read(file.key)
    if not file.key.endswith(f"{_digest(content)}.json"):
        raise LakeError("a file of polls is damaged; restore the file from a copy of the lake")
    facts = json.loads(content)
    sets = [frozenset(names) for names in facts["entities"]]

    def entities_of(number: int | None) -> frozenset[str] | None:
        return None if number is None else sets[number]

    return [
        Poll(
            observed,
            run_id,
            None if days is None else tuple(map(tuple, days)),
            entities_of(entities),
            tuple(Coverage(entities_of(of), tuple(map(tuple, bounds))) for of, bounds in coverage),
            *outcome,  # Older polls lack it. They count as empty and unconfirmed, which dates nothing early.
        )
        for observed, run_id, days, entities, coverage, *outcome in facts["polls"]
    ]
