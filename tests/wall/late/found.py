"""The records that a poll finds in the graph, as the extractors' Cypher returns them; each is about one thing."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.wall.late.documents import Kind, State

Thing = tuple[Any, ...]
Node = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """A record that a dataset's query finds: by a window's number and a text, or by the sweep of undated records."""

    dataset: str
    thing: Thing
    window: int
    text: str | None
    record: Node


@dataclass(frozen=True)
class Label:
    """A kind of documents in the graph: the records that show them, and how each dataset's rows name their things."""

    kind: Kind
    found: Callable[[State], Iterator[Found]]
    names: Mapping[str, Callable[[Mapping[str, Any]], Thing]]


def words(rng: Random) -> str:
    """Return a few words."""
    return " ".join(rng.choice(("revenue", "guidance", "margin", "growth", "risk", "cloud", "oil")) for _ in range(4))


def vector(version: int, run: int, number: int) -> list[float]:
    """Return the embedding of a text; its second number is the version of the text, its third the run."""
    return [1.0, float(version), float(run), float(number % 7)]


def by(*columns: str) -> Callable[[Mapping[str, Any]], Thing]:
    """Return a function that names a row's thing by these columns, which no edit changes."""
    return lambda row: tuple(row[column] for column in columns)
