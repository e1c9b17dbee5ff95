"""Finds the values of an Arrow array that contain a forbidden key, in the JSON of strings and lists of strings.

Vectorised and exact: numpy and Arrow's linear-time regular expressions select a superset of suspects, and only
`rules.forbidden_path` decides. Types whose names or keys could be forbidden are excluded (see `in_bulk`).
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pitlake.gate.rules import FORBIDDEN_KEYS, UNSEEN, forbidden_path

Mask = npt.NDArray[np.bool_]

# A string with fewer openers than this can't be nested deeper than rules.MAX_DEPTH, even if it is quoted. Each level of
# quotes doubles its length, so there are at most 31 levels, of two steps each.
_MANY_OPENERS = 100


def _leading_bytes() -> npt.NDArray[np.uint8]:
    """Return 1 for each byte with which a string may start if its first visible character is `[`, `{` or `"`."""
    table = np.zeros(256, np.uint8)
    table[list(b'[{"')] = 1
    for low, high in UNSEEN:
        first, last = (chr(code).encode("utf-8", "surrogatepass")[0] for code in (low, high))
        table[first : last + 1] = 1
    return table


_LEADING = _leading_bytes()
_UNSEEN_BYTES = r"(?:[\x00-\x20\x7f-\xff\\]|\\+(?:[bfnrt]|u[0-9a-f]{4}))*"
_SPELLINGS = (_UNSEEN_BYTES.join(f"[{letter}\\x80-\\xff]" for letter in key) for key in sorted(FORBIDDEN_KEYS))
# Matches every forbidden key that the rules could find in a string, unless escapes encode its letters. A byte beyond
# ASCII may replace any letter or none, because the rules fold widths, accents and look-alikes.
_LOOSE = f"(?i){'|'.join(_SPELLINGS)}"
# Escapes that may encode a letter of a forbidden key: the escapes of ASCII, and of blocks with characters that fold to
# such a letter. U+00A0 is not included, because this space is too common.
_LETTER_ESCAPE = r"(?i)\\u(?:00(?:[^a]|a[^0])|0[1-5]|1[c-f]|20[379]|21|24|2c|33|a7|f[bef]|d8)"
_ASCII_ESCAPE = r"\\u00[0-7]"
_ESCAPE = r"(?i)\\+u[0-9a-f]{4}"
_WIDENED = "ÿÿ"  # Replaces an escape. Its four bytes match up to four letters, the most that one escape folds to.


def in_bulk(kind: pa.DataType) -> bool:
    """Return whether `hidden` accepts arrays of a type: strings, numbers, and lists of these."""
    if pa.types.is_list(kind):
        return not pa.types.is_list(kind.value_type) and in_bulk(kind.value_type)
    return bool(pa.types.is_primitive(kind) or pa.types.is_string(kind))


def hidden(array: pa.Array, depth: int = 1, *, json: bool = False) -> Mask | None:
    """Return a mask of the values that contain a forbidden key or cannot be searched; None if there are none.

    `depth` is the depth of the values in an item. `json` says that nearly all strings are JSON, a hint for speed.
    """
    if len(array) == 0 or array.null_count == len(array) or pa.types.is_primitive(array.type):
        return None
    if not pa.types.is_list(array.type):
        return _hidden_in_texts(array, depth, json)
    offsets = array.offsets.to_numpy()
    inside = hidden(array.values[offsets[0] : offsets[-1]], depth + 1)
    if inside is None:
        return None
    before = np.concatenate(([0], np.cumsum(inside)))[offsets - offsets[0]]
    mask: Mask = (before[1:] > before[:-1]) & array.is_valid().to_numpy(zero_copy_only=False)
    return mask


def _hidden_in_texts(array: pa.Array, depth: int, json: bool) -> Mask | None:
    texts = array.cast(pa.binary())  # This searches whole buffers, even with broken UTF-8.
    if json:
        rows = np.arange(len(texts))
    else:  # The first byte must be able to begin JSON. Null and empty use their neighbour's.
        starts, data = _buffers(texts)
        if data.size == 0:
            return None
        rows = np.flatnonzero(_LEADING.take(data.take(starts[:-1], mode="clip")))
    for look in (_suspects, _suspects_escaped):
        if rows.size == 0:
            return None
        rows = rows[look(texts if rows.size == len(texts) else texts.take(pa.array(rows)))]
    hidden = np.zeros(len(texts), bool)
    hidden[[row for row in rows if forbidden_path(texts[row].as_py(), depth) is not None]] = True
    return hidden if hidden.any() else None


def _buffers(texts: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Return the offsets (one more than values) and bytes of a non-empty binary array, which may be a slice."""
    _, offsets, data = texts.buffers()
    starts = np.frombuffer(offsets, np.int32)[texts.offset :][: len(texts) + 1]
    return starts, np.frombuffer(data or b"", np.uint8)


def _suspects(texts: pa.Array) -> Mask:
    """Return a superset of the strings that contain a forbidden key or nest very deeply, by one pass over the bytes."""
    suspects = _matches(texts, _LOOSE) | _many_openers(texts)
    if pc.any(pc.match_substring(texts, pattern="\\u")).as_py():  # Every escape has it, and a plain search is faster.
        suspects |= _matches(texts, _LETTER_ESCAPE)
    return suspects


def _suspects_escaped(texts: pa.Array) -> Mask:
    """Return a smaller superset, without the strings whose escapes can't encode a forbidden key."""
    widened = pc.replace_substring_regex(texts, pattern=_ESCAPE, replacement=_WIDENED)
    return _matches(widened, _LOOSE) | _many_openers(texts) | _matches(texts, _ASCII_ESCAPE)


def _matches(texts: pa.Array, pattern: str) -> Mask:
    matches: Mask = pc.fill_null(pc.match_substring_regex(texts, pattern=pattern), False).to_numpy(zero_copy_only=False)
    return matches


def _many_openers(texts: pa.Array) -> Mask:
    """Return the strings that may be nested too deeply, by their number of `[` and `{`. The rules decide."""
    starts, data = _buffers(texts)
    positions = np.flatnonzero((data[starts[0] : starts[-1]] | 0x20) == ord("{"))
    many: Mask = np.diff(np.searchsorted(positions, starts - starts[0])) >= _MANY_OPENERS
    return many
