"""How a loader reads a source's stamps: plainly, as parsers do by default, or carefully, by the source's documentation.

Both are the same for every system, so that a difference between two systems is theirs and not their adapters'.
"""

from datetime import date, datetime, time, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from asofbench.model import read

NEW_YORK = ZoneInfo("America/New_York")


def plain(row: dict[str, Any]) -> datetime | None:
    """The stated text as a parser reads it: a date is midnight, a time without an offset UTC. None without a text."""
    if row.get("stated") is None:
        return None
    moment = datetime.fromisoformat(row["stated"])
    return moment.replace(tzinfo=timezone.utc) if moment.tzinfo is None else moment.astimezone(timezone.utc)


def careful(row: dict[str, Any]) -> datetime | None:
    """The latest instant the source's documentation allows: a date is over when its day is over in New York, local
    time is New York's, and the later one of an hour that occurs twice, what is stamped with its start is public at its
    end, an edit counts from the edit, and a snapshot, or a record that states only when it takes effect, from when it
    was received.
    """
    stated = row.get("stated")
    if stated is None:
        return None
    stamp = row.get("stamp", "instant")
    if stamp == "date":
        after = date.fromisoformat(stated[: len("2024-01-01")]) + timedelta(days=1)
        return datetime.combine(after, time(), NEW_YORK).astimezone(timezone.utc)
    if stamp in ("snapshot", "effective"):
        return read(row["loaded_at"])
    if stamp == "new_york":
        local = datetime.fromisoformat(stated).replace(tzinfo=NEW_YORK)
        return max(local.replace(fold=fold).astimezone(timezone.utc) for fold in (0, 1))
    told = [stated, row.get("ends"), row.get("updated")]
    return max(read(text) for text in told if text is not None)
