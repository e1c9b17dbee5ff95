"""The gate's rules for one JSON item or envelope, and the strict instant they use.

This file uses only the standard library and supports Python 3.9, because the Claude Code hook runs it without pitlake's
dependencies. `pitlake.gate.columnar` gives the same verdicts for Arrow tables. No input/output happens here.
"""

from __future__ import annotations

import json
import re
import unicodedata
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta, timezone
from functools import lru_cache
from numbers import Number
from typing import Any, NamedTuple

CODES = (
    "PIT_PARSE_ERROR", "PIT_INVALID_PIT", "PIT_INVALID_JSON", "PIT_MISSING_ENVELOPE", "PIT_INVALID_ITEM_TYPE",
    "PIT_MISSING_AVAILABLE_AT", "PIT_INVALID_AVAILABLE_AT_FORMAT", "PIT_MISSING_TZ", "PIT_INVALID_AVAILABLE_AT_SOURCE",
    "PIT_VIOLATION_GT_CUTOFF", "PIT_FORBIDDEN_FIELD",
)  # fmt: skip
SOURCES = ("neo4j_created", "edgar_accepted", "time_series_timestamp", "provider_metadata")
PROOF = ("available_at", "available_at_source", "evidence")
COMPUTED, NEWEST_INPUT = "computed", "newest_input_at"
GAP_TYPES = ("no_data", "pit_excluded", "unverifiable", "upstream_error")
ANSWER_GAPS = (*GAP_TYPES, "bad_input")
FORBIDDEN_KEYS = frozenset(
    f"{window}_{benchmark}"
    for window in ("hourly", "session", "daily")
    for benchmark in ("stock", "macro", "industry", "sector")
) | {"daily_return"}
FAULTS = ("empty", "date_only", "naive", "impossible", "out_of_range", "too_precise", "not_iso")
MAX_DEPTH = 200
_SHAPE = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MICROSECOND_DIGITS, _MAX_INT_DIGITS = 6, 4300

# Invisible characters of a key: blanks, controls, combining marks, joiners, fillers, selectors, half surrogates.
UNSEEN = (
    (0x00, 0x20), (0x7F, 0xA0), (0xAD, 0xAD), (0x300, 0x36F), (0x483, 0x489), (0x61C, 0x61C), (0x115F, 0x1160),
    (0x1680, 0x1680), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x2000, 0x200F),
    (0x2028, 0x202F), (0x205F, 0x206F), (0x20D0, 0x20FF), (0x2800, 0x2800), (0x3000, 0x3000), (0x3164, 0x3164),
    (0xD800, 0xDFFF), (0xFE00, 0xFE0F), (0xFE20, 0xFE2F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
_UNSEEN_CLASS = "".join(f"{chr(low)}-{chr(high)}" for low, high in UNSEEN)
_UNSEEN = re.compile(f"[{_UNSEEN_CLASS}]+")
# Letters of other scripts that look like the Latin ones above them.
_LOOK_ALIKES = str.maketrans(
    "асԁеһіӏоѕукмтнүոօսհαικοτυıɩɑᴀᴄᴅᴇʜɪᴋʟᴍɴᴏʀꜱᴛᴜʏ‿",
    "acdehilosykmthynouhaikotuiiaacdehiklmnorstuy_",
)
_OPENER = re.compile(f'[{_UNSEEN_CLASS}]*[\\[{{"]')
_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
_ESCAPE = re.compile(r"(?<!\\)\\+u([0-9a-fA-F]{4})")
_ESCAPES_IN_ESCAPES, _SHOWN_STEPS = 8, 8
_QUOTES = "\"'`“”‘’"
_KEY_IN_BROKEN_JSON = re.compile(f"[{{,{_QUOTES}](?:{'|'.join(sorted(FORBIDDEN_KEYS))})[{_QUOTES}]?[:=]")
_SHOWN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")
# The fields that the lake's interfaces add to an envelope, with their formats. None of them can contain a row.
_FRAME = frozenset(("data", "gaps", "truncated", "next_cursor", "receipt"))
_HASH = re.compile(r"[0-9a-f]{32,64}")
_NOTE = (
    r"[A-Z0-9.-]{,12}: (no company is known by it( as of [0-9TZ:.-]{20,27})?|rows that bear it are read with hindsight"
    r"|rows (of CIK [0-9, ]+ that bear [A-Z0-9., -]+|that bear [A-Z0-9.-]{1,12} after [0-9TZ:.-]{20,27}, stated "
    r"[0-9]+ days before,) are read with hindsight"
    r"|(ticker by today's list, )?read as CIK [0-9, ]+, with hindsight(; not [0-9, ]+)?)"
)
_RECEIPT = {
    "known_by": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?Z"),
    "rows": re.compile(r"[0-9]{1,18}"),
    **dict.fromkeys(("sql_sha256", "result_sha256"), _HASH),
    "exposure": re.compile(r"clean|exposed"),
    "note": re.compile(rf"{_NOTE}(; {_NOTE})*"),
    "hindsight": re.compile(r"(?:[a-z][a-z0-9_]{0,39}\.[a-z][a-z0-9_]{0,39}(?:, |$))+"),
}
_TEXTS = (str, bytes, bytearray)
_LOOKED_THROUGH = (dict, list, tuple, set, frozenset, *_TEXTS)
_OPAQUE = object()
_COMMON_LEAVES = frozenset((type(None), bool, int, float))
_LEAVES = (Number, date, time, timedelta)


class InstantFault(ValueError):
    """A string that is not a strict instant. `fault` is one of FAULTS, `detail` a short reason without the string."""

    def __init__(self, fault: str, detail: str) -> None:
        super().__init__(f"{fault}: {detail}")
        self.fault, self.detail = fault, detail


class Verdict(NamedTuple):
    """A violation of a rule: a code of CODES, and a detail that names places, never values."""

    code: str
    detail: str


class Pairs(list[tuple[Any, Any]]):
    """The (key, value) pairs of an object in order. A dict would hide all but one value of a repeated key."""


def parse_instant(text: Any) -> datetime:
    """Parse a strict ISO-8601 instant (`2024-02-15T16:00:00[.ffffff](Z|±HH:MM)`) as an aware UTC datetime.

    Raises InstantFault with the fault: date-only, naive, impossible (no such day, hour, second or offset), out of range
    (before year 1 or after 9999 in UTC), finer than a microsecond, or not ISO-8601 at all.
    """
    if not isinstance(text, str) or not text.strip():
        raise InstantFault("empty", "no timestamp text")
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        if _DATE.fullmatch(text):
            raise InstantFault("date_only", "a date without time and offset is not an instant")
        raise InstantFault("not_iso", "expected YYYY-MM-DDTHH:MM:SS with Z or an offset like -05:00")
    *parts, fraction, offset = shape.groups()
    if offset is None:
        raise InstantFault("naive", "the offset is missing")
    digits = (fraction or "").ljust(_MICROSECOND_DIGITS, "0")
    if digits[_MICROSECOND_DIGITS:].strip("0"):
        raise InstantFault("too_precise", "instants in the lake are no finer than microseconds")
    if parts[0] == "0000":
        raise InstantFault("out_of_range", "outside the years 1 to 9999 in UTC")
    try:
        year, month, day, hour, minute, second = map(int, parts)
        local = datetime(year, month, day, hour, minute, second, int(digits[:_MICROSECOND_DIGITS]))
    except ValueError:
        raise InstantFault("impossible", "no such day or time of day") from None
    if offset == "Z":
        return local.replace(tzinfo=timezone.utc)
    if (hours := int(offset[1:3])) > 23 or (minutes := int(offset[4:6])) > 59:
        raise InstantFault("impossible", "no such offset")
    shift = timedelta(hours=hours, minutes=minutes)
    try:
        shifted = local - shift if offset[0] == "+" else local + shift
    except OverflowError:
        raise InstantFault("out_of_range", "outside the years 1 to 9999 in UTC") from None
    return shifted.replace(tzinfo=timezone.utc)


def is_forbidden_key(key: Any) -> bool:
    """Return whether a key names a forward return, in any case, width or look-alike letters."""
    return _names_a_return(_text(key))


@lru_cache(maxsize=4096)
def _names_a_return(key: str) -> bool:
    if key in FORBIDDEN_KEYS:
        return True
    if key.isascii() and (len(key) < min(map(len, FORBIDDEN_KEYS)) or "_" not in key):
        return False
    return _folded(key) in FORBIDDEN_KEYS


def _folded(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text).casefold().translate(_LOOK_ALIKES)
    return _UNSEEN.sub("", text.lower())


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return value.decode("utf-8", "replace") if isinstance(value, (bytes, bytearray)) else str(value)


def forbidden_path(value: Any, depth: int = 0, root: str = "$") -> str | None:
    """Return the path of the first forbidden key at any depth, including JSON inside strings, or None.

    Values that cannot be searched count as forbidden: nesting deeper than MAX_DEPTH, and values that are neither JSON
    nor plain scalars. `depth` and `root` give the value's place in an item. The path shows keys that look like names.
    Any other key is data and is shown as `*`.
    """
    stack: list[tuple[Any, int, Any]] = [] if _holds_nothing(value) else [(value, depth, (None, root))]
    while stack:
        current, level, trail = stack.pop()
        if level > MAX_DEPTH or not isinstance(current, _LOOKED_THROUGH):
            return _path(trail)
        for key, child in _steps(current):
            if key is not None and is_forbidden_key(key):
                return _path((trail, key))
            if not _holds_nothing(child):
                stack.append((child, level + 1, (trail, key)))
    return None


def _holds_nothing(value: Any) -> bool:
    kind = type(value)
    if kind is str:
        return _OPENER.match(value) is None
    return kind in _COMMON_LEAVES or isinstance(value, _LEAVES)


def _steps(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return the (key, child) pairs inside a value; the key is None for elements of an array and JSON in strings."""
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, Pairs):
        return value
    if isinstance(value, _TEXTS):
        return ((None, json_inside(_text(value))),)
    return ((None, child) for child in value)


def _path(trail: Any) -> str:
    steps: list[str] = []
    while trail is not None:
        trail, key = trail
        steps.append("*" if key is None else _shown(_text(key)))
    steps.reverse()
    return ".".join(steps[:_SHOWN_STEPS] + ["…"] * (len(steps) > _SHOWN_STEPS))


def _shown(key: str) -> str:
    if is_forbidden_key(key):
        return _folded(key)
    return key if key == "$" or _SHOWN_KEY.fullmatch(key) else "*"


def json_inside(text: str) -> Any:
    """Parse the JSON in a string: objects as Pairs, None for plain text, an opaque object if it is refused.

    It refuses JSON nested deeper than MAX_DEPTH, and broken JSON that spells a forbidden key or may hide one in
    escapes.
    """
    if (opener := _OPENER.match(text)) is None:
        return None
    if _nests_too_deep(text):
        return _OPAQUE
    try:
        return _DECODER.decode(text[opener.end() - 1 :])
    except RecursionError:
        return _OPAQUE
    except ValueError:
        return _OPAQUE if _spells_a_forbidden_key(text) else None


def _nests_too_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = 0
    for token in _BRACKETS.finditer(text):
        bracket = token.group()
        if bracket in ("[", "{"):
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif bracket in ("]", "}"):
            depth -= 1
    return False


def _spells_a_forbidden_key(text: str) -> bool:
    for _ in range(_ESCAPES_IN_ESCAPES):
        escaped, text = text, _ESCAPE.sub(lambda escape: chr(int(escape.group(1), 16)), text)
        if text == escaped:
            break
    else:
        return True
    return _KEY_IN_BROKEN_JSON.search(_folded(text.replace("\\", ""))) is not None


# Numbers hide no keys, and Python refuses to read very long ones.
_DECODER = json.JSONDecoder(
    object_pairs_hook=Pairs, parse_int=bool, parse_float=bool, parse_constant=bool, strict=False
)


def check_item(item: Any, cutoff: datetime | None, place: str = "item") -> Verdict | None:
    """Return the first rule that a data item breaks, or None. `cutoff` is an aware datetime; None skips the cut-off."""
    if cutoff is not None and not is_instant(cutoff):
        return Verdict("PIT_INVALID_PIT", "the cut-off is not an aware datetime")
    if not isinstance(item, dict):
        return Verdict("PIT_INVALID_ITEM_TYPE", f"{place} is not an object")
    if (path := forbidden_path(item)) is not None:
        return _forbidden(place, path)
    return check_clock(item.get("available_at"), item.get("available_at_source"), cutoff, place)


def is_instant(value: Any) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None and value.utcoffset() is not None


def _forbidden(place: str, path: str) -> Verdict:
    return Verdict("PIT_FORBIDDEN_FIELD", f"{place} has a forbidden key, or a part that cannot be searched, at {path}")


def check_clock(available_at: Any, source: Any, cutoff: datetime | None, place: str = "item") -> Verdict | None:
    """Return the first rule that a row's `available_at` (a string) and source tag break, or None."""
    verdict = _check_moment(available_at, cutoff, place, "available_at")
    if (verdict is None or verdict.code == "PIT_VIOLATION_GT_CUTOFF") and source not in SOURCES:
        sources = ", ".join(SOURCES)
        return Verdict("PIT_INVALID_AVAILABLE_AT_SOURCE", f"{place} available_at_source is not one of {sources}")
    return verdict


def _check_moment(text: Any, cutoff: datetime | None, place: str, name: str) -> Verdict | None:
    """Return the first rule that an item's instant of this name breaks, or None."""
    if not isinstance(text, str) or not text:
        return Verdict("PIT_MISSING_AVAILABLE_AT", f"{place} has no {name} text")
    try:
        instant = parse_instant(text)
    except InstantFault as fault:
        code = "PIT_MISSING_TZ" if fault.fault == "naive" else "PIT_INVALID_AVAILABLE_AT_FORMAT"
        return Verdict(code, f"{place} {name} is {fault.fault}")
    if cutoff is not None and instant > cutoff:
        return Verdict("PIT_VIOLATION_GT_CUTOFF", f"{place} became available after the cut-off")
    return None


def check_envelope(payload: Any, pit: Any) -> Verdict | None:
    """Return the first rule that an envelope `{"data": […], "gaps": […]}` breaks at the cut-off `pit`, or None.

    The checks run in this order: the cut-off, the object, the envelope, forbidden keys anywhere (also in gaps), each
    item, each gap. A gap must be an object of a known type, and its `available_at`, if any, must not be later than the
    cut-off. A `computed` item has no proof, only the newest instant of its inputs.
    """
    try:
        cutoff = parse_instant(pit)
    except InstantFault as fault:
        return Verdict("PIT_INVALID_PIT", f"the cut-off is {fault.fault}")
    if not isinstance(payload, dict):
        return Verdict("PIT_INVALID_JSON", "the payload is not a JSON object")
    for name, fallback in (("data", None), ("gaps", [])):
        if not isinstance(payload.get(name, fallback), list):
            return Verdict("PIT_MISSING_ENVELOPE", f"the payload has no {name} array")
    if (path := forbidden_path(payload)) is not None:
        return _forbidden("the payload", path)
    for name, check in (("data", _check_data), ("gaps", _check_gap)):
        for index, item in enumerate(payload.get(name, [])):
            place = f"{name}[{index}]"
            if not isinstance(item, dict):
                return Verdict("PIT_INVALID_ITEM_TYPE", f"{place} is not an object")
            if (verdict := check(item, cutoff, place)) is not None:
                return verdict
    return None


def _check_data(item: dict[str, Any], cutoff: datetime, place: str) -> Verdict | None:
    if item.get(COMPUTED) is not True:
        return check_clock(item.get("available_at"), item.get("available_at_source"), cutoff, place)
    if any(item.get(name) is not None for name in PROOF):
        return Verdict("PIT_INVALID_AVAILABLE_AT_SOURCE", f"{place} is computed but has proof")
    return _check_moment(item.get(NEWEST_INPUT), cutoff, place, NEWEST_INPUT)


def _check_gap(gap: dict[str, Any], cutoff: datetime, place: str) -> Verdict | None:
    if str(gap.get("type")) not in ANSWER_GAPS:
        return Verdict("PIT_INVALID_ITEM_TYPE", f"{place} type is not one of {', '.join(ANSWER_GAPS)}")
    return None if (at := gap.get("available_at")) is None else _check_moment(at, cutoff, place, "available_at")


def check_text(text: Any, pit: Any) -> Verdict | None:
    """Check JSON text as `check_envelope` does. Duplicate keys, NaN and too long numbers are refused. Never raises."""
    try:
        parse_instant(pit)
    except InstantFault as fault:
        return Verdict("PIT_INVALID_PIT", f"the cut-off is {fault.fault}")
    try:
        return check_envelope(strict_json(text), pit)
    except (ValueError, TypeError, RecursionError):
        return Verdict("PIT_INVALID_JSON", "the payload is not strict JSON")
    except Exception:  # noqa: BLE001  The only boundary of this module: a gate that fails lets nothing through.
        return Verdict("PIT_PARSE_ERROR", "the gate itself failed, so it lets nothing pass")


def check_answer(payload: Any, pit: Any) -> Verdict | None:
    """Check a tool's answer like `check_envelope`. Only the lake's own paging fields may accompany the envelope.

    A receipt of a later instant, or without one, is a violation, because its answer may reveal the future.
    """
    if (verdict := check_envelope(payload, pit)) is not None:
        return verdict
    if not payload.keys() <= _FRAME:
        return Verdict("PIT_MISSING_ENVELOPE", f"the payload holds keys other than {', '.join(sorted(_FRAME))}")
    if not _is_cursor(payload.get("next_cursor")):
        return Verdict("PIT_MISSING_ENVELOPE", "next_cursor is not a cursor")
    if not isinstance(payload.get("truncated", False), bool):
        return Verdict("PIT_MISSING_ENVELOPE", "truncated is neither true nor false")
    receipt = payload.get("receipt")
    if receipt is None:
        return None
    if not isinstance(receipt, dict) or not receipt.keys() <= {"as_of", *_RECEIPT}:
        return Verdict("PIT_MISSING_ENVELOPE", "the receipt is not a receipt of the lake")
    for name, shape in _RECEIPT.items():
        value = receipt.get(name)
        if isinstance(value, (bool, float)) or not (value is None or shape.fullmatch(_text(value))):
            return Verdict("PIT_MISSING_ENVELOPE", f"the receipt's {name} is not valid")
    try:
        late = parse_instant(receipt.get("as_of")) > parse_instant(pit)
    except InstantFault:
        late = True
    return Verdict("PIT_VIOLATION_GT_CUTOFF", "the receipt is not of the cut-off or earlier") if late else None


def _is_cursor(cursor: Any) -> bool:
    """Return whether a cursor is None or one of the lake's: a count and three hashes in base64."""
    if cursor is None:
        return True
    try:
        text = cursor.translate(str.maketrans("-_", "+/"))
        decoded = json.loads(a2b_base64(text))
        plain = b2a_base64(json.dumps(decoded, separators=(",", ":")).encode(), newline=False).decode() == text
        return plain and [*map(type, decoded)] == [int, str, str, str] and all(map(_HASH.fullmatch, decoded[1:]))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return False


def read_call(text: Any) -> dict[str, Any] | Verdict:
    """Parse the JSON object of a tool call that the hook receives, or return the verdict PIT_PARSE_ERROR."""
    try:
        call = strict_json(text)
    except (ValueError, TypeError, RecursionError):
        call = None
    return call if isinstance(call, dict) else Verdict("PIT_PARSE_ERROR", "the call is not a JSON object")


def strict_json(text: Any) -> Any:
    """Parse JSON text. Raises ValueError, TypeError or RecursionError if readers could interpret it differently."""
    if not isinstance(text, (str, bytes)):
        raise TypeError("not a text")
    return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refused, parse_int=_bounded_int)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise ValueError("duplicate keys")
    return unique


def _refused(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _bounded_int(digits: str) -> int:
    if len(digits) > _MAX_INT_DIGITS:
        raise ValueError("a number too long to read")
    return int(digits)
