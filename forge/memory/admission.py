"""Checks that a text can be stored and that the gate would accept it."""

import json
import re

from forge.core.errors import ContentRefused
from pitlake.clock import iso
from pitlake.gate import rules

MOST_CHARACTERS = 1_000_000
SOURCE = "provider_metadata"
_UNSTORED = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_KEY = re.compile(r'"(?:[^"\\]|\\.)*"(?=\s*:)')


def admit(content: str) -> None:
    """Raise ContentRefused, which gives the line, if a text may not be written."""
    if len(content) > MOST_CHARACTERS:
        raise ContentRefused(1, f"the text has {len(content):,} characters", f"keep it under {MOST_CHARACTERS:,}")
    if match := _UNSTORED.search(content):
        line = content.count("\n", 0, match.start()) + 1
        raise ContentRefused(line, f"contains the character U+{ord(match[0]):04X}", "leave it out")
    item = {"available_at": iso(_ANY), "available_at_source": SOURCE, "content": content}
    if verdict := rules.check_item(item, None, "content"):
        line = 1  # if no forbidden key can be located
        for match in _KEY.finditer(content):
            try:
                name = json.loads(match[0])
            except ValueError:
                continue
            if rules.is_forbidden_key(name):
                line = content.count("\n", 0, match.start()) + 1
                break
        raise ContentRefused(line, f"the gate refuses it ({verdict.code})", "leave that field out")


_ANY = rules.parse_instant("2000-01-01T00:00:00Z")
