"""A slow reference implementation of content_hash in plain Python, written only from its description."""

import hashlib
import math
import struct
from datetime import date

from pitlake.clock import micros

EPOCH = date(1970, 1, 1)


def slow_text(value):
    return b"\xff\xff\xff\xff" if value is None else struct.pack("<i", len(value.encode())) + value.encode()


def slow_encoding(kinds, row):
    head, texts = b"", b""
    for kind, value in zip(kinds, row, strict=True):
        if kind in ("string", "json", "strings"):
            text = b"".join(map(slow_text, value or [])) if kind == "strings" else (value or "").encode()
            head += struct.pack("<i", -1 if value is None else len(text))
            texts += text
        elif value is None:
            head += bytes(9)
        elif kind == "float":
            head += b"\x01" + struct.pack("<d", math.nan if math.isnan(value) else value + 0.0)
        else:
            number = {"date": lambda d: (d - EPOCH).days, "instant": micros}.get(kind, int)(value)
            head += b"\x01" + struct.pack("<q", number)
    return head + texts


def slow_hash(kinds, row):
    return hashlib.sha256(slow_encoding(kinds, row)).digest()[:16]
