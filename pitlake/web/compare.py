"""Two instants side by side: what each knew, and what became public between them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pitlake.web.known import CONCEPTS, Known, span
from pitlake.web.shown import concept

NEW, CHANGED, SAME, GONE = "+", "~", "=", "−"


@dataclass(frozen=True)
class Pair:
    """One line of the table: what it is, and the rows of both sides, None where a side knew nothing of it."""

    name: str
    before: Any | None
    after: Any | None

    @property
    def mark(self) -> str:
        """+ where only the later side knew it, or knew a newer period; ~ where its value changed; = where it stood."""
        if self.before is None or self.after is None:
            return NEW if self.before is None else GONE
        if _about(self.before) != _about(self.after):
            return NEW
        return SAME if self.before.value_number == self.after.value_number else CHANGED


@dataclass(frozen=True)
class Event:
    """Something that became public after the first instant and by the second."""

    at: datetime
    what: str
    title: str
    row: Any


def figures(before: Known, after: Known) -> list[Pair]:
    """Each concept's newest figure as either side knew it."""
    sides: list[dict[tuple[str, str, str], Any]] = [
        {(one.concept, one.unit or "", span(one)): one for one in side.newest_figures} for side in (before, after)
    ]
    keys = sorted({*sides[0], *sides[1]}, key=lambda key: (CONCEPTS.index(key[0]), key[2], key[1]))
    return [Pair(_named(sides, key), sides[0].get(key), sides[1].get(key)) for key in keys]


def revised(before: Known, after: Known) -> list[Pair]:
    """Figures of one period whose value another statement changed between the two."""
    then = {_identity(one): one for one in before.figures}
    pairs = [Pair(concept(one), then.get(_identity(one)), one) for one in after.figures]
    return [pair for pair in pairs if pair.before is not None and pair.mark == CHANGED]


def events(before: Known, after: Known) -> list[Event]:
    """Everything that became public in (A, B], in the order it did."""
    found = [Event(one.available_at, "news", one.title or one.id, one) for one in after.news]
    found += [*_made(after.filings, "filing", _filing), *_made(after.calls, "call", _call)]
    found += [
        Event(pair.after.available_at, "revised", pair.name, pair.after)
        for pair in revised(before, after)
        if pair.after
    ]
    return sorted((one for one in found if one.at > before.asked.as_of), key=lambda one: (one.at, one.what, one.title))


def _made(rows: list[Any], what: str, title: Callable[[Any], str]) -> Iterator[Event]:
    """Each when it was first public, and its text of now where that is a later one."""
    for one in rows:
        yield Event(one.first_public, what, title(one), one)
        if one.available_at != one.first_public:
            yield Event(one.available_at, "revised", title(one), one)


def _filing(row: Any) -> str:
    return ": ".join([row.form_type or "filing", *(row.items or [])[:1]])


def _call(row: Any) -> str:
    return f"Q{row.fiscal_quarter} {row.fiscal_year}" if row.fiscal_year else str(row.transcript_id)


def _identity(row: Any) -> tuple[Any, ...]:
    return (row.concept, row.unit, row.period_type, row.period_start, row.period_end, row.dimensions, row.members)


def _about(row: Any) -> tuple[Any, ...]:
    return row.period_start, row.period_end


def _named(sides: list[dict[tuple[str, str, str], Any]], key: tuple[str, str, str]) -> str:
    return concept(sides[1].get(key) or sides[0][key])
