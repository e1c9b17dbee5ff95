"""The journal: every write is stored here first, as one row of a chain with strictly increasing instants.

A call writes all of its rows or none, and only once. A repeated call returns the rows that it wrote. The database is
SQLite or Postgres.
"""

import hashlib
import uuid
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

from forge.core.clock import Clock, Finished, live
from forge.core.errors import CallDiffers, ClockBehind, ClocksMixed, Stale
from forge.memory import chain
from forge.memory.admission import admit
from forge.memory.chain import Row
from forge.memory.tables import COLUMNS, JOURNAL, META, Database, Execute
from forge.records import KINDS, kind_of_path
from pitlake.clock import from_micros, iso, micros
from pitlake.errors import BadInput

FILES = "files"
OWN_IDS = 10**8
"""Ids from this number on belong to turns that decide an event."""
JITTER = timedelta(seconds=1)
_ROWS = f"SELECT {', '.join(COLUMNS)} FROM {JOURNAL} WHERE"
_HEAD = f"SELECT seq, written_at, chain FROM {JOURNAL} ORDER BY seq DESC LIMIT 1"
_NAME = f"INSERT INTO {META} (one, journal, clock) VALUES (1, ?, ?)"
_INSERT = f"INSERT INTO {JOURNAL} ({', '.join(COLUMNS)}, number) VALUES ({'?, ' * len(COLUMNS)}?)"


@dataclass(frozen=True, kw_only=True)
class WriteCall:
    """The writer and its call.

    call_id: an id that is unique in the session. event: the event to be decided, or "". request_hash: the hash of the
    call's request. after: the turn's instant in microseconds; all writes are later.
    """

    actor: str
    session: str
    call_id: str
    event: str = ""
    request_hash: str = ""
    after: int = 0


class Journal:
    """A journal, created on first use.

    place: a file, or a URL: sqlite:///<path> or postgresql://user:password@host/database. Raises ClocksMixed if it
    belongs to another clock, BadInput if it can't be opened.
    """

    def __init__(self, place: str | Path, clock: Clock | None = None) -> None:
        self.clock = clock or live()
        url = str(place) if "://" in str(place) else f"sqlite:///{Path(place).absolute()}"
        if "://" not in str(place):
            Path(place).absolute().parent.mkdir(parents=True, exist_ok=True)
        self.database = Database(url)
        with self.database.writing() as execute:
            names = execute(f"SELECT journal, clock FROM {META}")
            if not names:
                names = [(uuid.uuid4().hex, self.clock.name)]
                execute(_NAME, *names[0])
        ((self.name, clock_name),) = names
        if clock_name != self.clock.name:
            raise ClocksMixed("this journal", clock_name, self.clock.name)
        self.start = chain.start(self.name, self.clock.name)

    def require_writable(self) -> None:
        """Raise BadInput if the memory is read-only, for example after a finished backtest."""
        if isinstance(self.clock, Finished):
            raise BadInput("memory", f"of {self.clock.name} is read-only", "select the live one with FORGE_LAKE")

    def write(self, call: WriteCall, work: "Callable[[Writing], None]") -> tuple[Row, ...]:
        """Run `work`, which writes, in one transaction. Return the rows in order.

        If the call has already written, return its rows without running `work`. Raises CallDiffers, the errors of
        `work`, ClockBehind, and BadInput if the memory is read-only, for example after a finished backtest.
        """
        self.require_writable()
        with self.database.writing() as execute:
            before = execute(f"{_ROWS} session = ? AND call_id = ? ORDER BY seq", call.session, call.call_id)
            if before:
                rows = tuple(Row(*stored) for stored in before)
                if {row.request_hash for row in rows} != {call.request_hash}:
                    raise CallDiffers(call.call_id)
                return rows
            writing = Writing(self, execute, call)
            work(writing)
            return tuple(writing.rows)

    def append(self, path: str, content: str, call: WriteCall, based_on: int | None = None) -> Row:
        """Write one text. based_on: the seq of the newest write that the caller has read at that path, 0 for none.

        Raises Stale, ContentRefused and the errors of `write`.
        """
        hashed_call = replace(call, request_hash=call.request_hash or digest(path, content))
        return self.write(hashed_call, lambda writing: writing.put(path, content, based_on=based_on))[0]

    def head(self) -> tuple[int, str]:
        """Return the newest row's seq and hash; for an empty journal, 0 and its start."""
        with self.database.reading() as execute:
            last = execute(_HEAD)
        return (last[0][0], last[0][2]) if last else (0, self.start)

    def rows(self, after: int = 0, until: int | None = None) -> list[Row]:
        """Return the rows with a seq above `after` that were written at or before `until` (microseconds), in order,
        without checking their hashes.

        The following row is included, because its copy of the last hash proves that row.
        """
        chosen, values = f"{_ROWS} seq > ?", [after]
        if until is not None:
            following = f"SELECT min(seq) FROM {JOURNAL} WHERE seq > ? AND written_at > ?"
            chosen, values = f"{chosen} AND (written_at <= ? OR seq = ({following}))", [after, until, after, until]
        with self.database.reading() as execute:
            return [Row(*row) for row in execute(f"{chosen} ORDER BY seq", *values)]

    def written_by(self, session: str, calls: str) -> list[Row]:
        """Return the rows of a session's calls whose ids start with `calls`, in order and unchecked."""
        chosen = f"{_ROWS} session = ? AND substr(call_id, 1, ?) = ? ORDER BY seq"
        with self.database.reading() as execute:
            return [Row(*row) for row in execute(chosen, session, len(calls), calls)]

    def refill(self, name: str, rows: Iterable[Row]) -> None:
        """Restore the journal of that name with its rows. Raises BadInput if the journal already has rows."""
        with self.database.writing() as execute:
            if execute(_HEAD):
                raise BadInput("journal", "is not empty", "give an empty journal to rebuild into")
            self.database.drop(execute)
            self.database.create(execute)
            execute(_NAME, name, self.clock.name)
            for row in rows:
                execute(_INSERT, *astuple(row), _number(row.path))
        self.name, self.start = name, chain.start(name, self.clock.name)

    def copy(self, place: Path, until: datetime) -> None:
        """Copy the rows up to an instant to a journal of the same name in a new SQLite file."""
        with self.database.reading() as execute:
            rows = execute(f"{_ROWS} written_at <= ? ORDER BY seq", micros(until))
        target = Database(f"sqlite:///{place}")
        with target.writing() as execute:
            execute(_NAME, self.name, self.clock.name)
            for row in rows:
                execute(_INSERT, *row, _number(row[COLUMNS.index("path")]))
        target.close()

    def close(self) -> None:
        """Close the connections."""
        self.database.close()


class Writing:
    """The transaction of one call. Until it ends, no other call writes, and reads see the newest rows."""

    def __init__(self, journal: Journal, execute: Execute, call: WriteCall) -> None:
        self.rows: list[Row] = []
        self._execute, self._call, self._clock = execute, call, journal.clock
        last: tuple[int, int, str] = next(iter(execute(_HEAD)), (0, 0, journal.start))
        self._seq, self._at, self._chain = last

    def put(self, path: str, content: str, *, based_on: int | None = None, cause: str = "") -> None:
        """Write a text at a path, unless `cause` already had its effect.

        Raises Stale if the path's newest write is not `based_on`, ContentRefused.
        """
        if cause and self._has("cause", cause):
            return
        admit(content)
        if based_on is not None:
            newest = self.newest(path)
            if based_on != (newest.seq if newest else 0):
                raise Stale(path)
        kind = kind_of_path(path)
        now = micros(self._clock.now())
        if now + JITTER // timedelta(microseconds=1) < self._at:
            raise ClockBehind(iso(from_micros(now)), iso(from_micros(self._at)))
        row = chain.link(
            Row(
                seq=self._seq + 1,
                written_at=max(self._at + 1, now, self._call.after + 1),
                path=path,
                kind=kind.name if kind else FILES,
                content=content,
                actor=self._call.actor,
                session=self._call.session,
                event=self._call.event,
                call_id=self._call.call_id,
                part=len(self.rows),
                request_hash=self._call.request_hash,
                cause=cause,
            ),
            self._chain,
        )
        self._execute(_INSERT, *astuple(row), _number(path))
        self._seq, self._at, self._chain = row.seq, row.written_at, row.chain
        self.rows.append(row)

    def next_id(self, kind: str) -> str:
        """Return the next id of a kind: one more than the highest ever used.

        In a turn that decides an event, such ids would reveal how many records were written later. Such a turn gets
        far higher ids, which are derived from its session and a counter.
        """
        record_kind, session = KINDS[kind], self._call.session
        if self._call.event:
            mine = self._newest("kind = ? AND session = ?", kind, session)
            numbers = (int(digest(session, kind, str(n))[:12], 16) for n in count(len({row.path for row in mine})))
            names = (f"{record_kind.prefix}-{OWN_IDS + number % (9 * OWN_IDS)}" for number in numbers)
            return next(name for name in names if not self._has("path", record_kind.path(name)))
        ((most,),) = self._execute(f"SELECT max(number) FROM {JOURNAL} WHERE kind = ? AND number < ?", kind, OWN_IDS)
        return f"{record_kind.prefix}-{(most or 0) + 1:03d}"

    def newest(self, path: str) -> Row | None:
        """Return the newest write at a path, ignoring other attempts at the call's event."""
        return next(iter(self._newest("path = ?", path, most=1)), None)

    def all_of(self, kind: str) -> list[Row]:
        """Return the newest write of every record of a kind."""
        ranked = self._newest("kind = ?", kind)
        return list({row.path: row for row in reversed(ranked)}.values())

    def _newest(self, where: str, *values: object, most: int | None = None) -> list[Row]:
        chosen = f"{_ROWS} {where}"
        if self._call.event:
            chosen += " AND (event <> ? OR session = ?)"
            values += (self._call.event, self._call.session)
        limit = f" LIMIT {most}" if most else ""
        return [Row(*row) for row in self._execute(f"{chosen} ORDER BY seq DESC{limit}", *values)]

    def _has(self, column: str, value: str) -> bool:
        return bool(self._execute(f"SELECT seq FROM {JOURNAL} WHERE {column} = ? LIMIT 1", value))


def digest(*parts: str) -> str:
    """Return the hash of a call's request."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _number(path: str) -> int:
    kind = kind_of_path(path)
    return int(path.rpartition("-")[2].removesuffix(".md")) if kind and kind.prefix else 0
