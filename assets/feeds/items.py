"""Helpers for answers with many records: evidence of single records, and marks on repeated records."""

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Iterator
from operator import itemgetter
from typing import Any
from urllib.parse import quote

from assets.extraction import Record, RunFacts
from pitlake.errors import Unreadable
from resources.http.capture import Capture

TWICE = "_told_twice"
UNNAMED = "unnamed"

Came = tuple[Record, Capture]


# The fields that feeds add to a record: its position in the answer, and facts from other answers.
OURS = frozenset(
    (
        TWICE,
        "asked", "between", "clipped", "dating", "fetched_at", "header", "lag", "line", "listed", "locator",
        "modified", "number", "place", "problem", "release_id", "released_by", "released_on", "repeat",
        "running", "seen_at", "tickers", "undated", "written",
    )
)  # fmt: skip


# `json.dumps` would create an encoder for each record.
_SPELL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str).encode


def evidence_of(run: RunFacts, record: Record, *parts: Any, content: Any = None) -> str:
    """Return the evidence of a record: the address of the request, the hash of its content, and its name.

    The evidence does not depend on the rest of the answer or on the time of the request.

    Args:
        parts: The name, which must be unique in its dataset.
        content: The value to hash (default: the record without the fields in OURS).
    """
    again = (f"again-{record[TWICE]}",) if TWICE in record else ()
    name = "/".join("" if part is None else str(part) for part in (*parts, *again))
    if content is None:
        content = sorted([(str(key), value) for key, value in record.items() if key not in OURS], key=itemgetter(0))
    digest = hashlib.sha256(_SPELL(content).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{run.location}#sha256={digest}&item={quote(name, safe='/:', errors='replace')}"


def parsed_or_text(parser: Callable[[Any], Hashable], value: Any) -> Hashable:
    """Return the parsed value, so that different formats share one key, or the text if it can't be parsed."""
    try:
        return parser(value)
    except Unreadable:
        return str(value)


def mark_repeats(
    came: Iterable[Came], key: Callable[[Record], Hashable], content: Callable[[Record], object] = dict
) -> Iterator[Came]:
    """Yield the records, marked TWICE if an earlier record has the same key and different content.

    The mark contains the number of earlier records. Without marks, two records with one key would fail the whole run.
    """
    first: dict[Hashable, object] = {}
    count: dict[Hashable, int] = {}
    for record, capture in came:
        name, told_content = key(record), content(record)
        if told_content == first.setdefault(name, told_content):
            yield record, capture
        else:
            count[name] = count.get(name, 0) + 1
            yield {**record, TWICE: count[name]}, capture
