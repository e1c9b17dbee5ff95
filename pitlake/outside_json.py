"""Parses JSON of other systems into text that can be stored: an unpaired escaped surrogate becomes U+FFFD.

It parses every response of an outside source and every property of the graph.
"""

import json
import re
from typing import Any

_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LONE = re.compile("[\ud800-\udfff]")  # After parsing, a complete pair is one character, so what remains is unpaired.
REPLACEMENT = "\ufffd"


def loads(spelled: str, **hooks: Any) -> Any:
    """Parse like `json.loads`, with its hooks. Raises ValueError for invalid JSON and for duplicate names after the
    replacement, RecursionError for text that is nested too deeply.
    """
    return mended(json.loads(spelled, **hooks), spelled)


def mended(value: Any, spelled: str) -> Any:
    """Return parsed JSON in a form that can be stored. Raises ValueError like `loads`."""
    return _mended(value) if _ESCAPED_SURROGATE.search(spelled) else value


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub(REPLACEMENT, value)
    if isinstance(value, list | tuple):  # A hook may make tuples.
        return type(value)(map(_mended, value))
    if isinstance(value, dict):
        members = {_mended(name): _mended(member) for name, member in value.items()}
        if len(members) < len(value):
            raise ValueError("a member is named twice")
        return members
    return value
