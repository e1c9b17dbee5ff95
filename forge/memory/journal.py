"""The journal: where memory is written first. One row a write, one clock that strictly rises, one chain.

A call writes all of its rows or none, once: asked again, it gets the rows it wrote. SQLite or Postgres.
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
"""From here on ids are of those who decide an event."""
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
    """Who writes, and in which call. call_id: unique in its session; event: what is being decided, "" of nothing;
    asked: the hash of what the call was asked to do; after: microseconds of the instant its turn is pinned to, which
    none of its writes may be visible at.
    """

    actor: str
    session: str
    call_id: str
    event: str = ""
    asked: str = ""
    after: int = 0


class Journal:
    """One journal. Opening makes it where there is none.

    place: a file, or an SQLAlchemy URL of SQLite or Postgres. Raises ClocksMixed where it is of another clock, BadInput
    for a place that can't be opened.
    """

    def __init__(self, place: str | Path, clock: Clock | None = None) -> None:
        self.clock = clock or live()
        url = str(place) if "://" in str(place) else f"sqlite:///{Path(place).absolute()}"
        if "://" not in str(place):
            Path(place).absolute().parent.mkdir(parents=True, exist_ok=True)
        try:
            self._engine = engine(url)
            self.name, found = self._named()
        except (sa.exc.ArgumentError, sa.exc.OperationalError, ModuleNotFoundError) as problem:
            told = " ".join(str(getattr(problem, "orig", problem)).split())[:200]
            raise BadInput(
                "journal", f"can't be opened: {told}", "see FORGE_JOURNAL in the page on deployment"
            ) from None
        if found != self.clock.name:
            raise ClocksMixed("this journal", found, self.clock.name)
        self.start = chain.start(self.name, self.clock.name)

    def write(self, call: WriteCall, work: "Callable[[Writing], None]") -> tuple[Row, ...]:
        """Do `work`, which says what to write, in one transaction; the rows, in the order they were put.

        A call that has written gets its rows again, and `work` is not done. Raises CallDiffers, what `work` raises,
        ClockBehind, and BadInput in the memory of a backtest that is only looked at.
        """
        if isinstance(self.clock, Finished):
            raise BadInput("memory", f"of {self.clock.name} is only read", "name the live one with FORGE_LAKE")
        with self._engine.begin() as connection:
            before = connection.execute(_OF_CALL, {"session": call.session, "call_id": call.call_id}).all()
            if before:
                rows = tuple(Row(*one) for one in before)
                if {row.asked for row in rows} != {call.asked}:
                    raise CallDiffers(call.call_id)
                return rows
            writing = Writing(self, connection, call)
            work(writing)
            return tuple(writing.rows)

    def append(self, path: str, content: str, call: WriteCall, based_on: int | None = None) -> Row:
        """Write one text. based_on: the seq of the write at that path that the caller has read, 0 for none.

        Raises Stale, ContentRefused and what `write` raises.
        """
        asked = replace(call, asked=call.asked or digest(path, content))
        return self.write(asked, lambda writing: writing.put(path, content, based_on=based_on))[0]

    def head(self) -> tuple[int, str]:
        """The newest row's seq and hash; 0 and the start of an empty journal."""
        with self._reading() as connection:
            found = connection.execute(_HEAD).first()
        return (found.seq, found.chain) if found else (0, self.start)

    def rows(self, after: int = 0, until: int | None = None) -> list[Row]:
        """The rows with a seq over `after`, written at or before `until` (microseconds), in order, and the one that
        follows, whose word of them counts. Not judged.
        """
        chosen = sa.select(*_COLUMNS).where(JOURNAL.c.seq > after).order_by(JOURNAL.c.seq)
        if until is not None:
            later = sa.select(sa.func.min(JOURNAL.c.seq)).where(JOURNAL.c.seq > after, JOURNAL.c.written_at > until)
            chosen = chosen.where(sa.or_(JOURNAL.c.written_at <= until, JOURNAL.c.seq == later.scalar_subquery()))
        with self._reading() as connection:
            return [Row(*one) for one in connection.execute(chosen)]

    def written_by(self, session: str, calls: str) -> list[Row]:
        """The rows of a session's calls whose ids begin so, in order. Not judged."""
        chosen = sa.select(*_COLUMNS).where(
            JOURNAL.c.session == session, JOURNAL.c.call_id.startswith(calls, autoescape=True)
        )
        with self._reading() as connection:
            return [Row(*one) for one in connection.execute(chosen.order_by(JOURNAL.c.seq))]

    def refill(self, name: str, rows: Iterable[Row]) -> None:
        """Become the journal of that name, with its rows as they were. Raises BadInput where there are rows already."""
        with self._engine.begin() as connection:
            if connection.execute(_HEAD).first():
                raise BadInput("journal", "holds rows", "only one that was lost is rebuilt; name an empty place")
            TABLES.drop_all(connection)
            TABLES.create_all(connection)
            connection.execute(sa.insert(META).values(one=1, journal=name, clock=self.clock.name))
            connection.execute(sa.insert(JOURNAL), [{**asdict(row), "number": _number(row.path)} for row in rows])
        self.name, self.start = name, chain.start(name, self.clock.name)

    def copy(self, place: Path, until: datetime) -> None:
        """Make a journal of the same name in a new SQLite file that ends at an instant."""
        made = engine(f"sqlite:///{place}")
        chosen = sa.select(JOURNAL).where(JOURNAL.c.written_at <= micros(until)).order_by(JOURNAL.c.seq)
        with made.begin() as to, self._reading() as this:
            TABLES.create_all(to)
            for table, rows in ((META, this.execute(sa.select(META))), (JOURNAL, this.execute(chosen))):
                if told := [dict(row) for row in rows.mappings()]:
                    to.execute(sa.insert(table), told)
        made.dispose()

    def close(self) -> None:
        """Let its connections go."""
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            yield connection

    def _named(self) -> tuple[str, str]:
        with self._engine.begin() as connection:
            TABLES.create_all(connection)
            found = connection.execute(sa.select(META.c.journal, META.c.clock)).first()
            if found is None:
                found = connection.execute(
                    sa.insert(META)
                    .values(one=1, journal=uuid.uuid4().hex, clock=self.clock.name)
                    .returning(META.c.journal, META.c.clock)
                ).one()
            return found.journal, found.clock


class Writing:
    """One call's transaction: nobody else writes until it ends, and what it reads is the newest there is."""

    def __init__(self, journal: Journal, connection: sa.Connection, call: WriteCall) -> None:
        self.rows: list[Row] = []
        self._connection, self._call, self._clock = connection, call, journal.clock
        last = connection.execute(_HEAD).first()
        self._seq: int = last.seq if last else 0
        self._at: int = last.written_at if last else 0
        self._chain: str = last.chain if last else journal.start

    def put(self, path: str, content: str, *, based_on: int | None = None, cause: str = "") -> None:
        """Write a text at a path. A `cause` that has had its effect brings none again.

        Raises Stale where the path's newest write is not `based_on`, ContentRefused.
        """
        if cause and self._has(JOURNAL.c.cause == cause):
            return
        admit(content)
        if based_on is not None:
            newest = self.newest(path)
            if based_on != (newest.seq if newest else 0):
                raise Stale(path)
        kind = kind_of_path(path)
        row = chain.linked(
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
                asked=self._call.asked,
                cause=cause,
            ),
            self._chain,
        )
        self._connection.execute(sa.insert(JOURNAL), {**asdict(row), "number": _number(path)})
        self._seq, self._at, self._chain = row.seq, row.written_at, row.chain
        self.rows.append(row)

    def next_id(self, kind: str) -> str:
        """The next id of a kind: one more than any that was ever given.

        Who decides an event would read from it how much was written since: his come from his session and how many it
        has, far above the others.
        """
        found, session = KINDS[kind], self._call.session
        if self._call.event:
            mine = self._newest((JOURNAL.c.kind == kind) & (JOURNAL.c.session == session))
            made = (int(digest(session, kind, str(n))[:12], 16) for n in count(len({row.path for row in mine})))
            names = (f"{found.prefix}-{OWN_IDS + number % (9 * OWN_IDS)}" for number in made)
            return next(name for name in names if not self._has(JOURNAL.c.path == found.path(name)))
        numbered = (JOURNAL.c.kind == kind) & (JOURNAL.c.number < OWN_IDS)
        most = self._connection.execute(sa.select(sa.func.max(JOURNAL.c.number)).where(numbered)).scalar_one()
        return f"{found.prefix}-{(most or 0) + 1:03d}"

    def newest(self, path: str) -> Row | None:
        """The newest write at a path; what other tries at the call's event wrote is not there."""
        return next(iter(self._newest(JOURNAL.c.path == path, 1)), None)

    def all_of(self, kind: str) -> list[Row]:
        """The newest write of every record of a kind."""
        ranked = self._newest(JOURNAL.c.kind == kind)
        return list({row.path: row for row in reversed(ranked)}.values())

    def _newest(self, where: sa.ColumnElement[bool], most: int | None = None) -> list[Row]:
        chosen = sa.select(*_COLUMNS).where(where).order_by(JOURNAL.c.seq.desc()).limit(most)
        if self._call.event:
            chosen = chosen.where(sa.or_(JOURNAL.c.event != self._call.event, JOURNAL.c.session == self._call.session))
        return [Row(*one) for one in self._connection.execute(chosen)]

    def _has(self, where: sa.ColumnElement[bool]) -> bool:
        return self._connection.execute(sa.select(JOURNAL.c.seq).where(where).limit(1)).first() is not None

    def _next_instant(self) -> int:
        now = micros(self._clock.now())
        if now + JITTER // timedelta(microseconds=1) < self._at:
            raise ClockBehind(iso(from_micros(now)), iso(from_micros(self._at)))
        return max(self._at + 1, now, self._call.after + 1)


def digest(*parts: str) -> str:
    """The hash of what a call was asked to do."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _number(path: str) -> int:
    kind = kind_of_path(path)
    return int(path.rpartition("-")[2].removesuffix(".md")) if kind and kind.prefix else 0
