"""Memory's door: a journal and the lake it is flushed into, as of any instant."""

import os
import re
from datetime import datetime
from pathlib import Path

from forge.core.clock import LIVE, Clock, live
from forge.core.errors import ClocksMixed
from forge.memory import chain
from forge.memory import flush as flushing
from forge.memory.chain import Fault, Row
from forge.memory.flush import Flushed
from forge.memory.journal import Journal
from forge.memory.remembered import Head, Remembered
from pitlake import clock as lake_clock
from pitlake.errors import BadInput, LakeNotFound
from pitlake.lake.lake import Lake

LAKE_VARIABLE = "FORGE_LAKE"
JOURNAL_VARIABLE = "FORGE_JOURNAL"
DEFAULT_LAKE = Path(".pitlake") / "forge"
_ASIDE = re.compile(r"(?P<root>.+)-simulated-(?P<run>[a-z0-9][a-z0-9-]*)")


def root_of(lake: str | Path | None) -> str:
    """Where memory's lake is: as given, else $FORGE_LAKE, else ./.pitlake/forge."""
    return str(lake or os.environ.get(LAKE_VARIABLE) or DEFAULT_LAKE)


def of_backtest(root: str) -> tuple[str, str]:
    """The live memory's root and the run of a backtest beside it that a root names, "" where it names the live one."""
    found = _ASIDE.fullmatch(root)
    return (found["root"], found["run"]) if found else (root, "")


def journal_file(root: str | Path) -> Path:
    """Where the journal of memory at this root lies by default."""
    return Path(f"{Lake(root).root}-journal.sqlite")


class Memory:
    """A journal and its lake. lake: a root (default $FORGE_LAKE, else ./.pitlake/forge); journal: a file or URL
    (default $FORGE_JOURNAL, else `<lake>-journal.sqlite`). A simulated clock has places of its own beside them.

    Raises ClocksMixed where the journal is of another clock.
    """

    def __init__(
        self, lake: str | Path | None = None, journal: str | Path | None = None, clock: Clock | None = None
    ) -> None:
        clock = clock or live()
        aside = "" if clock.name == LIVE else "-" + clock.name.replace(":", "-")
        root = f"{root_of(lake)}{aside}"
        place = journal or (os.environ.get(JOURNAL_VARIABLE) if clock.name == LIVE else None)
        self.lake = Lake(root)
        self.journal = Journal(place or journal_file(root), clock)
        self._read: tuple[tuple[datetime, int], list[Row]] | None = None

    def hydrate(
        self,
        as_of: str | datetime,
        *,
        session: str = "",
        event: str = "",
        version: int | None = None,
        turn: str | datetime | None = None,
    ) -> Remembered:
        """Memory as of an instant: from the lake, and from the journal what is not flushed yet.

        session: whose files are shown; event: what is being decided, of which earlier tries are left out; version: of
        the lake alone, for a replay. Raises BadInstant, LakeNotFound for a version there is none of.
        """
        at = lake_clock.instant(as_of)
        published, found = self._as_of(at, version)
        after = published[-1] if published else None
        recent: list[Row] = []
        if version is None:
            until = lake_clock.micros(at)
            waiting = self.journal.rows(after.seq if after else 0, until)
            sound, _ = chain.judge(waiting, after, after.chain if after else self.journal.start)
            recent = [row for row in sound if row.written_at <= until]
        rows = [*published, *recent]
        last = rows[-1] if rows else None
        head = Head(last.seq, last.chain, found) if last else Head(0, self.journal.start, found)
        return Remembered(rows, lake_clock.instant(turn) if turn else at, session, event, head)

    def standing(self, at: datetime) -> datetime:
        """The instant to remember as of. A simulated clock stands still, so that its newest write lies after it."""
        newest = self.journal.rows(max(0, self.journal.head()[0] - 1))
        if self.journal.clock.name == LIVE or not newest:
            return at
        return max(at, lake_clock.from_micros(newest[-1].written_at))

    def written_by(self, session: str, decision: str) -> list[Row]:
        """A decision's own writes so far, which it has to remember too when it is resumed; in order."""
        return self.journal.written_by(session, f"{decision}:")

    def flush(self) -> Flushed:
        """Publish what is not published yet. Raises ClocksMixed, and what a publish raises."""
        return flushing.flush(self.journal, self.lake)

    def audit(self) -> list[Fault]:
        """Everything wrong with the journal, and with the lake as its copy."""
        rows = self.journal.rows()
        _, faults = chain.judge(rows, None, self.journal.start)
        written = {row.seq: row for row in rows}
        published, _ = self._published(None, None)
        faults += [Fault(row.seq, "forged", row.path) for row in published if written.get(row.seq) != row]
        return sorted(set(faults))

    def rebuild(self) -> int:
        """Make a journal that was lost again from the lake; how many rows it has. What was never flushed is gone.

        Raises BadInput where the journal holds rows, the lake none, or rows that were altered; ClocksMixed.
        """
        try:
            with flushing.opened(self.lake, None) as session:
                found, rows = flushing.owners(session), flushing.stored(session)
        except LakeNotFound:
            found, rows = [], []
        if len(found) != 1:
            raise BadInput("lake", f"holds memory of {len(found)} journals", "name the root of the one that was lost")
        ((name, clock),) = found
        if clock != self.journal.clock.name:
            raise ClocksMixed("this lake", clock, self.journal.clock.name)
        _, faults = chain.judge(rows, None, chain.start(name, clock))
        if altered := [fault.seq for fault in faults if fault.wrong != "lost"]:
            raise BadInput("lake", f"was altered: rows {altered[:5]} are not as they were written", "restore the lake")
        self.journal.refill(name, rows)
        return len(rows)

    def close(self) -> None:
        """Let the journal's connections go."""
        self.journal.close()

    def _as_of(self, at: datetime, version: int | None) -> tuple[list[Row], int | None]:
        """What a version of the lake has as of an instant, which never changes: kept until another is asked for."""
        try:
            key = at, self.lake.head() if version is None else version
        except LakeNotFound:
            return [], None
        read = self._read
        if read is None or read[0] != key:
            self._read = read = key, self._published(*key)[0]
        return read[1], key[1]

    def _published(self, as_of: datetime | None, version: int | None) -> tuple[list[Row], int | None]:
        try:
            with flushing.opened(self.lake, as_of, version) as session:
                return flushing.stored(session), session.version
        except LakeNotFound:
            if version is not None:
                raise
            return [], None
