"""Readers of Alpha Vantage's spellings: numbers as text, and "None", "-" or nothing for a missing one.

Also the units every feed of it shares.
"""

from collections.abc import Sequence
from typing import Any

from assets.feeds import fields
from assets.feeds.feed import Scope, Unit
from pitlake.errors import BadInput, Unparsable, Unreadable

ABSENT = {"", "-", "None", "null", "nan"}
PATH = "/query"


def is_absent(value: Any) -> bool:
    """Return whether a field says nothing."""
    return value is None or (isinstance(value, str) and value.strip() in ABSENT)


def number(value: Any) -> float | None:
    """Return a finite number; None when absent. Raises Unreadable."""
    return None if is_absent(value) else fields.number(value)


def required_number(value: Any) -> float:
    """Return a finite number that may not be missing. Raises Unreadable."""
    parsed_number = number(value)
    if parsed_number is None:
        raise Unreadable("a number is required")
    return parsed_number


def word(value: Any) -> str | None:
    """Return a name or an enumeration; None when absent. Raises Unreadable."""
    return None if is_absent(value) else fields.word(value)


def answer_about(ticker: str, symbol: Any, evidence: str) -> None:
    """Raise Unparsable for an answer that names another symbol."""
    if symbol is not None and str(symbol).strip().upper() != ticker:
        raise Unparsable(evidence, "the answer is about another symbol")


def one_a_ticker(scope: Scope) -> Sequence[Unit]:
    """Return one unit per ticker, each once. Raises BadInput when the scope names none."""
    tickers = list(dict.fromkeys(ticker.strip().upper() for ticker in scope.tickers if ticker.strip()))
    if not tickers:
        raise BadInput("tickers", "none is given", "name at least one, such as AAPL")
    return [Unit(ticker, scope) for ticker in tickers]
