"""Forbidden keys in Arrow tables: as columns, inside values of any type, and in JSON within strings and bytes."""

import json
import re
import sys
from functools import cache

import pyarrow as pa
import pytest

from pitlake.gate import hidden, rules
from tests.gate.tables import BINARY_KINDS, FORBIDDEN, as_text, codes, rows


@pytest.mark.parametrize("name", ["daily_stock", "HOURLY_Sector", "session_macro ", "dаily_return"])
def test_a_forbidden_column_refuses_every_row_even_with_nulls(name):
    assert codes(rows(2, **{name: pa.nulls(2)})) == [FORBIDDEN] * 2


def test_both_of_two_columns_with_the_same_name_are_searched():
    plain, bad = pa.array(["x"]), pa.array(['{"daily_stock": 1}'])
    for first, second in ((plain, bad), (bad, plain)):
        assert codes(rows(note=first).append_column("note", second)) == [FORBIDDEN]


KEYED = [{"daily_stock": 1}, {}, None, {"a": 1}]
MAP = pa.map_(pa.string(), pa.int64())
INNER = pa.struct([("Daily_Stock", pa.int64())])


@pytest.mark.parametrize(
    ("column", "bad"),
    [
        (pa.array([{"x": {"Daily_Stock": 1}}, {"x": None}, None], pa.struct([("x", INNER)])), [0]),
        (pa.array([[{"Daily_Stock": None}], [], None, [None]], pa.list_(INNER)), [0]),
        (pa.array([[{"Daily_Stock": None}], [], None], pa.large_list(INNER)), [0]),
        (pa.array([[{"Daily_Stock": None}], [], None], pa.list_view(INNER)), [0]),
        (pa.array([[{"Daily_Stock": 1}, None], [None, None], None, [None, {}]], pa.list_(INNER, 2)), [0, 3]),
        (pa.array([[("daily_stock", 1)], [], None, [("a", 1)]], MAP), [0]),
        (pa.array([[("a", 1), ("a", 2), ("DAILY_STOCK", 1)], [("b", 1)]], MAP), [0]),
        (pa.array([[("a", [("daily_stock", 1)])], []], pa.map_(pa.string(), MAP)), [0]),
        (pa.array([[(b"daily_stock", 1)], []], pa.map_(pa.binary(), pa.int64())), [0]),
        (pa.array([[(1, "daily_stock")], [(2, '{"daily_stock": 1}')]], pa.map_(pa.int64(), pa.string())), [1]),
        (pa.array([["x", '["a", {"daily_stock": 1}]'], ["y"], None], pa.list_(pa.string())), [0]),
        (pa.array([{"a": '{"daily_stock": 1}'}, {"a": "x"}, None]), [0]),
        (pa.array([[["x"]], [['{"daily_stock": 1}']]]), [1]),
        (pa.array([[["x"]], [[b'{"daily_stock": 1}']]]), [1]),
        (pa.array([b'{"daily_stock": 1}', b"x" * 18], pa.binary(18)), [0]),
        (
            pa.UnionArray.from_sparse(
                pa.array([0, 1, 0], pa.int8()), [pa.array(["x"] * 3), pa.array([{"daily_stock": 1}] * 3)]
            ),
            [1],
        ),
        (pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array(["{}", '{"daily_stock": 1}'])]), [1]),
        (pa.StructArray.from_arrays([pa.array(["x"]), pa.array(['{"daily_stock": 1}'])], ["a", "a"]), [0]),
        (pa.StructArray.from_arrays([pa.array(['{"daily_stock": 1}']), pa.array(["x"])], ["a", "a"]), [0]),
        (pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), pa.array(["x", '{"daily_stock": 1}'])), [0]),
        (pa.array([(1, 2, 3)], pa.month_day_nano_interval()), []),
        (pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2)), []),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else None,
)
def test_a_forbidden_key_inside_a_value_refuses_the_rows_that_have_it(column, bad):
    expected = [FORBIDDEN if row in bad else None for row in range(len(column))]
    assert codes(rows(len(column), nested=column)) == expected
    doubled = pa.concat_arrays([column, column]) if not pa.types.is_union(column.type) else None
    if doubled is not None:
        assert codes(rows(len(column), nested=doubled[len(column) :])) == expected
    assert codes(rows(len(column) - 1, nested=column[1:])) == expected[1:]


JSON = {
    '{"daily_stock": 1}': FORBIDDEN,
    '  \n{"DAILY_Stock": 1}': FORBIDDEN,
    '\ufeff{"daily_stock": 1}': FORBIDDEN,
    '\u3000{"daily_stock": 1}': FORBIDDEN,
    '{"daily\\u005fstock": 1}': FORBIDDEN,
    '{"\\uff44aily_stock": 1}': FORBIDDEN,
    '{"se\\u00dfion_stock": 1}': FORBIDDEN,
    '{"seßion_stock": 1}': FORBIDDEN,
    '{"㍲ily_stock": 1}': FORBIDDEN,
    '{"daily_\\ufb06ock": 1}': FORBIDDEN,
    '"{\\"daily_\\u005cu0073tock\\": 1}"': FORBIDDEN,
    '{"dai\\n\\u200bly_stock": 1}': FORBIDDEN,
    '{"dai\\nly_stock": 1}': FORBIDDEN,
    '{"daily_stock": ' + "9" * 5000 + "}": FORBIDDEN,
    "{'daily_stock': 1}": FORBIDDEN,
    '{"a": 1}{"daily\\_stock": 1}': FORBIDDEN,
    "[" * 10_000 + "]" * 10_000: FORBIDDEN,
    '{"a":' * 10_000: FORBIDDEN,
    '{"ok": "daily_stock", "\\u2019": [1, 2]}': None,
    "[" + "{}," * 500 + "{}]": None,
    '["daily_stock"]': None,
    "daily_stock": None,
    "日本語のニュース": None,
    "": None,
    None: None,
}


@as_text
@pytest.mark.parametrize("hint", [(), ("note",)], ids=["unhinted", "hinted"])
def test_json_in_texts_is_searched_in_every_arrow_string_type(build, hint):
    table = rows(len(JSON), note=build(list(JSON)))
    assert codes(table, json_columns=hint) == list(JSON.values())


@pytest.mark.parametrize("kind", BINARY_KINDS, ids=str)
def test_json_in_bytes_is_searched_for_forbidden_keys(kind):
    column = pa.array([text and text.encode() for text in JSON], kind)
    assert codes(rows(len(JSON), note=column)) == list(JSON.values())


def test_text_that_is_not_valid_utf8_is_checked_like_any_other():
    broken = pa.array(
        [b'\xff{"daily_stock": 1}', b'{"\xff": 1, "daily_stock": 2}', b"\xff\xfe", b'"\xed\xa0\x80']
    ).view(pa.string())
    assert codes(rows(4, note=broken)) == [None, FORBIDDEN, None, None]
    assert codes(rows(4, available_at=broken)) == [
        "PIT_INVALID_AVAILABLE_AT_FORMAT",
        FORBIDDEN,
        *["PIT_INVALID_AVAILABLE_AT_FORMAT"] * 2,
    ]


NESTED = {
    "lists": lambda kind, value: (pa.list_(kind), [value]),
    "structs": lambda kind, value: (pa.struct({"a": kind}), {"a": value}),
    "maps": lambda kind, value: (pa.map_(pa.string(), kind), [("a", value)]),
    "lists of one": lambda kind, value: (pa.list_(kind, 1), [value]),
}


@pytest.mark.parametrize("deeper", NESTED.values(), ids=NESTED)
def test_values_nested_beyond_the_maximum_depth_are_refused(deeper):
    kind, value = pa.int64(), 1
    for _ in range(rules.MAX_DEPTH + 5):
        kind, value = deeper(kind, value)
    deep = pa.array([value, None], kind)
    assert codes(rows(2, deep=deep)) == [FORBIDDEN, None]


def test_json_at_the_bottom_of_a_deep_type_is_found():
    kind, value = pa.string(), '{"daily_stock": 1}'
    for _ in range(60):
        kind, value = pa.list_(kind), [value]
    assert codes(rows(2, deep=pa.array([value, []], kind))) == [FORBIDDEN, None]


def test_nesting_levels_of_a_type_and_of_its_json_add_up():
    kind, value = pa.string(), "[" * 185 + "]" * 185
    for _ in range(20):
        kind, value = pa.list_(kind), [value]
    assert codes(rows(deep=pa.array([value], kind))) == [FORBIDDEN]


@cache
def letter_like():
    """Return every non-ASCII character that the rules fold to letters of a forbidden key, with these letters."""
    parts = {key[start:end] for key in rules.FORBIDDEN_KEYS for start in range(len(key)) for end in range(len(key) + 1)}
    folded = {number: rules._folded(chr(number)) for number in range(0x80, sys.maxunicode + 1)}
    return {chr(number): letters for number, letters in folded.items() if letters and letters in parts}


def test_no_character_folds_to_more_letters_than_its_bytes_can_stand_for():
    """The bulk pattern misses nothing, because a non-ASCII byte may stand for one letter and an escape for four."""
    assert len(letter_like()) > 800
    for character, letters in letter_like().items():
        assert len(letters) <= min(len(character.encode()), len(hidden._WIDENED.encode()))


def test_every_escape_that_can_spell_a_forbidden_key_matches_the_pattern():
    pattern = re.compile(hidden._LETTER_ESCAPE)
    for character in (*map(chr, range(0x80)), *letter_like()):
        escaped = json.dumps(character) if not character.isascii() else f"\\u{ord(character):04X}"
        assert pattern.search(escaped)
        assert pattern.search(escaped.replace("\\", "\\\\"))


def test_every_invisible_character_may_precede_suspicious_json():
    for low, high in rules.UNSEEN:
        for number in range(low, high + 1):
            assert hidden._LEADING[chr(number).encode("utf-8", "surrogatepass")[0]]
