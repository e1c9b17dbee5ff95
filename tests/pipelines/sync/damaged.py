"""Damaged members of EDGAR's bulk files: 26 kinds, and each makes its company unreadable."""

import json
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

LOCAL, CENTRAL = 30, b"PK\x01\x02"
OTHER = 999_999


def changed(content: bytes, change: Callable[[dict], object]) -> bytes:
    answer = json.loads(content)
    change(answer)
    return json.dumps(answer).encode()


def part(answer: dict) -> tuple[dict, str]:
    """Return the object with a response's data, and the name of its first member: a taxonomy, or the recent filings."""
    data = answer["facts" if "facts" in answer else "filings"]
    return data, next(iter(data))


def inner(answer: dict) -> tuple[dict, str]:
    """Return the units of a concept or the columns of filings, one level deeper, and the name of the first member."""
    data, name = part(answer)
    inside = data[name] if "filings" in answer else next(iter(data[name].values()))["units"]
    return inside, next(iter(inside))


def replaced(place: Callable[[dict], tuple[dict, str]], value: object) -> Callable[[bytes], bytes]:
    def change(answer: dict) -> None:
        inside, name = place(answer)
        inside[name] = value

    return lambda content: changed(content, change)


CONTENTS: Mapping[str, Callable[[bytes], bytes]] = {
    "a list": lambda _: b"[]",
    "null": lambda _: b"null",
    "a number": lambda _: b"7",
    "a text": lambda _: b'"text"',
    "an object": lambda _: b"{}",
    "nothing": lambda _: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "a page": lambda _: b"<!DOCTYPE html><html><body>503</body></html>",
    "bytes": lambda content: b"\xff\xfe\x00" + content[:40],
    "huge number": lambda content: content[:-1] + b', "x": ' + b"9" * 5000 + b"}",
    "deep": lambda _: b"[" * 100_000,
    "another company": lambda content: changed(content, lambda answer: answer.update(cik=OTHER)),
    "no company": lambda content: changed(content, lambda answer: answer.pop("cik")),
    "company is a list": lambda content: changed(content, lambda answer: answer.update(cik=[])),
    "data gone": lambda content: changed(content, lambda answer: answer.pop(next(reversed(answer)))),
    "data null": lambda content: changed(content, lambda answer: answer.update({next(reversed(answer)): None})),
    "data a list": lambda content: changed(content, lambda answer: answer.update({next(reversed(answer)): [1] * 77})),
    "part null": replaced(part, None),
    "part a number": replaced(part, 1),
    "inner null": replaced(inner, None),
    "inner of numbers": replaced(inner, [1] * 77),
}
ARCHIVES = ("flipped", "header", "encrypted", "compression", "checksum", "too large")
KINDS = (*CONTENTS, *ARCHIVES)


def applies(kind: str, content: bytes) -> bool:
    """Return whether a kind of damage applies. Pages of older filings have no company, facts or filings to replace."""
    return b'"cik"' in content or not (kind.startswith(("part", "inner")) or "company" in kind)


def write(path: Path, members: Mapping[str, bytes], damages: Mapping[str, str]) -> None:
    """Write a bulk file. damages: the kind of damage by the member's name."""
    contents = {name: CONTENTS.get(damages.get(name, ""), bytes)(content) for name, content in members.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
        entries = {entry.filename: entry for entry in archive.infolist()}
    raw = bytearray(path.read_bytes())
    for name, kind in damages.items():
        if kind in ARCHIVES:
            _damage(raw, entries[name], kind)
    path.write_bytes(raw)


def _damage(raw: bytearray, entry: zipfile.ZipInfo, kind: str) -> None:
    start = entry.header_offset
    listing = raw.rindex(entry.filename.encode()) - 46
    assert raw[listing : listing + 4] == CENTRAL
    if kind == "flipped":
        raw[start + LOCAL + len(entry.filename) + entry.compress_size // 2] ^= 0x55
    elif kind == "header":
        raw[start : start + 4] = bytes(4)
    elif kind == "encrypted":
        raw[listing + 8] |= 1
        raw[start + 6] |= 1
    elif kind == "compression":
        struct.pack_into("<H", raw, listing + 10, 77)
    elif kind == "checksum":
        struct.pack_into("<I", raw, listing + 16, 0)
    else:
        struct.pack_into("<I", raw, listing + 24, 1 << 31)
