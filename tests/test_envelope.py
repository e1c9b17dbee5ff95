"""The envelope for agents: strict JSON of any row, a watermark for derived rows, and the gate before every response."""

import json
import math
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitlake.answers.envelope import clean_gap, envelope, open_envelope, rows_of, strict, to_json
from pitlake.answers.provenance import Provenance
from pitlake.clock import NEW_YORK, iso
from pitlake.errors import BadInput, BadInstant, EnvelopeRefused
from pitlake.gate.rules import CODES, GAP_TYPES, check_text

AS_OF = datetime(2024, 2, 15, 21, tzinfo=timezone.utc)
TICK = timedelta(microseconds=1)
ROW = {"available_at": AS_OF, "available_at_source": "edgar_accepted"}
GAP = {"type": "no_data", "reason": "no filing was found"}


def item(**columns):
    (outcome,) = envelope([ROW | columns], [], AS_OF)["data"]
    return outcome


def refusal_of(rows, gaps=(), as_of=AS_OF):
    with pytest.raises(EnvelopeRefused) as caught:
        envelope(rows, gaps, as_of)
    return caught.value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime(2024, 2, 15, 16, tzinfo=NEW_YORK), "2024-02-15T21:00:00Z"),
        (AS_OF + TICK, "2024-02-15T21:00:00.000001Z"),
        (datetime.fromisoformat("2024-02-15T16:00"), "2024-02-15T16:00:00"),
        (date(2024, 2, 15), "2024-02-15"),
        (time(16, 30), "16:30:00"),
        (timedelta(days=1, microseconds=5), "PT86400.000005S"),
        (timedelta(0), "PT0S"),
        (pa.MonthDayNano([1, 2, 3_500_000_000]), "P1M2DT3.5S"),
        (math.nan, None), (math.inf, None), (-math.inf, None), (pd.NaT, None), (Decimal("NaN"), None),
        (0.1, 0.1), (True, True), (2**70, 2**70), (-0.0, -0.0),
        (Decimal("12.00"), 12), (Decimal("12.34"), 12.34), (Decimal("1E+999999"), "1E+999999"),
        (Decimal("0.12345678901234567890"), "0.12345678901234567890"),
        (b"\x00\xff", "00ff"), ("", ""), ("\u2028é", "\u2028é"), (None, None),
        (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        ((1, [2.5, math.nan]), [1, [2.5, None]]),
        ({"a": {"b": date(2024, 1, 1)}, 3: 1}, {"a": {"b": "2024-01-01"}, "3": 1}),
    ],
    ids=repr,
)  # fmt: skip
def test_values_are_written_as_strict_json(value, expected):
    assert item(value=value)["value"] == expected
    assert json.loads(json.dumps(expected, allow_nan=False)) == expected


@pytest.mark.parametrize(
    "value",
    [object(), {1: 1, "1": 2}, {None: 1}, {(1,): 1}, "\ud800", {"\udfff": 1}, 1 << 5000, {1, 2}, iter([]), 1j],
    ids=lambda value: type(value).__name__,
)
def test_a_value_json_cannot_express_is_refused_and_its_column_named(value):
    with pytest.raises(BadInput, match=r"^rows: .*secret_column|^rows: a name"):
        item(secret_column=value)


def test_nesting_without_end_is_refused():
    loop = []
    loop.append(loop)
    with pytest.raises(BadInput, match="nested too deep"):
        item(loop=loop)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
MOMENTS = st.datetimes(
    datetime.fromisoformat("0002-01-01"), datetime.fromisoformat("9998-12-31"), timezones=st.timezones() | st.none()
)
NUMBERS = st.booleans() | st.integers() | st.floats() | st.decimals(allow_nan=True)
SCALARS = NUMBERS | TEXTS | MOMENTS | st.dates() | st.times() | st.timedeltas() | st.binary() | st.uuids() | st.none()


def no_constant(name):
    raise AssertionError(f"{name} is not JSON")


@given(st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)))
def test_every_envelope_is_one_strict_json_text(value):
    payload = open_envelope([{"value": value}], [])
    text = to_json(payload)
    assert json.loads(text, parse_constant=no_constant) == payload
    assert to_json(json.loads(text)) == text


def test_the_order_of_keys_does_not_change_an_envelopes_bytes():
    backwards = dict(reversed((ROW | {"ticker": "QBG"}).items()))
    assert to_json(envelope([ROW | {"ticker": "QBG"}], [], AS_OF)) == to_json(envelope([backwards], [], AS_OF))


def test_a_row_public_exactly_at_the_as_of_is_returned_and_a_later_row_refused():
    assert item()["available_at"] == iso(AS_OF)
    refused = refusal_of([ROW, ROW | {"available_at": AS_OF + TICK}])
    assert (refused.code, refused.detail.split()[0]) == ("PIT_VIOLATION_GT_CUTOFF", "data[1]")


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({}, "PIT_MISSING_AVAILABLE_AT"),
        (ROW | {"available_at": None}, "PIT_MISSING_AVAILABLE_AT"),
        (ROW | {"available_at": date(2024, 1, 1)}, "PIT_INVALID_AVAILABLE_AT_FORMAT"),
        (ROW | {"available_at": datetime.fromisoformat("2024-01-01")}, "PIT_MISSING_TZ"),
        (ROW | {"available_at_source": "observed"}, "PIT_INVALID_AVAILABLE_AT_SOURCE"),
        (ROW | {"Daily_Stock": 1}, "PIT_FORBIDDEN_FIELD"),
        (ROW | {"raw": '{"daily_stock": 1}'}, "PIT_FORBIDDEN_FIELD"),
        (ROW | {"nested": [{"session_sector": None}]}, "PIT_FORBIDDEN_FIELD"),
    ],
)
def test_a_single_bad_row_withholds_the_whole_answer(row, code):
    assert code in CODES
    refused = refusal_of([ROW, row])
    assert refused.code == code
    assert "nothing was returned" in str(refused)


@pytest.mark.parametrize("as_of", [None, datetime.fromisoformat("2024-02-15"), "2024-02-15", ""])
def test_an_envelope_requires_a_valid_as_of(as_of):
    with pytest.raises(BadInstant):
        envelope([], [], as_of)


def test_an_open_mode_envelope_is_not_checked_against_an_as_of():
    payload = open_envelope([{"daily_stock": 1.5, "available_at": AS_OF + TICK}], [GAP])
    assert payload == {"data": [{"daily_stock": 1.5, "available_at": "2024-02-15T21:00:00.000001Z"}], "gaps": [GAP]}


@pytest.mark.parametrize("kind", GAP_TYPES)
def test_a_clean_gap_says_what_is_missing(kind):
    gap = clean_gap(kind, "asked before the first filing", "reports")
    assert gap == {"type": kind, "reason": "asked before the first filing", "query": "reports"}
    assert envelope([], [gap], AS_OF) == {"data": [], "gaps": [gap]}


@pytest.mark.parametrize(("kind", "reason"), [("config", "x"), ("", "x"), ("no_data", ""), ("no_data", " \n")])
def test_a_gap_of_no_known_type_or_without_a_reason_is_refused(kind, reason):
    with pytest.raises(BadInput, match=r"^gaps: "):
        clean_gap(kind, reason)
    with pytest.raises(BadInput, match=r"^gaps: "):
        envelope([], [{"type": kind, "reason": reason}], AS_OF)


@pytest.mark.parametrize(
    "gap", [{}, {"type": "no_data"}, {"type": "no_data", "reason": 5}, GAP | {"gap_type": "no_data"}]
)
def test_a_malformed_gap_is_refused(gap):
    with pytest.raises(BadInput, match=r"^gaps: "):
        envelope([], [gap], AS_OF)


def test_a_row_of_the_gaps_view_is_a_gap():
    row = {"dataset": "news", "gap_type": "unverifiable", "reason": "no timestamp", "available_at": AS_OF}
    (gap,) = envelope([], [row], AS_OF)["gaps"]
    assert gap == {"dataset": "news", "type": "unverifiable", "reason": "no timestamp", "available_at": iso(AS_OF)}


def test_a_gap_from_after_the_as_of_or_with_a_forbidden_field_withholds_the_answer():
    assert refusal_of([], [GAP | {"available_at": AS_OF + TICK}]).code == "PIT_VIOLATION_GT_CUTOFF"
    assert refusal_of([], [GAP | {"hourly_macro": 1}]).code == "PIT_FORBIDDEN_FIELD"


def items(rows, newest, *, proven=True):
    return [Provenance(proven, newest).item(row) for row in rows]


def test_a_computed_row_has_the_newest_input_instant_and_no_provenance():
    rows = [{"mean": 1.5}, {"mean": 2} | ROW | {"Evidence": "e"}, {"mean": 3, "Computed": False}]
    display = envelope(items(rows, AS_OF, proven=False), [], AS_OF)["data"]
    assert display == [{"mean": mean, "computed": True, "newest_input_at": iso(AS_OF)} for mean in (1.5, 2, 3)]


def test_a_row_without_an_available_at_counts_as_computed():
    row = {"title": "x", "available_at": None, "available_at_source": None}
    assert items([row], AS_OF) == [{"title": "x", "computed": True, "newest_input_at": AS_OF}]


def test_a_row_with_its_own_available_at_and_source_is_unchanged():
    own = ROW | {"available_at": AS_OF - timedelta(days=1), "evidence": "e"}
    assert items([own], AS_OF) == [own]
    refused = refusal_of(items([{"available_at": AS_OF}], AS_OF))
    assert refused.code == "PIT_INVALID_AVAILABLE_AT_SOURCE"


@pytest.mark.parametrize(
    ("newest", "code"), [(None, "PIT_MISSING_AVAILABLE_AT"), (AS_OF + TICK, "PIT_VIOLATION_GT_CUTOFF")]
)
def test_a_missing_or_later_newest_input_instant_withholds_the_answer(newest, code):
    assert refusal_of(items([{"n": 1}], newest)).code == code


COMPUTED = {"n": 1, "computed": True, "newest_input_at": iso(AS_OF)}


@pytest.mark.parametrize(
    ("item", "code"),
    [
        (COMPUTED, None),
        (COMPUTED | {"evidence": None}, None),
        (COMPUTED | {"newest_input_at": "2024-02-15T16:00:00-05:00"}, None),
        (COMPUTED | {"newest_input_at": iso(AS_OF + TICK)}, "PIT_VIOLATION_GT_CUTOFF"),
        (COMPUTED | {"newest_input_at": None}, "PIT_MISSING_AVAILABLE_AT"),
        (COMPUTED | {"newest_input_at": "2024-02-15"}, "PIT_INVALID_AVAILABLE_AT_FORMAT"),
        (COMPUTED | {"newest_input_at": "2024-02-15T00:00:00"}, "PIT_MISSING_TZ"),
        (COMPUTED | {"computed": "true"}, "PIT_MISSING_AVAILABLE_AT"),
        (COMPUTED | {"computed": False}, "PIT_MISSING_AVAILABLE_AT"),
        (COMPUTED | {"evidence": "neo4j:News:1"}, "PIT_INVALID_AVAILABLE_AT_SOURCE"),
        (COMPUTED | {"available_at": iso(AS_OF)}, "PIT_INVALID_AVAILABLE_AT_SOURCE"),
        (COMPUTED | {"available_at_source": "neo4j_created"}, "PIT_INVALID_AVAILABLE_AT_SOURCE"),
        ({"n": 1, "computed": True, "available_at": iso(AS_OF)}, "PIT_INVALID_AVAILABLE_AT_SOURCE"),
        (COMPUTED | {"daily_stock": 1}, "PIT_FORBIDDEN_FIELD"),
    ],
)
def test_the_gate_judges_a_computed_item_by_its_newest_input(item, code):
    verdict = check_text(json.dumps({"data": [item], "gaps": []}), iso(AS_OF))
    assert (verdict and verdict.code) == code


def test_duckdb_values_of_every_type_become_strict_json():
    table = duckdb.sql("""
        SELECT TIMESTAMPTZ '2024-02-15 16:00:00-05' AS available_at, 'edgar_accepted' AS available_at_source,
          'nan'::DOUBLE AS nan, sum(5)::HUGEINT AS huge, 1.10::DECIMAL(9, 2) AS price, DATE '2024-01-31' AS day,
          TIME '09:30:00' AS opening, INTERVAL '1 month 2 days 3 seconds' AS span, 'a'::BLOB AS bytes,
          MAP {'k': 1.5} AS map, MAP {3: [1]} AS numbered, {'a': [1, NULL]} AS struct, ['x', NULL] AS texts,
          '{"a": [1]}'::JSON AS json, uuid() IS NULL AS flag, TIMESTAMP '2024-01-31 00:00:00' AS wall
    """).to_arrow_table()
    (row,) = envelope(rows_of(table), [], AS_OF)["data"]
    assert row == {
        "available_at": "2024-02-15T21:00:00Z", "available_at_source": "edgar_accepted", "nan": None, "huge": 5,
        "price": 1.1, "day": "2024-01-31", "opening": "09:30:00", "span": "P1M2DT3S", "bytes": "61", "map": {"k": 1.5},
        "numbered": {"3": [1]}, "struct": {"a": [1, None]}, "texts": ["x", None], "json": '{"a": [1]}', "flag": False,
        "wall": "2024-01-31T00:00:00",
    }  # fmt: skip
    assert check_text(to_json({"data": [row], "gaps": []}), iso(AS_OF)) is None


@pytest.mark.parametrize("sql", ["MAP {'daily_stock': 1}", "{'Daily_Stock': 1}", "[MAP {'a': {'hourly_macro': 1}}]"])
def test_a_forbidden_key_inside_a_map_or_struct_is_refused(sql):
    table = duckdb.sql(f"SELECT {sql} AS x").to_arrow_table()
    assert refusal_of(items(rows_of(table), AS_OF)).code == "PIT_FORBIDDEN_FIELD"


def test_two_columns_of_one_name_are_refused():
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    with pytest.raises(BadInput, match="AS"):
        list(rows_of(table))


def test_a_map_that_repeats_a_key_is_refused():
    table = pa.table({"m": pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64()))})
    with pytest.raises(BadInput, match=r"^rows: m has a key twice"):
        open_envelope(rows_of(table), [])


def test_no_error_shows_a_value():
    for value in ({"canary": object()}, ["canary", {5.5: "canary"}], object()):
        with pytest.raises(BadInput) as caught:
            strict(value, "rows", "column")
        assert "canary" not in str(caught.value)
