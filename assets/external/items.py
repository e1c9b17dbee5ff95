"""Helpers for answers that hold many records: what names one of them in evidence, and which of them come twice.

Pure. Called by the modules of assets/external; what an answer is lives in resources/http.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any
from urllib.parse import quote

from assets.extraction import Record, RunFacts
from pitlake.errors import Unreadable
from resources.http.capture import Capture

TWICE = "_told_twice"

Came = tuple[Record, Capture]


def named(run: RunFacts, record: Record, *parts: Any) -> str:
    """The evidence of one record: its answer's, and what names the record in it, and would in any other answer of the
    same dataset: by that a gap and the row that comes in its place are told to be the same.
    """
    again = (f"again-{record[TWICE]}",) if TWICE in record else ()
    return f"{run.evidence}&item={quote('/'.join(map(str, (*parts, *again))), safe='/:')}"


def read_or_spelled(parser: Callable[[Any], Hashable], value: Any) -> Hashable:
    """What a value means, so that two spellings of one thing are one key; its spelling where it can't be read."""
    try:
        return parser(value)
    except Unreadable:
        return str(value)


def told_once(
    came: Iterable[Came], key: Callable[[Record], Hashable], content: Callable[[Record], object] = dict
) -> Iterator[Came]:
    """The records with their captures, marked TWICE (with how often before) where an earlier one has the same key but
    another content: two answers to one question would refuse the whole run.
    """
    first: dict[Hashable, object] = {}
    count: dict[Hashable, int] = {}
    for record, capture in came:
        name, told = key(record), content(record)
        if told == first.setdefault(name, told):
            yield record, capture
        else:
            count[name] = count.get(name, 0) + 1
            yield {**record, TWICE: count[name]}, capture
