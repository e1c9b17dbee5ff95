"""Two instants side by side: the values known at each, and what became public between them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pitlake.web.company import ITEMS, CompanyView, span

NEW, CHANGED, SAME, GONE = "+", "~", "=", "−"


@dataclass(frozen=True)
class Pair:
    """A line of the table: a figure's name, and its rows on both sides; None on a side without the figure."""

    name: str
    before: Any | None
    after: Any | None

    @property
    def mark(self) -> str:
        """Return the mark of a new figure or period, a figure that is gone, a changed value, or the same value."""
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


def figures(before: CompanyView, after: CompanyView) -> list[Pair]:
    """Return each line item's newest figure on both sides."""
    sides: list[dict[tuple[str, str, str], Any]] = [
        {(figure.item, figure.unit or "", span(figure)): figure for figure in side.newest_figures}
        for side in (before, after)
    ]
    keys = sorted({*sides[0], *sides[1]}, key=lambda key: (list(ITEMS).index(key[0]), key[2], key[1]))
    return [Pair(ITEMS[key[0]], sides[0].get(key), sides[1].get(key)) for key in keys]


def revised(before: CompanyView, after: CompanyView) -> list[Pair]:
    """Return the figures whose value changed between the two instants."""
    then = {_identity(figure): figure for figure in before.figures}
    pairs = [Pair(ITEMS[figure.item], then.get(_identity(figure)), figure) for figure in after.figures]
    return [pair for pair in pairs if pair.before is not None and pair.mark == CHANGED]


def events(before: CompanyView, after: CompanyView) -> list[Event]:
    """Return everything that became public in (A, B], in order."""
    all_events = [Event(article.available_at, "news", article.title or article.id, article) for article in after.news]
    all_events += [*_made(after.filings, "filing", _filing), *_made(after.calls, "call", _call)]
    all_events += [
        Event(pair.after.available_at, "revised", pair.name, pair.after)
        for pair in revised(before, after)
        if pair.after
    ]
    return sorted(
        (event for event in all_events if event.at > before.address.as_of),
        key=lambda event: (event.at, event.what, event.title),
    )


def _made(rows: list[Any], what: str, title: Callable[[Any], str]) -> Iterator[Event]:
    """Yield each item at the instant it was first public, and again with its current text if that is later."""
    for row in rows:
        yield Event(row.first_public, what, title(row), row)
        if row.available_at != row.first_public:
            yield Event(row.available_at, "revised", title(row), row)


def _filing(row: Any) -> str:
    return ": ".join([row.form_type or "filing", *(row.items or [])[:1]])


def _call(row: Any) -> str:
    return f"Q{row.fiscal_quarter} {row.fiscal_year}" if row.fiscal_year else str(row.transcript_id)


def _identity(row: Any) -> tuple[Any, ...]:
    return (row.concept, row.unit, row.period_type, row.period_start, row.period_end, row.dimensions, row.members)


def _about(row: Any) -> tuple[Any, ...]:
    return row.period_start, row.period_end
