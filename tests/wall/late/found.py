"""What a look finds in the graph: records in the form that the extractors' Cypher returns, each about one thing."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.wall.late.documents import Kind, State

Thing = tuple[Any, ...]
Node = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """A record that a dataset's query finds: by its window's number and text, or by the sweep of what has no date."""

    dataset: str
    thing: Thing
    window: int
    text: str | None
    record: Node


@dataclass(frozen=True)
class Label:
    """One kind of documents in the graph: the records it is found as, and what names its things in datasets' rows."""

    kind: Kind
    found: Callable[[State], Iterator[Found]]
    names: Mapping[str, Callable[[Mapping[str, Any]], Thing]]


def words(rng: Random) -> str:
    """Return a few words."""
    return " ".join(rng.choice(("revenue", "guidance", "margin", "growth", "risk", "cloud", "oil")) for _ in range(4))


def vector(version: int, run: int, number: int) -> list[float]:
    """The embedding of a text: its second number tells which version of the text it is of, its third which run."""
    return [1.0, float(version), float(run), float(number % 7)]


def by(*columns: str) -> Callable[[Mapping[str, Any]], Thing]:
    """What names a row's thing: these columns, which no edit touches."""
    return lambda row: tuple(row[column] for column in columns)
