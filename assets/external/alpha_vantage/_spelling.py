"""Parsers for Alpha Vantage's formats: numbers as text, and "None", "-" or nothing for a missing number."""

from typing import Any

from assets.feeds import fields
from pitlake.errors import Unparsable

ABSENT = {"", "-", "None", "null", "nan"}
PATH = "/query"


def is_absent(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip() in ABSENT)


def number(value: Any) -> float | None:
    """Return a finite number; None when absent. Raises Unreadable."""
    return None if is_absent(value) else fields.number(value)


required_number = fields.required(number)


def word(value: Any) -> str | None:
    """Return a name or an enumeration value; None when absent. Raises Unreadable."""
    return None if is_absent(value) else fields.word(value)


def answer_about(ticker: str, symbol: Any, evidence: str) -> None:
    """Raise Unparsable for an answer that names another symbol."""
    if symbol is not None and str(symbol).strip().upper() != ticker:
        raise Unparsable(evidence, "the answer is about another symbol")
