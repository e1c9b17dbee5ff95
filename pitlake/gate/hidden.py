"""Which values of an Arrow array hold a forbidden key: by the names of its type, by map keys, by JSON in its texts.

Vectorised and exact: numpy and Arrow's linear-time regular expressions pick a superset of suspects in bulk, and
`rules.forbidden_path` alone convicts. What this module cannot see through in bulk it takes one value at a time.
Called by `pitlake.gate.columnar`.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pitlake.gate.plain import plain
from pitlake.gate.rules import FORBIDDEN_KEYS, UNSEEN, forbidden_path, is_forbidden_key

Mask = npt.NDArray[np.bool_]

# Types nested deeper go one value at a time. Openers in a text, type levels and quoting levels (each doubles a text,
# so at most 31, two steps each) together stay below rules.MAX_DEPTH.
_DEEPEST_TYPE = 30
_MANY_OPENERS = 100


def _leading_bytes() -> npt.NDArray[np.uint8]:
    """1 for every byte a text may begin with whose first seen character is one of `[`, `{`, `"`."""
    table = np.zeros(256, np.uint8)
    table[list(b'[{"')] = 1
    for low, high in UNSEEN:
        first, last = (chr(code).encode("utf-8", "surrogatepass")[0] for code in (low, high))
        table[first : last + 1] = 1
    return table


def _loose_spelling() -> str:
    """A pattern every forbidden key matches that the rules could read out of a text, unless escapes spell its letters.

    A byte beyond ASCII may stand for any letter (the rules fold widths, accents and look-alikes) or for nothing.
    """
    unseen = r"(?:[\x00-\x20\x7f-\xff\\]|\\+(?:[bfnrt]|u[0-9a-f]{4}))*"
    spellings = (unseen.join(f"[{letter}\\x80-\\xff]" for letter in key) for key in sorted(FORBIDDEN_KEYS))
    return f"(?i){'|'.join(spellings)}"


_LEADING = _leading_bytes()
_LOOSE = _loose_spelling()
# Escapes of ASCII, and of the blocks with characters that fold to letters of a forbidden key. U+00A0 is too common.
_LETTER_ESCAPE = r"(?i)\\u(?:00(?:[^a]|a[^0])|0[1-5]|1[c-f]|20[379]|21|24|2c|33|a7|f[bef]|d8)"
_ASCII_ESCAPE = r"\\u00[0-7]"
_ESCAPE = r"(?i)\\+u[0-9a-f]{4}"
_WIDENED = "ÿÿ"  # Four bytes beyond ASCII: no escape folds to more letters.


def hidden(array: pa.Array, depth: int = 1, *, json: bool = False) -> Mask | None:
    """A mask of the values that hold a forbidden key or cannot be looked through; None where none does.

    `depth` is where in an item the values stand. `json` says that nearly every text is JSON: a hint, for speed only.
    """
    kind = array.type
    if len(array) == 0 or array.null_count == len(array) or pa.types.is_primitive(kind) or pa.types.is_decimal(kind):
        return None
    if depth > _DEEPEST_TYPE:
        return _one_by_one(array, depth)
    if isinstance(array, pa.ExtensionArray):
        return hidden(array.storage, depth, json=json)
    if _is_text(kind):
        return _hidden_in_texts(array, depth, json)
    # Maps come before lists: a map is one. Unions, run ends and what Arrow may add go one value at a time.
    looks = (
        (pa.types.is_struct, _hidden_in_structs), (pa.types.is_dictionary, _hidden_in_dictionary),
        (pa.types.is_map, _hidden_in_maps), (_is_list, _hidden_in_lists),
    )  # fmt: skip
    return next((look for test, look in looks if test(kind)), _one_by_one)(array, depth)


def _is_text(kind: pa.DataType) -> bool:
    tests = (
        pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view,
        pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary,
    )  # fmt: skip
    return any(test(kind) for test in tests)


def _is_list(kind: pa.DataType) -> bool:
    tests = (
        pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list,
        pa.types.is_list_view, pa.types.is_large_list_view,
    )  # fmt: skip
    return any(test(kind) for test in tests)


def valid(array: pa.Array) -> Mask | None:
    """Which values are not null; None when all are."""
    if array.null_count == 0:
        return None
    mask: Mask = array.is_valid().to_numpy(zero_copy_only=False)
    return mask


def _where_valid(mask: Mask | None, array: pa.Array) -> Mask | None:
    present = None if mask is None else valid(array)
    return mask if mask is None or present is None else mask & present


def _either(left: Mask | None, right: Mask | None) -> Mask | None:
    if left is None or right is None:
        return left if right is None else right
    return left | right


def _one_by_one(array: pa.Array, depth: int) -> Mask | None:
    found = np.fromiter((forbidden_path(plain(value, depth), depth) is not None for value in array), bool, len(array))
    return found if found.any() else None


def _hidden_in_structs(array: pa.StructArray, depth: int) -> Mask | None:
    if any(is_forbidden_key(field.name) for field in array.type):
        return _where_valid(np.ones(len(array), bool), array)
    mask = None
    for index in range(array.type.num_fields):
        mask = _either(mask, hidden(array.field(index), depth + 1))
    return _where_valid(mask, array)


def _hidden_in_dictionary(array: pa.DictionaryArray, depth: int) -> Mask | None:
    values = hidden(array.dictionary, depth)
    if values is None:
        return None
    return _where_valid(values[pc.fill_null(array.indices, 0).to_numpy()], array)


def _hidden_in_maps(array: pa.MapArray, depth: int) -> Mask | None:
    if not _is_text(array.type.key_type):
        return _one_by_one(array, depth)
    starts, ends = _spans(array)
    first, last = int(starts.min()), int(ends.max())
    names = _binary(array.keys[first:last]).dictionary_encode()
    forbidden = np.array([is_forbidden_key(name.as_py()) for name in names.dictionary], bool)
    named = forbidden[pc.fill_null(names.indices, 0).to_numpy()] if forbidden.any() else None
    inside = _either(named, hidden(array.items[first:last], depth + 1))
    return _where_valid(_any_between(inside, starts - first, ends - first), array)


def _hidden_in_lists(array: pa.Array, depth: int) -> Mask | None:
    starts, ends = _spans(array)
    first, last = int(starts.min()), int(ends.max())
    inside = hidden(array.values[first:last], depth + 1)
    return _where_valid(_any_between(inside, starts - first, ends - first), array)


def _spans(array: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where each list or map of a non-empty array starts and ends in its child."""
    if pa.types.is_fixed_size_list(array.type):
        starts = np.arange(array.offset, array.offset + len(array)) * array.type.list_size
        return starts, starts + array.type.list_size
    offsets = array.offsets.to_numpy().astype(np.int64)
    if hasattr(array, "sizes"):
        starts = offsets[: len(array)]
        return starts, starts + array.sizes.to_numpy()
    return offsets[:-1], offsets[1:]


def _any_between(inside: Mask | None, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> Mask | None:
    """From a mask over the children to one over their lists."""
    if inside is None:
        return None
    before = np.concatenate(([0], np.cumsum(inside)))
    mask: Mask = before[ends] > before[starts]
    return mask


def _hidden_in_texts(array: pa.Array, depth: int, json: bool) -> Mask | None:
    texts = _binary(array)
    rows = np.arange(len(texts)) if json else _openers(texts)
    for look in (_suspects, _suspects_escaped):
        if rows.size == 0:
            return None
        rows = rows[look(texts if rows.size == len(texts) else texts.take(pa.array(rows)))]
    found = np.zeros(len(texts), bool)
    found[[row for row in rows if forbidden_path(texts[row].as_py(), depth) is not None]] = True
    return found if found.any() else None


def _binary(array: pa.Array) -> pa.Array:
    """The texts as bytes with offsets: whole buffers to look at, and no fear of broken UTF-8."""
    kind = array.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        array = array.cast(pa.large_binary() if pa.types.is_binary_view(kind) else pa.large_string())
    if pa.types.is_large_string(array.type):
        return array.cast(pa.large_binary())
    return array.cast(pa.binary()) if not pa.types.is_large_binary(array.type) else array


def buffers(texts: pa.Array) -> tuple[npt.NDArray[np.signedinteger], npt.NDArray[np.uint8]]:
    """Offsets (one more than values) and bytes of a non-empty binary or large binary array, slices included."""
    width = np.dtype("i8" if pa.types.is_large_binary(texts.type) else "i4")
    _, offsets, data = texts.buffers()
    starts: npt.NDArray[np.signedinteger] = np.frombuffer(offsets, width)[texts.offset :][: len(texts) + 1]
    return starts, np.frombuffer(data or b"", np.uint8)


def _openers(texts: pa.Array) -> npt.NDArray[np.intp]:
    """Rows whose first byte can begin JSON. A few more may be named: empty and null texts show their neighbour's."""
    starts, data = buffers(texts)
    if data.size == 0:
        return np.empty(0, np.intp)
    return np.flatnonzero(_LEADING.take(data.take(starts[:-1], mode="clip")))


def _suspects(texts: pa.Array) -> Mask:
    """A superset of the texts that spell a forbidden key or nest very deep. One quick look at every byte."""
    return _matches(texts, _LOOSE) | _many_openers(texts) | _matches_if(texts, "\\u", _LETTER_ESCAPE)


def _suspects_escaped(texts: pa.Array) -> Mask:
    """A smaller superset: escapes are looked at one by one, and those that can spell nothing acquit."""
    widened = pc.replace_substring_regex(texts, pattern=_ESCAPE, replacement=_WIDENED)
    return _matches(widened, _LOOSE) | _many_openers(texts) | _matches(texts, _ASCII_ESCAPE)


def _matches(texts: pa.Array, pattern: str) -> Mask:
    found: Mask = pc.fill_null(pc.match_substring_regex(texts, pattern=pattern), False).to_numpy(zero_copy_only=False)
    return found


def _matches_if(texts: pa.Array, substring: str, pattern: str) -> Mask:
    """`_matches`, of a pattern that needs a substring, which is quicker looked for alone."""
    if not pc.any(pc.match_substring(texts, pattern=substring)).as_py():
        return np.zeros(len(texts), bool)
    return _matches(texts, pattern)


def _many_openers(texts: pa.Array) -> Mask:
    """Which texts hold enough of `[` and `{` that only the rules can tell how deep they nest."""
    starts, data = buffers(texts)
    positions = np.flatnonzero((data[starts[0] : starts[-1]] | 0x20) == ord("{"))
    many: Mask = np.diff(np.searchsorted(positions, starts - starts[0])) >= _MANY_OPENERS
    return many
