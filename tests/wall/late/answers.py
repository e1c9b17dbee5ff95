"""The building blocks of providers' responses: documents with items, edits of an item, and the names of things.
A document is a company, series or site; its items are what the provider says about it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

from assets.feeds.feed import Scope
from resources.http.capture import Request
from tests.wall.late.documents import Edit, Kind, State, weekday
from tests.wall.late.found import Thing

Answer = tuple[Any, dict[str, str]]  # a body, None for "404 Not Found", and headers
Marks = Callable[[State], Iterator[tuple[Thing, tuple[str, ...]]]]
SPRING = date(2024, 3, 4)
DAYS = [weekday(SPRING + timedelta(days=7 * n)) for n in range(4)]
MOST_ITEMS = 4


@dataclass(frozen=True)
class Told:
    """A dataset of one kind of documents: the request for it, and the provider's response.

    name: returns the thing that a row is about. marks: yields the things of a document, each with the strings that
    a gap's locator about it contains. tells: returns what the provider still reports of a document at an instant.
    covered: returns whether a complete response about these documents at an instant would have contained a row.
    """

    dataset: str
    kind: Kind
    scope: Callable[[list[State]], Scope]
    answer: Callable[[Request, list[State]], Answer]
    name: Callable[[Mapping[str, Any]], Thing]
    marks: Marks
    tells: Callable[[State, datetime], State] = lambda state, _: state
    covered: Callable[[list[State], datetime, Mapping[str, Any]], bool] = lambda *_: True


def ticker(state: State) -> str:
    """Return the ticker of a document's company."""
    return f"X{state['number']}"


def company(state: State) -> str:
    """Return the company's name."""
    return f"Company {state['number']}"


def cik(state: State) -> str:
    """Return the company's CIK."""
    return f"000000{state['number']}"


def tickers(content: list[State]) -> Scope:
    """Return a scope with every company's ticker."""
    return Scope(tickers=tuple(map(ticker, content)))


def of(content: list[State], name: str, spell: Callable[[State], str] = ticker) -> State:
    """Return the document that a request names."""
    return next(state for state in content if spell(state) == name)


def items(make: Callable[[Random, int], State], count: int = 3) -> Callable[[int, Random, datetime], State]:
    """Return a function that creates a document of numbered items; edits never change the numbers."""

    def born(number: int, rng: Random, at: datetime) -> State:
        result = {n: make(rng, n) for n in range(count) if rng.random() < 0.7}
        return {"number": number, "at": at, "items": result, "make": make, "most": count}

    return born


def on_item(change: Callable[[State, Random, datetime], Any]) -> Edit:
    """Return an edit that changes one of the items."""

    def edit(state: State, rng: Random, at: datetime) -> None:
        if state["items"]:
            change(state["items"][rng.choice(sorted(state["items"]))], rng, at)

    return edit


def come_or_gone(state: State, rng: Random, _at: datetime) -> None:
    """Add or remove an item."""
    number = rng.randrange(state["most"])
    if state["items"].pop(number, None) is None:
        state["items"][number] = state["make"](rng, number)


def day_in(rng: Random) -> date:
    """Return a weekday in spring."""
    return weekday(SPRING + timedelta(days=rng.randrange(60)))


def shifted(rng: Random, day: date) -> date:
    """Return a corrected day."""
    return weekday(day + timedelta(days=rng.randrange(-15, 15)))


def kind(
    name: str, make: Callable[[Random, int], State], edits: Mapping[str, Callable[..., Any]], count: int = 3
) -> Kind:
    """Return the kind of a feed's documents; its edits change items."""
    names = {what: on_item(change) for what, change in edits.items()}
    return Kind(name, items(make, count), {**names, "an item comes or goes": come_or_gone})


def marks_of(part: Callable[[State, int], Thing], *texts: Callable[[State, int], str]) -> Marks:
    """Return a function that yields the marks of each item of a document."""

    def marks(state: State) -> Iterator[tuple[Thing, tuple[str, ...]]]:
        for number in range(MOST_ITEMS):
            yield part(state, number), tuple(text(state, number) for text in texts)

    return marks


def by_ticker(state: State, _number: int) -> str:
    """Return a mark: the ticker of the company."""
    return ticker(state)
