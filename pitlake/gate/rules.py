"""The gate's rules over one JSON item or envelope, and the strict instant they rest on.

Standard library only, Python 3.9 or newer, importable without pitlake's dependencies: the Claude Code hook runs this
very file. `pitlake.gate.columnar` gives the same verdicts over Arrow tables. No input/output happens here.
"""

import json
import re
import unicodedata
from datetime import datetime, timedelta, timezone
from typing import Any, Iterator, NamedTuple, Optional

CODES = (
    "PIT_PARSE_ERROR",
    "PIT_INVALID_PIT",
    "PIT_INVALID_JSON",
    "PIT_MISSING_ENVELOPE",
    "PIT_INVALID_ITEM_TYPE",
    "PIT_MISSING_AVAILABLE_AT",
    "PIT_INVALID_AVAILABLE_AT_FORMAT",
    "PIT_MISSING_TZ",
    "PIT_INVALID_AVAILABLE_AT_SOURCE",
    "PIT_VIOLATION_GT_CUTOFF",
    "PIT_FORBIDDEN_FIELD",
)

SOURCES = ("neo4j_created", "edgar_accepted", "time_series_timestamp", "provider_metadata")

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
_MICROSECOND_DIGITS = 6


class InstantFault(ValueError):
    """A text that is no strict instant. `fault` is one of FAULTS, `detail` a short reason that echoes no input."""

    def __init__(self, fault: str, detail: str) -> None:
        self.fault, self.detail = fault, detail
        super().__init__(f"{fault}: {detail}")


class Verdict(NamedTuple):
    """What the gate found wrong: a code of CODES and a detail that names places, never values."""

    code: str
    detail: str


def parse_instant(text: Any) -> datetime:
    """A strict ISO-8601 instant (`2024-02-15T16:00:00[.ffffff](Z|±HH:MM)`) as an aware UTC datetime.

    Raises InstantFault naming the fault: date-only, naive, impossible (no such day, hour, second or offset),
    out of range (before year 1 or after 9999 in UTC), finer than a microsecond, or not ISO-8601 at all.
    """
    if not isinstance(text, str) or not text.strip():
        raise InstantFault("empty", "no timestamp text")
    if _DATE.fullmatch(text):
        raise InstantFault("date_only", "a date without time and offset is no instant")
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise InstantFault("not_iso", "expected YYYY-MM-DDTHH:MM:SS with Z or an offset like -05:00")
    *parts, fraction, offset = shape.groups()
    if fraction is not None and fraction[_MICROSECOND_DIGITS:].strip("0"):
        raise InstantFault("too_precise", "the lake's instants are microseconds")
    try:
        local = datetime(*map(int, parts), int((fraction or "0")[:_MICROSECOND_DIGITS].ljust(_MICROSECOND_DIGITS, "0")))
    except ValueError as error:
        raise InstantFault("impossible", str(error)) from None
    if offset is None:
        raise InstantFault("naive", "the offset is missing")
    return _to_utc(local, offset)


def _to_utc(local: datetime, offset: str) -> datetime:
    if offset == "Z":
        return local.replace(tzinfo=timezone.utc)
    hours, minutes = int(offset[1:3]), int(offset[4:6])
    if hours > 23 or minutes > 59:
        raise InstantFault("impossible", "no such offset")
    shift = timedelta(hours=hours, minutes=minutes)
    try:
        shifted = local - shift if offset[0] == "+" else local + shift
    except OverflowError:
        raise InstantFault("out_of_range", "outside the years 1 to 9999 in UTC") from None
    return shifted.replace(tzinfo=timezone.utc)


def is_forbidden_key(key: str) -> bool:
    """Whether a key names a forward return, in any case, width or with invisible characters in it."""
    if key in FORBIDDEN_KEYS:
        return True
    if key.isascii():
        return key.strip().lower() in FORBIDDEN_KEYS
    folded = unicodedata.normalize("NFKC", key).casefold()
    visible = "".join(character for character in folded if unicodedata.category(character) not in ("Cf", "Mn"))
    return visible.strip() in FORBIDDEN_KEYS


def forbidden_path(value: Any) -> Optional[str]:
    """The path of the first forbidden key at any depth, JSON inside strings included, or None.

    Nesting deeper than MAX_DEPTH is reported as forbidden: what cannot be looked through is not let through.
    """
    stack = [("$", value, 0)]
    while stack:
        path, current, depth = stack.pop()
        if depth > MAX_DEPTH:
            return path
        for step, child in _children(current):
            if step is not None and is_forbidden_key(step):
                return f"{path}.{step}"
            stack.append((f"{path}.{'*' if step is None else step}", child, depth + 1))
    return None


def _children(value: Any) -> Iterator[tuple]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield str(key), child
    elif isinstance(value, (list, tuple)):
        for child in value:
            yield None, child
    elif isinstance(value, str):
        hidden = json_inside(value)
        if hidden is not None:
            yield None, hidden


def json_inside(text: str) -> Any:
    """The JSON object, array or string that a string holds, or None when it holds plain text."""
    if text.lstrip()[:1] not in ("{", "[", '"'):
        return None
    try:
        return json.loads(text, object_pairs_hook=_keep_every_key)
    except RecursionError:
        return {next(iter(FORBIDDEN_KEYS)): "nested too deep to look through"}
    except ValueError:
        return None


def _keep_every_key(pairs: list) -> Any:
    """Duplicate JSON keys hide each other in a dict; keep them apart so that each is looked at."""
    keys = [key for key, _ in pairs]
    return dict(pairs) if len(set(keys)) == len(keys) else [{key: value} for key, value in pairs]


def check_item(item: Any, cutoff: Optional[datetime] = None, place: str = "item") -> Optional[Verdict]:
    """The first rule one data item breaks, or None. `cutoff` is an aware datetime; None skips the cut-off alone."""
    if not isinstance(item, dict):
        return Verdict("PIT_INVALID_ITEM_TYPE", f"{place} is not an object")
    path = forbidden_path(item)
    if path is not None:
        return Verdict("PIT_FORBIDDEN_FIELD", f"{place} holds a forbidden key at {path}")
    return check_clock(item.get("available_at"), item.get("available_at_source"), cutoff, place)


def check_clock(available_at: Any, source: Any, cutoff: Optional[datetime], place: str = "item") -> Optional[Verdict]:
    """The first rule that a row's `available_at` (text) and source tag break, or None."""
    if not isinstance(available_at, str) or not available_at:
        return Verdict("PIT_MISSING_AVAILABLE_AT", f"{place} has no available_at text")
    try:
        instant = parse_instant(available_at)
    except InstantFault as fault:
        code = "PIT_MISSING_TZ" if fault.fault == "naive" else "PIT_INVALID_AVAILABLE_AT_FORMAT"
        return Verdict(code, f"{place} available_at is {fault.fault}")
    if not isinstance(source, str) or source not in SOURCES:
        return Verdict("PIT_INVALID_AVAILABLE_AT_SOURCE", f"{place} available_at_source is not one of {', '.join(SOURCES)}")
    if cutoff is not None and instant > cutoff:
        return Verdict("PIT_VIOLATION_GT_CUTOFF", f"{place} became available after the cut-off")
    return None


def check_envelope(payload: Any, pit: Any) -> Optional[Verdict]:
    """The first rule an envelope `{"data": […], "gaps": […]}` breaks against the cut-off text `pit`, or None.

    Fail-closed order: cut-off, object, envelope, forbidden keys anywhere (gaps too), then each item in turn.
    """
    try:
        cutoff = parse_instant(pit)
    except InstantFault as fault:
        return Verdict("PIT_INVALID_PIT", f"the cut-off is {fault.fault}")
    if not isinstance(payload, dict):
        return Verdict("PIT_INVALID_JSON", "the payload is not a JSON object")
    if not isinstance(payload.get("data"), list):
        return Verdict("PIT_MISSING_ENVELOPE", "the payload has no data array")
    path = forbidden_path(payload)
    if path is not None:
        return Verdict("PIT_FORBIDDEN_FIELD", f"the payload holds a forbidden key at {path}")
    for index, item in enumerate(payload["data"]):
        verdict = check_item(item, cutoff, f"data[{index}]")
        if verdict is not None:
            return verdict
    return None


def check_text(text: Any, pit: Any) -> Optional[Verdict]:
    """`check_envelope` over JSON text; duplicate keys and constants outside JSON (NaN) are refused."""
    if not isinstance(text, (str, bytes)) or not text.strip():
        return Verdict("PIT_INVALID_JSON", "the payload is empty")
    try:
        payload = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return Verdict("PIT_INVALID_JSON", "the payload is not strict JSON")
    return check_envelope(payload, pit)


def _unique_keys(pairs: list) -> dict:
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError("duplicate keys")
    return dict(pairs)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
