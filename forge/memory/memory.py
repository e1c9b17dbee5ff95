"""Memory: a journal and the lake to which it is flushed, readable as of any instant."""

import os
import re
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from forge.core.clock import LIVE, Clock, live
from forge.core.errors import ClocksMixed
from forge.memory import chain
from forge.memory.chain import Fault, Row
from forge.memory.journal import Journal
from forge.memory.remembered import Head, Remembered
from pitlake import clock as lake_clock
from pitlake.errors import BadInput, LakeNotFound
from pitlake.lake.storage.log import LakeLog
from pitlake.lake.storage.root import open_store

if TYPE_CHECKING:
    from forge.memory.flush import Flushed
    from pitlake.lake.lake import Lake

LAKE_VARIABLE = "FORGE_LAKE"
JOURNAL_VARIABLE = "FORGE_JOURNAL"
DEFAULT_LAKE = Path(".pitlake") / "forge"
_ASIDE = re.compile(r"(?P<root>.+)-simulated-(?P<run>[a-z0-9][a-z0-9-]*)")


def lake_root(lake: str | Path | None) -> str:
    """Return the root of memory's lake: as given, else $FORGE_LAKE, else ./.pitlake/forge."""
    return str(lake or os.environ.get(LAKE_VARIABLE) or DEFAULT_LAKE)


def parse_backtest_root(root: str) -> tuple[str, str]:
    """Split a root into the live memory's root and the run of a backtest, "" for the live memory."""
    match = _ASIDE.fullmatch(root)
    return (match["root"], match["run"]) if match else (root, "")


def journal_file(root: str | Path) -> Path:
    """Return the default journal file of the memory at a root."""
    return Path(f"{open_store(root).root}-journal.sqlite")


class Memory:
    """A journal and its lake. A simulated clock uses a separate journal and lake next to the live ones.

    lake: a root (default $FORGE_LAKE, else ./.pitlake/forge). journal: a file or URL (default $FORGE_JOURNAL, else
    `<lake>-journal.sqlite`). Raises ClocksMixed if the journal belongs to another clock.
    """

    def __init__(
        self, lake: str | Path | None = None, journal: str | Path | None = None, clock: Clock | None = None
    ) -> None:
        clock = clock or live()
        aside = "" if clock.name == LIVE else "-" + clock.name.replace(":", "-")
        root = f"{lake_root(lake)}{aside}"
        place = journal or (os.environ.get(JOURNAL_VARIABLE) if clock.name == LIVE else None)
        self._root = root
        self._log = LakeLog(open_store(root))
        self.journal = Journal(place or journal_file(root), clock)
        self._read: tuple[tuple[datetime, int], list[Row]] | None = None

    @cached_property
    def lake(self) -> "Lake":
        """The lake to which the journal is flushed. It is imported at the first use, because the import takes long."""
        from pitlake.lake.lake import Lake

        return Lake(self._root)

    def hydrate(
        self,
        as_of: str | datetime,
        *,
        session: str = "",
        event: str = "",
        version: int | None = None,
        turn: str | datetime | None = None,
    ) -> Remembered:
        """Return memory as of an instant, from the lake and, for rows that are not flushed yet, from the journal.

        Args:
            as_of: The instant up to which rows are visible.
            session: The session whose files are visible.
            event: The event to decide. Earlier attempts at this event are left out.
            version: Read only this lake version, for a replay.
            turn: The turn's instant, if it differs from as_of.

        Raises:
            BadInstant: An instant is not valid.
            LakeNotFound: There is no such version.
        """
        at = lake_clock.instant(as_of)
        published, lake_version = list[Row](), None
        try:
            key = at, self._log.head().version if version is None else version
        except LakeNotFound:
            pass  # Nothing was published yet.
        else:
            # The rows of a lake version as of an instant never change, so the last result is cached.
            read = self._read
            if read is None or read[0] != key:
                self._read = read = key, self._published(*key)[0]
            published, lake_version = read[1], key[1]
        after = published[-1] if published else None
        recent: list[Row] = []
        if version is None:
            until = lake_clock.micros(at)
            waiting = self.journal.rows(after.seq if after else 0, until)
            sound, _ = chain.judge(waiting, after, after.chain if after else self.journal.start)
            recent = [row for row in sound if row.written_at <= until]
        rows = [*published, *recent]
        last = rows[-1] if rows else None
        head = Head(last.seq, last.chain, lake_version) if last else Head(0, self.journal.start, lake_version)
        return Remembered(rows, lake_clock.instant(turn) if turn else at, session, event, head)

    def hydrate_now(self, session: str = "pm") -> Remembered:
        """Return memory as of now, for the PM."""
        return self.hydrate(self.read_instant(self.journal.clock.now()), session=session)

    def read_instant(self, at: datetime) -> datetime:
        """Return `at`, or the instant of the newest write if a simulated clock is behind it."""
        last = None if self.journal.clock.name == LIVE else self.last_write()
        return at if last is None else max(at, last)

    def last_write(self) -> datetime | None:
        """Return the instant of the newest row of the journal, None without one."""
        newest = self.journal.rows(max(0, self.journal.head()[0] - 1))
        return lake_clock.from_micros(newest[-1].written_at) if newest else None

    def written_by(self, session: str, decision: str) -> list[Row]:
        """Return a decision's earlier writes, in order, for a resumed turn."""
        return self.journal.written_by(session, f"{decision}:")

    def flush(self) -> "Flushed":
        """Publish the rows that are not published yet. Raises ClocksMixed, and the errors of a publish."""
        from forge.memory import flush as flushing

        return flushing.flush(self.journal, self.lake)

    def audit(self) -> list[Fault]:
        """Return the faults of the journal, and of the lake compared with the journal."""
        rows = self.journal.rows()
        _, faults = chain.judge(rows, None, self.journal.start)
        rows_by_seq = {row.seq: row for row in rows}
        published, _ = self._published(None, None)
        faults += [Fault(row.seq, "forged", row.path) for row in published if rows_by_seq.get(row.seq) != row]
        return sorted(set(faults))

    def rebuild(self) -> int:
        """Rebuild a lost journal from the lake and return its number of rows. Rows that were never flushed are lost.

        Raises BadInput if the journal has rows, or if the lake has no rows or altered ones; ClocksMixed.
        """
        from forge.memory import flush as flushing

        try:
            with flushing.open_session(self.lake, None) as session:
                owners, rows = flushing.journals(session), flushing.stored_rows(session)
        except LakeNotFound:
            owners, rows = [], []
        if len(owners) != 1:
            raise BadInput(
                "lake", f"has memory of {len(owners)} journals, not 1", "give the root of the lost memory's lake"
            )
        ((name, clock),) = owners
        if clock != self.journal.clock.name:
            raise ClocksMixed("this lake", clock, self.journal.clock.name)
        _, faults = chain.judge(rows, None, chain.start(name, clock))
        if altered := [fault.seq for fault in faults if fault.wrong != "lost"]:
            raise BadInput("lake", f"was altered: rows {altered[:5]} do not match their hashes", "restore the lake")
        self.journal.refill(name, rows)
        return len(rows)

    def close(self) -> None:
        """Close the journal's connections."""
        self.journal.close()

    def _published(self, as_of: datetime | None, version: int | None) -> tuple[list[Row], int | None]:
        from forge.memory import flush as flushing

        try:
            with flushing.open_session(self.lake, as_of, version) as session:
                return flushing.stored_rows(session), session.version
        except LakeNotFound:
            if version is not None:
                raise
            return [], None
