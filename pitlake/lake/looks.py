"""Looks: when runs looked at a dataset's source, and at what of it. A run that finds all unchanged leaves this alone.

Who saw a record with other content at some instant knows that the new one was not there yet. What is dated by that is
decided in diff. A look is kept before its commit, since it saw the source even if nothing of it was published; no
version shows looks. Small files, folded into one when they are many. Written by publish, read by it and by the report.
"""

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property

from pitlake import clock
from pitlake.errors import LakeError
from pitlake.lake.parallel import each
from pitlake.lake.store import Store

LOOKS = "_lake/looks"
MOST_FILES = 32
NEVER, FOREVER = -(2**63), 2**63 - 1

Spans = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Look:
    """One completed look: when (microseconds) and by which run.

    days: spans of New York days, both ends included, as YYYY-MM-DD; None for all there are. entities: of the contract's
    entity column; None for all there are. What no day is known of was looked at by every look.
    """

    observed: int
    run_id: str
    days: Spans | None = None
    entities: frozenset[str] | None = None

    def saw(self, day: str | None, entity: str | None) -> bool:
        """Whether it looked at this day and this entity; None leaves it open."""
        return (day is None or self.days is None or any(first <= day <= last for first, last in self.days)) and (
            entity is None or self.entities is None or entity in self.entities
        )


class Looks:
    """The looks at one dataset as seen from one instant; read when first asked for."""

    def __init__(self, store: Store, dataset: str, at: datetime, but: str = "") -> None:
        """`but`: the run whose look at that very instant is left out, for it is the one that asks."""
        self._store, self._dataset, self._own = store, dataset, (clock.micros(at), but)
        self._known: dict[tuple[str | None, str | None], tuple[int, int]] = {}

    def last(self, day: str | None = None, entity: str | None = None) -> int:
        """The last look at a day and an entity up to the instant, in microseconds; NEVER where there was none."""
        return self._edges(day, entity)[0]

    def next(self, day: str | None = None, entity: str | None = None) -> int:
        """The first such look after the instant; FOREVER where there is none."""
        return self._edges(day, entity)[1]

    @property
    def newest(self) -> bool:
        """Whether no look was made after the instant."""
        return not self._kept or self._kept[0].observed <= self._own[0]

    def _edges(self, day: str | None, entity: str | None) -> tuple[int, int]:
        asked = day, entity
        if asked not in self._known:
            found, at = [look.observed for look in self._kept if look.saw(*asked)], self._own[0]
            last, after = (one for one in found if one <= at), (one for one in found if one > at)
            self._known[asked] = max(last, default=NEVER), min(after, default=FOREVER)
        return self._known[asked]

    @cached_property
    def _kept(self) -> list[Look]:
        every = kept(self._store, self._dataset)
        return [look for look in every if (look.observed, look.run_id) != self._own]


def spans(days: Iterable[str]) -> Spans:
    """Days as spans without holes, in order."""
    found: list[tuple[str, str]] = []
    for day in sorted(days):
        before = (date.fromisoformat(day) - timedelta(days=1)).isoformat()
        if found and found[-1][1] == before:
            found[-1] = found[-1][0], day
        else:
            found.append((day, day))
    return tuple(found)


def keep(store: Store, dataset: str, look: Look) -> None:
    """Keep a look, once however often it is told. Raises LakeError when the lake can't be written."""
    _put(store, dataset, [look])
    loose = _keys(store, dataset)
    if len(loose) > MOST_FILES:
        with suppress(FileNotFoundError):  # another writer folds them
            folded = _put(store, dataset, _read(store, loose))
            for key in loose:
                if key != folded:
                    store.delete(key)


def kept(store: Store, dataset: str) -> list[Look]:
    """Every look at a dataset, newest first."""
    while True:
        with suppress(FileNotFoundError):  # folded meanwhile
            return _read(store, _keys(store, dataset))


def _keys(store: Store, dataset: str) -> list[str]:
    return [file.key for file in store.walk(f"{LOOKS}/{dataset}")]


def _read(store: Store, keys: Iterable[str]) -> list[Look]:
    found = {look for looks in each(lambda key: _parsed(store.read(key)), keys) for look in looks}
    return sorted(found, key=lambda look: (look.observed, look.run_id), reverse=True)


def _put(store: Store, dataset: str, looks: Iterable[Look]) -> str:
    """Looks as a file named by its content; returns its key. Many look at the same entities: each set is told once."""
    sets: dict[frozenset[str], int] = {}
    told = [
        [one.observed, one.run_id, one.days, None if one.entities is None else sets.setdefault(one.entities, len(sets))]
        for one in looks
    ]
    content = json.dumps({"entities": [sorted(names) for names in sets], "looks": told}).encode()
    key = f"{LOOKS}/{dataset}/{hashlib.sha256(content).hexdigest()[:32]}.json"
    store.put_new(key, content)
    return key


def _parsed(content: bytes) -> list[Look]:
    try:
        told = json.loads(content)
        entities = [frozenset(names) for names in told["entities"]]
        return [
            Look(
                observed,
                run_id,
                None if days is None else tuple(map(tuple, days)),
                None if of is None else entities[of],
            )
            for observed, run_id, days, of in told["looks"]
        ]
    except (ValueError, TypeError, KeyError, IndexError):
        raise LakeError("a kept look is damaged; restore the file from a copy of the lake") from None
