"""Formats numbers, instants and evidence for a page.

A number links to its history and carries its exact value. An instant links to the page at that instant. Evidence is a
numbered mark that links to the list on the page. All values come from a session's answers and are escaped.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from markupsafe import Markup, escape

from pitlake.charts import day_text, number_text
from pitlake.clock import NEW_YORK, iso
from pitlake.datasets import all_datasets
from pitlake.web.address import Address

CLOCKS = {
    "neo4j_created": "the graph's own instant",
    "edgar_accepted": "released by EDGAR",
    "time_series_timestamp": "close of the session, or end of the day",
    "provider_metadata": "stated by the provider",
}
"""The source of a row's date, in words."""


@dataclass(frozen=True)
class Evidence:
    """One entry of a page's list: number, locator, the source of its date, and the date."""

    number: int
    locator: str
    clock: str
    at: datetime


class Sheet:
    """The state of a page while it is rendered: its address, and its evidence in order of appearance."""

    def __init__(self, address: Address, evidence: dict[tuple[str, datetime], Evidence] | None = None) -> None:
        self._address = address
        self._evidence = {} if evidence is None else evidence

    def sharing_evidence(self, address: Address) -> "Sheet":
        """Return a sheet for another instant that shares this page's list of evidence."""
        return Sheet(address, self._evidence)

    @property
    def evidence(self) -> list[Evidence]:
        """Return all evidence on the page, by its number."""
        return list(self._evidence.values())

    def mark(self, row: Any) -> Markup:
        key = (row.evidence, row.available_at)
        clock = CLOCKS.get(row.available_at_source, row.available_at_source)
        entry = self._evidence.setdefault(key, Evidence(len(self._evidence) + 1, row.evidence, clock, row.available_at))
        number = entry.number
        return Markup(  # noqa: S704 - made of a number
            f'<a class="ev" href="#e{number}" aria-label="E{number}, evidence">E{number}</a>'
        )

    def number(self, row: Any, column: str, dataset: str) -> Markup:
        """Return a number as a link to its history. row: includes the dataset's key."""
        value = getattr(row, column)
        if value is None:
            return Markup('<span class="soft">none</span>')
        return Markup(  # noqa: S704 - escaped
            f'<a class="n" href="{escape(self.history(row, column, dataset))}">'
            f'<data value="{escape(repr(value))}">{escape(number_text(value))}</data></a>'
        )

    def history(self, row: Any, column: str, dataset: str) -> str:
        """Return the URL of a number's history."""
        key = {f"k_{name}": getattr(row, name) for name in all_datasets()[dataset].key}
        parameters = {
            name: value.isoformat() if isinstance(value, date) else str(value)
            for name, value in key.items()
            if value is not None
        }
        return self._address.url("/history", of=f"{dataset}.{column}", **parameters)

    def when(self, at: datetime, page: str = "/at") -> Markup:
        """Return an instant up to T as a link."""
        if at > self._address.as_of:
            raise ValueError("an instant after T must not be on its page")
        url = escape(self._address.at(at).url(page))
        return Markup(f'<a class="w" href="{url}" title="Go to this instant">{stamp(at)}</a>')  # noqa: S704 - escaped


def stamp(at: datetime, *, seconds: bool = False) -> Markup:
    """Format an instant in New York time."""
    local = at.astimezone(NEW_YORK)
    text = f"{local.day} {local:%b %Y %H:%M:%S}" if seconds or local.second else f"{local.day} {local:%b %Y %H:%M}"
    return Markup(f'<time datetime="{iso(at)}">{text}</time>')  # noqa: S704 - made of an instant


def long_text(at: datetime) -> str:
    """Format an instant in words, with its weekday."""
    local = at.astimezone(NEW_YORK)
    clock = f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
    return f"{local:%A} {local.day} {local:%B %Y}, {clock} New York"


def age(at: datetime, then: datetime) -> str:
    """Format the time between `then` and `at`."""
    minutes = int((at - then).total_seconds() // 60)
    hours, days = minutes // 60, minutes // (60 * 24)
    if days >= 2:
        return f"{days:,} days"
    if hours >= 2:
        return f"{hours} hours"
    return f"{minutes} min" if minutes else "less than a minute"


def cell(value: Any) -> str:
    """Format a value of a table exactly; "" for null."""
    return iso(value) if isinstance(value, datetime) else "" if value is None else str(value)


def period(row: Any) -> str:
    if row.period_start is None:
        return day_text(row.period_end)
    return f"{day_text(row.period_start)} to {day_text(row.period_end)}"


def unit(text: str | None) -> str:
    return {"iso4217:USD": "USD", "iso4217:USDshares": "USD a share", None: ""}.get(text, text or "")


def change(new: float, old: float) -> str:
    """Format a change in percent, with its sign; empty if the old value is 0."""
    return f"{100 * (new / old - 1):+.2f} %".replace("-", "−") if old else ""
