"""Helpers for answers that hold many records: what names one of them in evidence, and which of them come twice.

Pure. Called by the modules of assets/external; what an answer is lives in resources/http.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any
from urllib.parse import quote

from assets.extraction import Record, RunFacts

TWICE = "_told_twice"


def named(run: RunFacts, record: Record, *parts: Any) -> str:
    """The evidence of one record: its answer's, and what names the record in it."""
    again = (f"again-{record[TWICE]}",) if TWICE in record else ()
    return f"{run.evidence}&item={quote('/'.join(map(str, (*parts, *again))), safe='/:')}"


def told_once(records: Iterable[Record], key: Callable[[Record], Hashable]) -> Iterator[Record]:
    """The records, marked TWICE (with how often before) where an earlier one has the key but another content."""
    first: dict[Hashable, Record] = {}
    count: dict[Hashable, int] = {}
    for record in records:
        name = key(record)
        if record == first.setdefault(name, record):
            yield record
        else:
            count[name] = count.get(name, 0) + 1
            yield {**record, TWICE: count[name]}
