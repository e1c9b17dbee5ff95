"""Property-based tests of how the graph writes values: which are parsed, count as missing, or are refused."""

import json
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.graph import texts
from pitlake.clock import NEW_YORK, new_york_day
from pitlake.errors import Unreadable

ABSENT = [None, "", "  ", "null", "NULL", "NaN", "nan", float("nan")]
PARSERS = [
    texts.number, texts.plain_number, texts.whole, texts.flag, texts.instant, texts.day, texts.canonical_json,
    texts.strings, texts.labels, texts.first_number, texts.cik,
]  # fmt: skip
instants = st.integers(0, 2**31).map(lambda seconds: datetime.fromtimestamp(seconds, timezone.utc))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.__name__)
@pytest.mark.parametrize("value", ABSENT, ids=repr)
def test_every_spelling_of_a_missing_value_is_null(parser, value):
    assert parser(value) is None


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.__name__)
@given(value=st.text() | st.floats() | st.integers() | st.lists(st.text(), max_size=2) | st.booleans())
def test_parsers_raise_only_unreadable(parser, value):
    with suppress(Unreadable):
        parser(value)


@given(st.integers(-(10**15), 10**15))
def test_whole_numbers_with_thousands_separators_are_parsed(number):
    assert texts.whole(f"{number:,}") == number
    assert texts.plain_number(f"{number:,}") == str(number)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9))
def test_decimals_with_thousands_separators_are_parsed(number):
    assert texts.number(f"{number:,}") == float(number)


@pytest.mark.parametrize(
    "text", ["12,34", "1,2345", "1.2.3", "--1", "5 %", "1e", "inf", "Infinity", ".", "1_000", "١٢"]
)
def test_malformed_numbers_are_unreadable(text):
    with pytest.raises(Unreadable):
        texts.number(text)


@pytest.mark.parametrize("value", ["2.5", 2.5, "1e300", True, [2]], ids=repr)
def test_values_that_are_not_whole_numbers_are_unreadable(value):
    with pytest.raises(Unreadable):
        texts.whole(value)


@pytest.mark.parametrize(("value", "meaning"), [("1", True), ("0", False), (True, True), (1, True), ("true", True)])
def test_booleans_are_parsed_from_every_accepted_spelling(value, meaning):
    assert texts.flag(value) is meaning


@given(instants)
def test_all_spellings_of_an_instant_are_parsed_alike(moment):
    local = moment.astimezone(NEW_YORK)
    spellings = [text for mark in "T " for text in (local.isoformat(mark), local.strftime(f"%Y-%m-%d{mark}%H:%M:%S%z"))]
    assert {texts.instant(text) for text in spellings} == {moment}


@given(instants, st.integers(-12 * 60, 14 * 60))
def test_an_instant_is_within_a_day_of_the_day_its_text_begins_with(moment, offset):
    text = moment.astimezone(timezone(timedelta(minutes=offset))).isoformat()
    result = texts.instant(text)
    assert result == moment
    assert abs(new_york_day(result) - texts.leading_day(text)) <= timedelta(days=1)


@pytest.mark.parametrize(
    "text",
    ["2024-01-04", "2024-01-04T16:00:00", "2024-01-04 16:00", "2024-02-30T10:00:00Z", "2024-01-04T10:00:00+15:00", "x"],
)
def test_an_invalid_instant_is_unreadable(text):
    with pytest.raises(Unreadable):
        texts.instant(text)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "0001-01-01T04:56:01Z", "9999-12-31T18:30:00-05:00"])
def test_an_instant_at_the_edge_of_the_calendar_is_unreadable(text):
    with pytest.raises(Unreadable):
        texts.instant(text)


def test_a_publication_before_1990_is_unreadable_but_an_older_bar_is_not():
    assert texts.instant("1962-02-06 16:00:00-0500") == datetime(1962, 2, 6, 21, tzinfo=timezone.utc)
    with pytest.raises(Unreadable):
        texts.published("1970-01-01T00:00:00Z")
    assert texts.published("null") is None


@pytest.mark.parametrize("text", ["2024-02-30", "2024-1-4", "20240104", "2024-01-04T00:00:00Z"])
def test_an_invalid_day_is_unreadable(text):
    with pytest.raises(Unreadable):
        texts.day(text)


def test_the_leading_day_is_read_from_texts_that_are_no_instants():
    assert texts.leading_day("2024-01-04 around noon") == date(2024, 1, 4)
    assert texts.leading_day("soon") is texts.leading_day(None) is texts.leading_day("2024-02-30T10:00:00Z") is None


@given(json_values.filter(lambda value: isinstance(value, (dict, list))))
def test_canonical_json_preserves_the_value_and_has_a_single_spelling(value):
    canonical = texts.canonical_json(json.dumps(value, indent=2))
    assert json.loads(canonical) == value
    assert texts.canonical_json(canonical) == canonical == texts.canonical_json(json.dumps(value, ensure_ascii=False))


@pytest.mark.parametrize("text", ['{"a":1,"a":2}', "[1e999]", "[Infinity]", "{", "7", '"text"', "[1] [2]"])
def test_invalid_or_ambiguous_json_is_unreadable(text):
    with pytest.raises(Unreadable):
        texts.canonical_json(text)


def test_nan_inside_json_is_null():
    assert texts.canonical_json('{"a": NaN}') == '{"a":null}'


def test_a_lone_surrogate_is_replaced_and_a_surrogate_pair_is_preserved():
    assert texts.json_object(r'{"\udc00": ["cut \ud83d", "\ud83d\ude00"]}') == '{"\ufffd":["cut \ufffd","\U0001f600"]}'
    assert texts.labels(r'["\uD83D &amp;"]') == ["\ufffd &"]
    with pytest.raises(Unreadable):
        texts.json_object(r'{"\ud800": 1, "\ud801": 2}')


def test_json_of_the_wrong_kind_is_unreadable():
    with pytest.raises(Unreadable):
        texts.json_object("[]")
    with pytest.raises(Unreadable):
        texts.json_array("{}")


@given(st.lists(st.text(min_size=1).filter(lambda text: text == text.strip() and text), max_size=5))
def test_lists_are_read_natively_or_from_json(members):
    assert texts.strings(members) == texts.strings(json.dumps(members)) == members


def test_each_reading_of_a_list_returns_a_new_list():
    texts.strings('["a", " b "]').append("c")
    assert texts.strings('["a", " b "]') == ["a", "b"]


def test_html_entities_in_labels_are_resolved():
    assert texts.labels('["Software &amp; Apps", "M&amp;A"]') == ["Software & Apps", "M&A"]


@pytest.mark.parametrize(("value", "expected"), [([1.5, 2.0], 1.5), ([], None), (1.5, 1.5), ("1.5", 1.5)])
def test_a_list_is_read_as_its_first_number(value, expected):
    assert texts.first_number(value) == expected


@given(st.integers(0, 10**10 - 1))
def test_a_cik_is_padded_to_ten_digits(number):
    assert texts.cik(str(number)) == f"{number:010d}"


@pytest.mark.parametrize("value", ["12345678901", "0000-1", "²", -5], ids=repr)
def test_an_invalid_cik_is_unreadable(value):
    with pytest.raises(Unreadable):
        texts.cik(value)


@pytest.mark.parametrize("value", [None, "", " \n"])
def test_blank_prose_is_null(value):
    assert texts.text(value) is None


def test_the_word_null_in_prose_is_text():
    assert texts.text("null") == "null"
