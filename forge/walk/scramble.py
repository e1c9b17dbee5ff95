"""Reversible replacement of numbers and addresses by others of the same form.

This is not encryption. It only prevents a model from recognising data from its training.
"""

import base64
import re
from hashlib import sha256
from itertools import count

ROUNDS = 4
SITE = "https://site.example/"
_LINK = re.compile(
    r"https?://[^\s\"'<>|)\]}]+|(?<![\w@./-])(?:[\w-]+\.)+(?:com|net|org|gov|edu|io)(?!\w|[.-]\w)(?:/[^\s\"'<>|)\]}]*)?"
)
_HIDDEN = re.compile(re.escape(SITE) + r"([a-z2-7]+)")


def scramble(digits: str, *, back: bool = False) -> str:
    """Return different digits of the same length, or with `back` the original ones, by a Feistel network."""
    middle = len(digits) // 2
    left, right = digits[:middle], digits[middle:]
    for number in reversed(range(ROUNDS)) if back else range(ROUNDS):
        if number % 2:
            left = _add(left, _stream(f"{number}{right}"), back=back)
        else:
            right = _add(right, _stream(f"{number}{left}"), back=back)
    return left + right


def hide_links(text: str) -> str:
    """Replace all web addresses of a text by addresses of one site, with paths that `show_links` can read."""
    return _LINK.sub(
        lambda match: SITE + base64.b32encode(_mixed(match[0].encode())).decode().rstrip("=").lower(), text
    )


def show_links(text: str) -> str:
    """Undo `hide_links`. Other addresses do not change."""

    def original(match: re.Match[str]) -> str:
        padding = "=" * (-len(match[1]) % 8)
        try:
            return _mixed(base64.b32decode(match[1].upper() + padding)).decode() or match[0]
        except ValueError:
            return match[0]

    return _HIDDEN.sub(original, text)


def _mixed(content: bytes) -> bytes:
    blocks = (sha256(f"link{number}".encode()).digest() for number in count())
    stream = (part for block in blocks for part in block)
    return bytes(part ^ mask for part, mask in zip(content, stream, strict=False))


def _add(digits: str, number: int, *, back: bool) -> str:
    size = 10 ** len(digits)
    return f"{(int(digits) + (-number if back else number)) % size:0{len(digits)}d}"


def _stream(seed: str) -> int:
    return int.from_bytes(sha256(seed.encode()).digest()[:8])
