"""JSON that others wrote, read as text that can be stored: an escaped half of a surrogate pair becomes U+FFFD.

Called wherever an outside answer or a graph's property is read.
"""

import json
import re
from typing import Any

_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LONE = re.compile("[\ud800-\udfff]")  # whole pairs are one character once JSON is read
REPLACEMENT = "\ufffd"


def loads(spelled: str, **hooks: Any) -> Any:
    """Parse as `json.loads` does, with its hooks. Raises ValueError for what is not JSON or names a member twice once
    its names are mended, RecursionError for what is too deep.
    """
    return mended(json.loads(spelled, **hooks), spelled)


def mended(value: Any, spelled: str) -> Any:
    """Return what a JSON text was read as, fit to be stored. Raises ValueError as `loads` does."""
    return _mended(value) if _ESCAPED_SURROGATE.search(spelled) else value


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub(REPLACEMENT, value)
    if isinstance(value, list):
        return [_mended(member) for member in value]
    if isinstance(value, dict):
        members = {_mended(name): _mended(member) for name, member in value.items()}
        if len(members) < len(value):
            raise ValueError("a member is named twice")
        return members
    return value
