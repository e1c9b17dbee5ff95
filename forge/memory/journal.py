"""The journal: the first place of every write. One row per write, with strictly rising instants in one chain.

A call writes all of its rows or none, and only once. A repeated call returns the rows that it wrote. SQLite or
Postgres.
"""

import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

import sqlalchemy as sa

from forge.core.clock import Clock, Finished, live
from forge.core.errors import CallDiffers, ClockBehind, ClocksMixed, Stale
from forge.memory import chain
from forge.memory.admission import admit
from forge.memory.chain import Row
from forge.memory.tables import JOURNAL, META, TABLES, engine
from forge.records import KINDS, kind_of_path
from pitlake.clock import from_micros, iso, micros
from pitlake.errors import BadInput

FILES = "files"
OWN_IDS = 10**8
"""Ids from this number on belong to turns that decide an event."""
JITTER = timedelta(seconds=1)
_COLUMNS = [JOURNAL.c[name] for name in Row.__dataclass_fields__]
_OF_CALL = (
    sa.select(*_COLUMNS)
    .where(JOURNAL.c.session == sa.bindparam("session"), JOURNAL.c.call_id == sa.bindparam("call_id"))
    .order_by(JOURNAL.c.seq)
)
_HEAD = sa.select(JOURNAL.c.seq, JOURNAL.c.written_at, JOURNAL.c.chain).order_by(JOURNAL.c.seq.desc()).limit(1)


@dataclass(frozen=True, kw_only=True)
class WriteCall:
    """The writer and its call.

    call_id: an id that is unique in its session. event: the event to be decided, or "". request_hash: the hash of the
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

    place: a file, or an SQLAlchemy URL of SQLite or Postgres. Raises ClocksMixed if it belongs to another clock,
    BadInput if it can't be opened.
    """

    def __init__(self, place: str | Path, clock: Clock | None = None) -> None:
        self.clock = clock or live()
        url = str(place) if "://" in str(place) else f"sqlite:///{Path(place).absolute()}"
        if "://" not in str(place):
            Path(place).absolute().parent.mkdir(parents=True, exist_ok=True)
        try:
            self._engine = engine(url)
            self.name, clock_name = self._identity()
        except (sa.exc.ArgumentError, sa.exc.OperationalError, ModuleNotFoundError) as problem:
            reason = " ".join(str(getattr(problem, "orig", problem)).split())[:200]
            raise BadInput(
                "journal", f"cannot be opened: {reason}", "see FORGE_JOURNAL in the deployment guide"
            ) from None
        if clock_name != self.clock.name:
            raise ClocksMixed("this journal", clock_name, self.clock.name)
        self.start = chain.start(self.name, self.clock.name)

    def write(self, call: WriteCall, work: "Callable[[Writing], None]") -> tuple[Row, ...]:
        """Run `work`, which writes, in one transaction. Return the rows in order.

        A call that has written already receives its rows again, and `work` does not run. Raises CallDiffers, the errors
        of `work`, ClockBehind, and BadInput if the memory is read-only, as that of a finished backtest.
        """
        if isinstance(self.clock, Finished):
            raise BadInput("memory", f"of {self.clock.name} is read-only", "select the live one with FORGE_LAKE")
        with self._engine.begin() as connection:
            before = connection.execute(_OF_CALL, {"session": call.session, "call_id": call.call_id}).all()
            if before:
                rows = tuple(Row(*stored) for stored in before)
                if {row.request_hash for row in rows} != {call.request_hash}:
                    raise CallDiffers(call.call_id)
                return rows
            writing = Writing(self, connection, call)
            work(writing)
            return tuple(writing.rows)

    def append(self, path: str, content: str, call: WriteCall, based_on: int | None = None) -> Row:
        """Write one text. based_on: the seq of the write that the caller has read at that path, 0 for none.

        Raises Stale, ContentRefused and the errors of `write`.
        """
        hashed_call = replace(call, request_hash=call.request_hash or digest(path, content))
        return self.write(hashed_call, lambda writing: writing.put(path, content, based_on=based_on))[0]

    def head(self) -> tuple[int, str]:
        """Return the newest row's seq and hash; for an empty journal, 0 and its start."""
        with self._reading() as connection:
            last = connection.execute(_HEAD).first()
        return (last.seq, last.chain) if last else (0, self.start)

    def rows(self, after: int = 0, until: int | None = None) -> list[Row]:
        """Return the rows with a seq above `after` that were written at or before `until` (microseconds), in order,
        without checking their hashes.

        The following row is included, because its copy of the last hash proves that row.
        """
        chosen = sa.select(*_COLUMNS).where(JOURNAL.c.seq > after).order_by(JOURNAL.c.seq)
        if until is not None:
            later = sa.select(sa.func.min(JOURNAL.c.seq)).where(JOURNAL.c.seq > after, JOURNAL.c.written_at > until)
            chosen = chosen.where(sa.or_(JOURNAL.c.written_at <= until, JOURNAL.c.seq == later.scalar_subquery()))
        with self._reading() as connection:
            return [Row(*row) for row in connection.execute(chosen)]

    def written_by(self, session: str, calls: str) -> list[Row]:
        """Return the rows of a session's calls whose ids start with `calls`, in order and unchecked."""
        chosen = sa.select(*_COLUMNS).where(
            JOURNAL.c.session == session, JOURNAL.c.call_id.startswith(calls, autoescape=True)
        )
        with self._reading() as connection:
            return [Row(*row) for row in connection.execute(chosen.order_by(JOURNAL.c.seq))]

    def refill(self, name: str, rows: Iterable[Row]) -> None:
        """Restore the journal of that name with its rows. Raises BadInput if it has rows already."""
        with self._engine.begin() as connection:
            if connection.execute(_HEAD).first():
                raise BadInput("journal", "is not empty", "give an empty journal to rebuild into")
            TABLES.drop_all(connection)
            TABLES.create_all(connection)
            connection.execute(sa.insert(META).values(one=1, journal=name, clock=self.clock.name))
            connection.execute(sa.insert(JOURNAL), [{**asdict(row), "number": _number(row.path)} for row in rows])
        self.name, self.start = name, chain.start(name, self.clock.name)

    def copy(self, place: Path, until: datetime) -> None:
        """Copy the rows up to an instant to a journal of the same name in a new SQLite file."""
        target = engine(f"sqlite:///{place}")
        chosen = sa.select(JOURNAL).where(JOURNAL.c.written_at <= micros(until)).order_by(JOURNAL.c.seq)
        with target.begin() as to, self._reading() as this:
            TABLES.create_all(to)
            for table, rows in ((META, this.execute(sa.select(META))), (JOURNAL, this.execute(chosen))):
                if values := [dict(row) for row in rows.mappings()]:
                    to.execute(sa.insert(table), values)
        target.dispose()

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            yield connection

    def _identity(self) -> tuple[str, str]:
        with self._engine.begin() as connection:
            TABLES.create_all(connection)
            row = connection.execute(sa.select(META.c.journal, META.c.clock)).first()
            if row is None:
                row = connection.execute(
                    sa.insert(META)
                    .values(one=1, journal=uuid.uuid4().hex, clock=self.clock.name)
                    .returning(META.c.journal, META.c.clock)
                ).one()
            return row.journal, row.clock


class Writing:
    """The transaction of one call. Until it ends, no other call writes, and reads see the newest rows."""

    def __init__(self, journal: Journal, connection: sa.Connection, call: WriteCall) -> None:
        self.rows: list[Row] = []
        self._connection, self._call, self._clock = connection, call, journal.clock
        last = connection.execute(_HEAD).first()
        self._seq: int = last.seq if last else 0
        self._at: int = last.written_at if last else 0
        self._chain: str = last.chain if last else journal.start

    def put(self, path: str, content: str, *, based_on: int | None = None, cause: str = "") -> None:
        """Write a text at a path. Does nothing if `cause` already had its effect.

        Raises Stale if the path's newest write is not `based_on`, ContentRefused.
        """
        if cause and self._has(JOURNAL.c.cause == cause):
            return
        admit(content)
        if based_on is not None:
            newest = self.newest(path)
            if based_on != (newest.seq if newest else 0):
                raise Stale(path)
        kind = kind_of_path(path)
        row = chain.link(
            Row(
                seq=self._seq + 1,
                written_at=self._next_instant(),
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
        self._connection.execute(sa.insert(JOURNAL), {**asdict(row), "number": _number(path)})
        self._seq, self._at, self._chain = row.seq, row.written_at, row.chain
        self.rows.append(row)

    def next_id(self, kind: str) -> str:
        """Return the next id of a kind: one more than the highest ever used.

        In a turn that decides an event, such ids would reveal how many records were written later. The ids of such a
        turn are therefore derived from its session and the number of its ids, and are far higher.
        """
        record_kind, session = KINDS[kind], self._call.session
        if self._call.event:
            mine = self._newest((JOURNAL.c.kind == kind) & (JOURNAL.c.session == session))
            numbers = (int(digest(session, kind, str(n))[:12], 16) for n in count(len({row.path for row in mine})))
            names = (f"{record_kind.prefix}-{OWN_IDS + number % (9 * OWN_IDS)}" for number in numbers)
            return next(name for name in names if not self._has(JOURNAL.c.path == record_kind.path(name)))
        numbered = (JOURNAL.c.kind == kind) & (JOURNAL.c.number < OWN_IDS)
        most = self._connection.execute(sa.select(sa.func.max(JOURNAL.c.number)).where(numbered)).scalar_one()
        return f"{record_kind.prefix}-{(most or 0) + 1:03d}"

    def newest(self, path: str) -> Row | None:
        """Return the newest write at a path, ignoring other attempts at the call's event."""
        return next(iter(self._newest(JOURNAL.c.path == path, 1)), None)

    def all_of(self, kind: str) -> list[Row]:
        """Return the newest write of every record of a kind."""
        ranked = self._newest(JOURNAL.c.kind == kind)
        return list({row.path: row for row in reversed(ranked)}.values())

    def _newest(self, where: sa.ColumnElement[bool], most: int | None = None) -> list[Row]:
        chosen = sa.select(*_COLUMNS).where(where).order_by(JOURNAL.c.seq.desc()).limit(most)
        if self._call.event:
            chosen = chosen.where(sa.or_(JOURNAL.c.event != self._call.event, JOURNAL.c.session == self._call.session))
        return [Row(*row) for row in self._connection.execute(chosen)]

    def _has(self, where: sa.ColumnElement[bool]) -> bool:
        return self._connection.execute(sa.select(JOURNAL.c.seq).where(where).limit(1)).first() is not None

    def _next_instant(self) -> int:
        now = micros(self._clock.now())
        if now + JITTER // timedelta(microseconds=1) < self._at:
            raise ClockBehind(iso(from_micros(now)), iso(from_micros(self._at)))
        return max(self._at + 1, now, self._call.after + 1)


def digest(*parts: str) -> str:
    """Return the hash of a call's request."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _number(path: str) -> int:
    kind = kind_of_path(path)
    return int(path.rpartition("-")[2].removesuffix(".md")) if kind and kind.prefix else 0
