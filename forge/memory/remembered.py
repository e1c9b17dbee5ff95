"""The memory of one turn: every record as of its instant, and its own writes. Other later writes are never visible."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from forge.memory.chain import Row
from forge.records import KINDS, Record, kind_of_path, parse
from pitlake.clock import from_micros


@dataclass(frozen=True)
class Head:
    """The state of the journal, for receipts.

    seq, chain: the number and hash of the newest row. version: the version of the memory lake, None if nothing was
    published.
    """

    seq: int
    chain: str
    version: int | None


class Remembered:
    """Memory as of an instant. session: the session whose files are visible. event: the event to be decided.

    Other sessions' writes about `event` are left out, because they are attempts at the same decision.
    """

    def __init__(self, rows: Iterable[Row], as_of: datetime, session: str, event: str, head: Head) -> None:
        self.as_of, self.session, self.event, self.head = as_of, session, event, head
        self._texts: dict[str, list[Row]] = defaultdict(list)
        self._records: dict[int, Record] = {}
        self.take(rows)

    def take(self, rows: Iterable[Row]) -> None:
        """Add rows to memory, such as those that this turn wrote."""
        for row in rows:
            rows_at_path = self._texts[row.path]
            is_other = row.session != self.session and (
                row.path.startswith("/session/") or (self.event and row.event == self.event)
            )
            if not is_other and not (rows_at_path and row.seq <= rows_at_path[-1].seq):
                rows_at_path.append(row)

    def fork(self) -> "Remembered":
        """Return an independent copy."""
        copied = Remembered((), self.as_of, self.session, self.event, self.head)
        copied._texts.update((path, list(rows)) for path, rows in self._texts.items())
        copied._records.update(self._records)
        return copied

    def newest(self, path: str) -> Row | None:
        """Return the newest write at a path, or None."""
        rows = self._texts.get(path)
        return rows[-1] if rows else None

    def all(self, path: str) -> list[Row]:
        """Return the writes at a path, oldest first."""
        return list(self._texts.get(path, ()))

    def paths(self, folder: str = "/") -> Iterator[str]:
        """Return every path under a folder, in order."""
        return iter(sorted(path for path, rows in self._texts.items() if rows and path.startswith(folder)))

    def rows(self, kind: str) -> list[Row]:
        """Return the newest write of every record of a kind, in order of paths."""
        return [self._texts[path][-1] for path in self.paths(KINDS[kind].folder)]

    def record(self, row: Row) -> Record:
        """Return a row's record. Raises RecordUnreadable, or KeyError for a file."""
        if row.seq not in self._records:
            kind = kind_of_path(row.path)
            if kind is None:
                raise KeyError(row.path)
            self._records[row.seq] = parse(kind, row.content)
        return self._records[row.seq]

    def written_at(self, row: Row) -> datetime:
        return from_micros(row.written_at)
