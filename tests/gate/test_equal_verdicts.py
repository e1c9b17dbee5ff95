"""The two forms of the gate agree: hostile rows get the same codes as a table and one by one as items.

The items are built from `Table.to_pylist`, not by the code under test, with instants as ISO text and maps as objects.
"""

import json
from datetime import date, datetime, timedelta, timezone

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pitlake.clock import micros
from pitlake.gate import rules
from pitlake.gate.columnar import _goes_in_bulk, violations_in

CUTOFF = datetime(2024, 3, 10, 7, 30, tzinfo=timezone.utc)  # In the hour that New York skips.
MICRO = timedelta(microseconds=1)
NEAR = [CUTOFF - MICRO, CUTOFF, CUTOFF + MICRO, CUTOFF + timedelta(hours=1), CUTOFF - timedelta(hours=1)]
UNSEEN = ["\u200b", "\ufeff", "\x00", "\u0301", "\xad", " ", "\u3000", "\ud800"]
LOOK_ALIKE = {"a": "а", "c": "ⓒ", "d": "ｄ", "s": "ſ", "o": "ο", "i": "İ", "t": "ᴛ", "y": "ү", "_": "‿", "st": "ﬆ"}
LETTERS = str.maketrans({key: value for key, value in LOOK_ALIKE.items() if len(key) == 1})


@st.composite
def keys(draw):
    """Generate forbidden keys in disguise, near misses, and harmless keys."""
    key = draw(st.sampled_from(sorted(rules.FORBIDDEN_KEYS)))
    disguise = draw(st.integers(0, 9))
    if disguise == 1:
        key = "".join(letter.upper() if draw(st.booleans()) else letter for letter in key)
    elif disguise == 2:
        at = draw(st.integers(0, len(key)))
        key = key[:at] + draw(st.sampled_from(UNSEEN)) + key[at:]
    elif disguise == 3:
        key = key.translate({ord(draw(st.sampled_from(key))): None})
    elif disguise == 4:
        letter = draw(st.sampled_from(sorted(LOOK_ALIKE)))
        key = key.replace(letter, LOOK_ALIKE[letter])
    elif disguise == 5:
        key = key.translate(LETTERS)
    elif disguise > 5:
        key = draw(st.text(max_size=4) | st.sampled_from(["ticker", "available_at", "daily", "stock", "e\u0301"]))
    return key


LEAVES = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | keys() | st.text(max_size=5)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys(), inner, max_size=3), max_leaves=6
)


def escaped(text, every):
    """Return the JSON with every n-th letter written as an escape."""
    return "".join(
        f"\\u{ord(letter):04x}" if index % every == 0 and letter.isalpha() else letter
        for index, letter in enumerate(text)
    )


@st.composite
def hidden_json(draw):
    """Generate JSON strings that are nested in strings, escaped, padded, broken, repeated or deep."""
    text = json.dumps(draw(VALUES), ensure_ascii=draw(st.booleans()))
    change = draw(st.integers(0, 9))
    if change == 1:
        text = json.dumps(text)
    elif change == 2:
        text = escaped(text, draw(st.integers(1, 4)))
    elif change == 3:
        text = json.dumps(json.dumps(escaped(text, 3)))
    elif change == 4:
        text = draw(st.sampled_from([*UNSEEN[:-1], "\n\t", "x"])) + text
    elif change == 5:
        text = text[: draw(st.integers(0, len(text)))]
    elif change == 6:
        text = text.replace('"', "'")
    elif change == 7:
        text = f'{{"a": 1, "a": {text}, "n": {"7" * 4301}}}'
    elif change == 8:
        depth = draw(st.integers(80, 220))
        text = "[" * depth + text + "]" * draw(st.sampled_from([depth, 0]))
    elif change == 9:
        text = f'{{"a": 1}} {text},'
    return text.encode("utf-8", "replace").decode()


TEXTS = st.none() | st.text(max_size=8).filter(lambda text: text.isprintable()) | hidden_json()


@st.composite
def instant_texts(draw):
    """Generate valid and invalid instants, most of them within a microsecond of the cut-off."""
    moment = draw(st.sampled_from(NEAR) | st.datetimes(timezones=st.just(timezone.utc)))
    zone = timezone(timedelta(minutes=draw(st.integers(-1439, 1439))))
    try:
        text = moment.astimezone(zone).isoformat(timespec=draw(st.sampled_from(["auto", "microseconds"])))
    except OverflowError:
        text = moment.replace(tzinfo=zone).isoformat()
    fault = draw(st.integers(0, 9))
    at = draw(st.integers(0, len(text) - 1))
    if fault == 1:
        text = text[:-6]
    elif fault == 2:
        text = text[:10]
    elif fault == 3:
        text = text[:at] + draw(st.sampled_from("0959ZT:-+. x２")) + text[at + 1 :]
    elif fault == 4:
        text = text[:at]
    elif fault == 5:
        text = text.replace("+00:00", "Z").replace(":00Z", ":00.000000100Z")
    elif fault == 6:
        text = moment.isoformat().replace("+00:00", "Z")
    return text


ZONES = st.sampled_from([None, "UTC", "America/New_York", "+05:30"])
MODERN = st.integers(-9 * 10**9, 4 * 10**9)  # Seconds that fit nanoseconds too.
STAMP_MICROS = st.sampled_from(NEAR).map(lambda moment: round(moment.timestamp()) * 10**6 + moment.microsecond)


@st.composite
def stamp_columns(draw, size):
    unit = draw(st.sampled_from(["s", "ms", "us", "ns"]))
    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    near = STAMP_MICROS.map(lambda micros: micros * scale // 10**6 + draw(st.sampled_from([-1, 0, 1])))
    far = MODERN.map(lambda seconds: seconds * scale)
    values = draw(st.lists(near | near | near | far | st.none(), min_size=size, max_size=size))
    return pa.array(values, pa.timestamp(unit, draw(ZONES)))


def column_of(elements, kind, size):
    return st.lists(elements, min_size=size, max_size=size).map(lambda values: pa.array(values, kind))


def text_column_of(elements, size):
    kinds = st.sampled_from([pa.string(), pa.large_string(), pa.string_view()])
    values = st.lists(elements, min_size=size, max_size=size)
    stored = st.builds(pa.array, values, kinds)
    return stored | values.map(lambda texts: pa.array(texts, pa.string()).dictionary_encode())


def clock_columns(size):
    sound = st.just((CUTOFF - MICRO).isoformat())
    odd = st.sampled_from(
        [
            column_of(st.none() | st.dates(), pa.date32(), size),
            column_of(st.none() | st.dates(date(1900, 1, 1)), pa.date64(), size),
            column_of(st.none() | st.integers(0, 9), pa.int64(), size),
            text_column_of(st.none() | st.just("") | hidden_json(), size),
        ]
    ).flatmap(lambda strategy: strategy)
    return (
        stamp_columns(size)
        | stamp_columns(size)
        | text_column_of(sound | instant_texts() | instant_texts(), size)
        | text_column_of(st.none() | instant_texts() | instant_texts() | hidden_json(), size)
        | odd
    )


def source_columns(size):
    sound = st.sampled_from(rules.SOURCES)
    return (
        st.just(pa.array([rules.SOURCES[size % 4]] * size, pa.string()))
        | text_column_of(sound, size)
        | text_column_of(sound | sound | st.none() | st.sampled_from(["", "coarse_pit", "Neo4j_created"]), size)
        | text_column_of(sound | hidden_json(), size)
        | column_of(st.none() | st.integers(0, 9), pa.int64(), size)
    )


@st.composite
def nested_columns(draw, size):
    texts = TEXTS
    field = draw(keys()).encode("utf-8", "replace").decode()
    kind = draw(st.integers(0, 6))
    if kind == 0:
        return draw(column_of(st.none() | st.lists(texts, max_size=2), pa.list_(pa.string()), size))
    if kind == 1:
        struct = pa.struct([(field, pa.string()), ("plain", pa.list_(pa.string()))])
        values = st.fixed_dictionaries({field: texts, "plain": st.none() | st.lists(texts, max_size=2)})
        return draw(column_of(st.none() | values, struct, size))
    if kind == 2:
        pairs = st.lists(st.tuples(keys().map(lambda key: key.encode("utf-8", "replace").decode()), texts), max_size=3)
        unique = pairs.map(lambda result: list(dict(result).items()))
        return draw(column_of(st.none() | unique, pa.map_(pa.string(), pa.string()), size))
    if kind == 3:
        return draw(
            column_of(
                st.none() | st.lists(st.floats(width=32), min_size=2, max_size=2), pa.list_(pa.float32(), 2), size
            )
        )
    if kind == 4:
        encode = st.none() | texts.map(lambda text: (text or "").encode())
        return draw(column_of(encode, draw(st.sampled_from([pa.binary(), pa.large_binary(), pa.binary_view()])), size))
    if kind == 5:
        struct = pa.struct([(field, pa.null())])
        return draw(
            column_of(st.none() | st.lists(st.none() | st.just({field: None}), max_size=2), pa.list_(struct), size)
        )
    return draw(
        column_of(
            st.none() | st.lists(st.lists(texts, max_size=2), max_size=2), pa.large_list(pa.list_(pa.string())), size
        )
    )


@st.composite
def tables(draw):
    """Generate a table of hostile rows in chunks, often a slice of a larger table."""
    size = draw(st.integers(1, 6))
    columns = {}
    if draw(st.integers(0, 9)) != 5:
        columns["available_at"] = draw(clock_columns(size))
    if draw(st.integers(0, 9)) != 5:
        columns["available_at_source"] = draw(source_columns(size))
    for index in range(draw(st.integers(0, 2))):
        columns[f"column{index}"] = draw(text_column_of(TEXTS, size) | nested_columns(size))
    if draw(st.integers(0, 19)) == 7:
        columns[draw(keys()).encode("utf-8", "replace").decode()] = pa.nulls(size)
    columns.setdefault("number", draw(column_of(st.none() | st.floats(), pa.float64(), size)))
    table = pa.table(columns)
    cut = draw(st.integers(0, size))
    table = pa.concat_tables([table[:cut], table[cut:]])
    return table[draw(st.integers(0, size - 1)) :] if draw(st.booleans()) else table


def rendered(value, kind):
    """Return a value of `to_pylist` as JSON would have it, changing only what matters to the rules."""
    if isinstance(value, datetime):
        return (value.astimezone(timezone.utc) if kind.tz else value).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: rendered(inner, kind.field(key).type) for key, inner in value.items()}
    if pa.types.is_map(kind):
        return None if value is None else dict(value)
    if isinstance(value, list):
        return [rendered(inner, kind.value_type) for inner in value]
    return value


def item_verdicts(table, cutoff):
    for number, row in enumerate(table.to_pylist()):
        item = {name: rendered(value, table.schema.field(name).type) for name, value in row.items()}
        verdict = rules.check_item(item, cutoff, f"row {number}")
        if verdict is not None:
            yield number, verdict.code, verdict.detail


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(tables(), st.sampled_from([CUTOFF, None, CUTOFF + timedelta(days=400_000)]), st.booleans())
def test_a_table_and_its_rows_as_items_get_the_same_verdicts(table, cutoff, hinted):
    expected = list(item_verdicts(table, cutoff))
    result = violations_in(table, cutoff, json_columns=table.column_names if hinted else ())
    assert result.rows == expected
    assert result.codes == {code: sum(code == other for _, other, _ in expected) for _, code, _ in expected}
    assert bool(result) == bool(expected)


@settings(max_examples=100, deadline=None)
@given(st.lists(hidden_json(), min_size=1, max_size=20))
def test_json_in_texts_is_judged_alike_in_bulk_and_alone(texts):
    table = pa.table({"available_at": ["2024-01-01T00:00:00Z"] * len(texts), "note": texts}).append_column(
        "available_at_source", [["edgar_accepted"] * len(texts)]
    )
    assert violations_in(table, None).rows == list(item_verdicts(table, None))


@settings(max_examples=100, deadline=None)
@given(st.lists(instant_texts(), min_size=1, max_size=20))
def test_instants_in_texts_are_judged_alike_in_bulk_and_alone(texts):
    table = pa.table({"available_at": texts, "available_at_source": ["edgar_accepted"] * len(texts)})
    assert violations_in(table, CUTOFF).rows == list(item_verdicts(table, CUTOFF))


@st.composite
def staged_tables(draw):
    """Generate tables of the types that the lake stages and the gate judges in bulk, in chunks and often sliced."""
    size = draw(st.integers(1, 6))
    instant = st.sampled_from(NEAR) | st.none()
    source = st.sampled_from([*rules.SOURCES, *rules.SOURCES, "", None])
    columns = {
        "available_at": draw(column_of(instant, pa.timestamp("us", "UTC"), size) | far_instants(size)),
        "available_at_source": draw(column_of(source, pa.string(), size)),
        "text": draw(column_of(TEXTS, pa.string(), size)),
        "texts": draw(column_of(st.none() | st.lists(TEXTS, max_size=2), pa.list_(pa.string()), size)),
        "number": draw(column_of(st.none() | st.floats(), pa.float64(), size)),
        "vector": draw(column_of(st.none() | st.lists(st.floats(width=32)), pa.list_(pa.float32()), size)),
    }
    if draw(st.integers(0, 19)) == 7:
        columns.setdefault(draw(keys()).encode("utf-8", "replace").decode(), pa.array([0] * size))
    table = pa.table(columns)
    cut = draw(st.integers(0, size))
    table = pa.concat_tables([table[:cut], table[cut:]])
    return table[draw(st.integers(0, size - 1)) :] if draw(st.booleans()) else table


def far_instants(size):
    """Generate a column of the first and last microseconds of the years 1 to 9999."""
    first, last = (
        micros(rules.parse_instant(text)) for text in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z")
    )
    return column_of(st.sampled_from([first, first + 1, last - 1, last]), pa.timestamp("us", "UTC"), size)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(staged_tables(), st.sampled_from([CUTOFF, None, CUTOFF + timedelta(days=400_000)]), st.booleans())
def test_staged_tables_are_judged_alike_in_bulk_and_row_by_row(table, cutoff, hinted):
    assert _goes_in_bulk(table.schema)
    expected = list(item_verdicts(table, cutoff))
    result = violations_in(table, cutoff, json_columns=table.column_names if hinted else ())
    assert result.rows == expected
    assert result.codes == {code: sum(code == other for _, other, _ in expected) for _, code, _ in expected}
