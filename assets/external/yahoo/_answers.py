"""Shared code of Yahoo's feeds: parsers for the envelope, and for plain or wrapped numbers."""

from typing import Any

from assets.feeds import fields
from pitlake.errors import Unparsable
from resources.http.capture import Capture

ABSENT = {"", "-", "--", "N/A", "None", "null", "nan", "NaN"}


def results(capture: Capture, envelope: str) -> list[Any]:
    """Return the results in an answer's envelope. Raises Unparsable."""
    answer = capture.json()
    inside = answer.get(envelope) if isinstance(answer, dict) else None
    results = inside.get("result") if isinstance(inside, dict) else None
    if not isinstance(results, list):
        raise Unparsable(capture.evidence, "the answer has no results")
    return results


def number(value: Any) -> float | None:
    """Return a finite number, plain, as text, or wrapped as {"raw": ...}; None when absent. Raises Unreadable."""
    if isinstance(value, dict):
        value = value.get("raw")
    return None if is_absent(value) else fields.number(value)


def is_absent(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip() in ABSENT)


required_number = fields.required(number)
