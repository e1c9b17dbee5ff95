"""What one turn remembers: every text as of its instant, and what it writes itself. Nothing else ever appears in it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from forge.memory.chain import Row
from forge.records import Record, kind_of_path, parse
from pitlake.clock import from_micros


@dataclass(frozen=True)
class Head:
    """Where the journal stood, for receipts. seq and chain of the newest row remembered; version: the memory lake's,
    None where nothing was published yet.
    """

    seq: int
    chain: str
    version: int | None


class Remembered:
    """Memory as of an instant. as_of: aware UTC; session: whose files and writes these are; event: what is decided.

    What other sessions wrote about `event` is left out, for it was written by tries at the same decision.
    """

    def __init__(self, rows: Iterable[Row], as_of: datetime, session: str, event: str, head: Head) -> None:
        self.as_of, self.session, self.event, self.head = as_of, session, event, head
        self._texts: dict[str, list[Row]] = defaultdict(list)
        self._records: dict[int, Record] = {}
        self.take(rows)

    def take(self, rows: Iterable[Row]) -> None:
        """Remember rows too: those of this turn's own writes."""
        for row in rows:
            known = self._texts[row.path]
            if self._shows(row) and not (known and row.seq <= known[-1].seq):
                known.append(row)

    def fork(self) -> "Remembered":
        """The same as it is now; what either takes from here on, the other does not know."""
        made = Remembered((), self.as_of, self.session, self.event, self.head)
        made._texts.update((path, list(known)) for path, known in self._texts.items())
        made._records.update(self._records)
        return made

    def newest(self, path: str) -> Row | None:
        """The newest write at a path."""
        known = self._texts.get(path)
        return known[-1] if known else None

    def all(self, path: str) -> list[Row]:
        """The writes at a path, oldest first."""
        return list(self._texts.get(path, ()))

    def paths(self, folder: str = "/") -> Iterator[str]:
        """Every path under a folder, in order."""
        return iter(sorted(path for path, known in self._texts.items() if known and path.startswith(folder)))

    def record(self, row: Row) -> Record:
        """The record a row holds. Raises RecordUnreadable, KeyError for a file."""
        if row.seq not in self._records:
            kind = kind_of_path(row.path)
            if kind is None:
                raise KeyError(row.path)
            self._records[row.seq] = parse(kind, row.content)
        return self._records[row.seq]

    def written_at(self, row: Row) -> datetime:
        """When a row was written."""
        return from_micros(row.written_at)

    def _shows(self, row: Row) -> bool:
        if row.session == self.session:
            return True
        return not row.path.startswith("/session/") and not (self.event and row.event == self.event)
