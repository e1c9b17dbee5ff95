"""What Yahoo's feeds share: its envelope, its numbers (plain or wrapped), and one unit a ticker."""

from collections.abc import Sequence
from typing import Any

from assets.feeds import fields
from assets.feeds.feed import Scope, Unit
from pitlake.errors import BadInput, Unparsable, Unreadable
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
    """Return whether a field says nothing."""
    return value is None or (isinstance(value, str) and value.strip() in ABSENT)


def required_number(value: Any) -> float:
    """Return a number that may not be missing. Raises Unreadable."""
    parsed_number = number(value)
    if parsed_number is None:
        raise Unreadable("a number is required")
    return parsed_number


def one_a_ticker(scope: Scope) -> Sequence[Unit]:
    """Return one unit per ticker, each once. Raises BadInput when the scope names none."""
    tickers = list(dict.fromkeys(ticker.strip().upper() for ticker in scope.tickers if ticker.strip()))
    if not tickers:
        raise BadInput("tickers", "none is given", "name at least one, such as AAPL")
    return [Unit(ticker, scope) for ticker in tickers]
