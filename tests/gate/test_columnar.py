"""The gate over Arrow tables: every code, in columns of every possible type and in all of Arrow's layouts."""

from datetime import date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pitlake.clock import micros
from pitlake.errors import BadInstant
from pitlake.gate import columnar, rules
from pitlake.gate.columnar import SHOWN_ROWS, violations_in
from tests.every import every
from tests.gate.tables import CUTOFF, FORBIDDEN, JUST_AFTER, UTC_MICROS, as_text, codes, rows, stamps


def test_violations_in_a_clean_table_are_falsy():
    result = violations_in(rows(3), CUTOFF)
    assert not result
    assert (result.codes, result.rows) == ({}, [])


def test_an_empty_table_is_clean():
    none = rows(3)[:0]
    assert not violations_in(none, CUTOFF)
    place = none.column_names.index("available_at")
    bare = pa.Array.from_buffers(none.schema.field(place).type, 0, [None, None])  # as other libraries may pass it
    assert not violations_in(none.set_column(place, "available_at", bare), CUTOFF)
    assert not violations_in(pa.table({}), CUTOFF)
    assert not violations_in(pa.table({"daily_stock": pa.array([], pa.string())}), CUTOFF)


BEYOND = datetime.max.replace(tzinfo=timezone(-timedelta(hours=5)))


@pytest.mark.parametrize(
    ("cutoff", "fault"),
    [(datetime.fromisoformat("2024-01-01"), "naive"), ("2024-01-01", "naive"), (BEYOND, "out_of_range")],
)
def test_an_invalid_cut_off_is_refused_even_for_an_empty_table(cutoff, fault):
    with pytest.raises(BadInstant) as caught:
        violations_in(pa.table({}), cutoff)
    assert caught.value.fault == fault


def test_a_cut_off_finer_than_the_lakes_instants_is_compared_exactly():
    finer = pd.Timestamp(CUTOFF) + pd.Timedelta(999, "ns")
    assert codes(rows(2, available_at=stamps(CUTOFF, JUST_AFTER)), finer) == [None, "PIT_VIOLATION_GT_CUTOFF"]


@pytest.mark.parametrize(
    ("column", "code"),
    [
        (None, "PIT_MISSING_AVAILABLE_AT"),
        (pa.nulls(1), "PIT_MISSING_AVAILABLE_AT"),
        (stamps(None), "PIT_MISSING_AVAILABLE_AT"),
        (stamps(None, zone=None), "PIT_MISSING_AVAILABLE_AT"),
        (pa.array([5]), "PIT_MISSING_AVAILABLE_AT"),
        (pa.array([{"a": 1}]), "PIT_MISSING_AVAILABLE_AT"),
        (pa.array([b"2024-02-15T16:00:00Z"]), "PIT_MISSING_AVAILABLE_AT"),
        (pa.array([None], pa.date32()), "PIT_MISSING_AVAILABLE_AT"),
        (pa.array([date(2024, 1, 1)], pa.date32()), "PIT_INVALID_AVAILABLE_AT_FORMAT"),
        (pa.array([date(2024, 1, 1)], pa.date64()), "PIT_INVALID_AVAILABLE_AT_FORMAT"),
        (stamps(1, unit="ns"), "PIT_INVALID_AVAILABLE_AT_FORMAT"),
        (stamps(2**62), "PIT_INVALID_AVAILABLE_AT_FORMAT"),
        (stamps(-(2**62), unit="s"), "PIT_INVALID_AVAILABLE_AT_FORMAT"),
        (stamps(1, unit="ns", zone=None), "PIT_MISSING_TZ"),
        (stamps(0, zone=None), "PIT_MISSING_TZ"),
        (stamps(0, zone=""), "PIT_MISSING_TZ"),
        (stamps(JUST_AFTER), "PIT_VIOLATION_GT_CUTOFF"),
        (stamps(0, zone="Not/AZone"), None),
    ],
    ids=str,
)
def test_a_column_of_any_type_gets_the_code_of_its_fault(column, code):
    assert codes(rows(available_at=column)) == [code]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_the_cut_off_itself_passes_in_every_unit_and_the_next_tick_does_not(unit):
    tick = {"s": 10**6, "ms": 10**3, "us": 1, "ns": 1}[unit]
    per_micro = 1000 if unit == "ns" else 1
    at = micros(CUTOFF) // tick * per_micro
    step = per_micro
    table = rows(3, available_at=stamps(at - step, at, at + step, unit=unit))
    assert codes(table) == [None, None, "PIT_VIOLATION_GT_CUTOFF"]


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_a_cut_off_between_two_ticks_is_compared_exactly(unit):
    second = CUTOFF.timestamp()
    at = int(second) * (1000 if unit == "ms" else 1)
    table = rows(2, available_at=stamps(at, at + 1, unit=unit))
    assert codes(table, CUTOFF + timedelta(microseconds=1)) == [None, "PIT_VIOLATION_GT_CUTOFF"]
    assert codes(table, CUTOFF - timedelta(microseconds=1)) == ["PIT_VIOLATION_GT_CUTOFF"] * 2


@pytest.mark.parametrize("cutoff", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_cut_offs_at_the_edges_of_time_overflow_nothing(unit, cutoff):
    table = rows(1, available_at=stamps(0, unit=unit))
    assert codes(table, rules.parse_instant(cutoff)) == [None if cutoff > "2" else "PIT_VIOLATION_GT_CUTOFF"]


def test_the_first_and_last_instants_pass_and_their_neighbours_do_not():
    first, last = (
        micros(rules.parse_instant(text)) for text in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z")
    )
    table = rows(4, available_at=stamps(first - 1, first, last, last + 1))
    assert codes(table, None) == ["PIT_INVALID_AVAILABLE_AT_FORMAT", None, None, "PIT_INVALID_AVAILABLE_AT_FORMAT"]


TEXTS = {
    "2024-02-15T16:00:00-05:00": None,
    "2024-02-15T21:00:00Z": None,
    "2024-02-15T21:00:00.000000Z": None,
    "2024-02-15T21:00:00.0Z": None,
    "2024-02-15T21:00:00.000000000+00:00": None,
    "2024-02-16T20:59:00+23:59": None,
    "2024-02-15T21:00:00.1+00:00": "PIT_VIOLATION_GT_CUTOFF",
    "2024-02-15T21:00:00.000001Z": "PIT_VIOLATION_GT_CUTOFF",
    "2024-02-15T16:00:00.000001-05:00": "PIT_VIOLATION_GT_CUTOFF",
    "9999-12-31T23:59:59Z": "PIT_VIOLATION_GT_CUTOFF",
    "0001-01-01T00:00:00Z": None,
    "0001-01-01T00:00:00+00:01": "PIT_INVALID_AVAILABLE_AT_FORMAT",
    "9999-12-31T23:59:59-00:01": "PIT_INVALID_AVAILABLE_AT_FORMAT",
    "0000-12-31T23:59:59-00:01": "PIT_INVALID_AVAILABLE_AT_FORMAT",
    "2024-02-29T00:00:00+14:00": "PIT_VIOLATION_GT_CUTOFF",
    "2023-02-29T00:00:00Z": "PIT_INVALID_AVAILABLE_AT_FORMAT",
    "1900-02-29T00:00:00Z": "PIT_INVALID_AVAILABLE_AT_FORMAT",
    "2000-02-29T00:00:00Z": None,
    "2024-02-00T00:00:00Z": "PIT_INVALID_AVAILABLE_AT_FORMAT",
    "2024-00-01T00:00:00Z": "PIT_INVALID_AVAILABLE_AT_FORMAT",
    "2024-02-15T21:00:00.0000001Z": "PIT_INVALID_AVAILABLE_AT_FORMAT",
    "2024-02-15T21:00:00": "PIT_MISSING_TZ",
    "2024-02-15T21:00:00.123456": "PIT_MISSING_TZ",
    "2024-02-15": "PIT_INVALID_AVAILABLE_AT_FORMAT",
    "2024-02-15T21:00:00z": "PIT_INVALID_AVAILABLE_AT_FORMAT",
    "2024-02-15T21:00:0ZZ": "PIT_INVALID_AVAILABLE_AT_FORMAT",
    "2024-02-15T21:00:00 00:00": "PIT_INVALID_AVAILABLE_AT_FORMAT",
    "2024-02-15T21:00:00+00-00": "PIT_INVALID_AVAILABLE_AT_FORMAT",
    "2024-02-15T21:00:00.-05:00": "PIT_INVALID_AVAILABLE_AT_FORMAT",
    "２024-02-15T21:00:00": "PIT_INVALID_AVAILABLE_AT_FORMAT",
    " ": "PIT_INVALID_AVAILABLE_AT_FORMAT",
    "": "PIT_MISSING_AVAILABLE_AT",
    None: "PIT_MISSING_AVAILABLE_AT",
}


@as_text
def test_instants_as_text_get_the_right_codes_in_every_arrow_string_type(build):
    assert codes(rows(len(TEXTS), available_at=build(list(TEXTS)))) == list(TEXTS.values())


def test_an_invalid_instant_does_not_affect_neighbouring_rows():
    sound = "2024-02-15T16:00:00-05:00"
    for position in range(len(sound)):
        for wrong in "X9:":
            changed = sound[:position] + wrong + sound[position + 1 :]
            verdict = rules.check_item({"available_at": changed, "available_at_source": "edgar_accepted"}, CUTOFF)
            table = rows(3, available_at=pa.array([sound, changed, sound]))
            assert codes(table) == [None, verdict and verdict.code, None]


NO_SOURCES = ("cross_reference", "EDGAR_ACCEPTED", " edgar_accepted", "", None)
SOURCES = dict.fromkeys(rules.SOURCES) | dict.fromkeys(NO_SOURCES, "PIT_INVALID_AVAILABLE_AT_SOURCE")


@as_text
def test_source_tags_get_the_right_codes_in_every_arrow_string_type(build):
    assert codes(rows(len(SOURCES), available_at_source=build(list(SOURCES)))) == list(SOURCES.values())


@pytest.mark.parametrize("column", [None, pa.nulls(1), pa.array([1]), pa.array([b"edgar_accepted"]), pa.array([["x"]])])
def test_a_source_tag_that_is_not_text_is_invalid(column):
    assert codes(rows(available_at_source=column)) == ["PIT_INVALID_AVAILABLE_AT_SOURCE"]


def test_the_first_failing_rule_of_a_row_decides_its_code():
    table = rows(
        5,
        available_at=pa.array([None, "2024-02-15T10:00:00", "2024-02-16T00:00:00Z", "2024-02-16T00:00:00Z", None]),
        available_at_source=pa.array([None, None, None, "edgar_accepted", None]),
        note=pa.array([None, None, None, None, '{"daily_stock": 1}']),
    )
    expected = ["PIT_MISSING_AVAILABLE_AT", "PIT_MISSING_TZ", "PIT_INVALID_AVAILABLE_AT_SOURCE"]
    assert codes(table) == [*expected, "PIT_VIOLATION_GT_CUTOFF", FORBIDDEN]


@pytest.mark.parametrize("name", ["available_at", "available_at_source"])
def test_a_duplicated_clock_column_counts_as_missing(name):
    table = rows()
    twice = table.append_column(name, table[name])
    assert codes(twice) == ["PIT_MISSING_AVAILABLE_AT" if name == "available_at" else "PIT_INVALID_AVAILABLE_AT_SOURCE"]


def test_bytes_under_nulls_are_ignored():
    text, validity = b"2024-02-15T16:00:00-05:00", pa.py_buffer(b"\x00")
    offsets = pa.array([0, len(text)], pa.int32()).buffers()[1]
    nothing = pa.StringArray.from_buffers(1, offsets, pa.py_buffer(text), validity)
    assert codes(rows(available_at=nothing)) == ["PIT_MISSING_AVAILABLE_AT"]
    late = pa.array([micros(JUST_AFTER)]).buffers()[1]
    stamp = pa.TimestampArray.from_buffers(UTC_MICROS, 1, [validity, late])
    assert codes(rows(available_at=stamp)) == ["PIT_MISSING_AVAILABLE_AT"]


def test_sliced_columns_are_read_from_their_offset():
    deep = "[" * 250
    table = rows(
        4,
        available_at=stamps(CUTOFF, CUTOFF, JUST_AFTER, CUTOFF),
        available_at_source=pa.array(["edgar_accepted", "x", "edgar_accepted", "edgar_accepted"]),
        note=pa.array(["[" + " " * 1000 + "]", "[]", "[]", deep]),
    )
    expected = [None, "PIT_INVALID_AVAILABLE_AT_SOURCE", "PIT_VIOLATION_GT_CUTOFF", FORBIDDEN]
    for start in range(4):
        assert codes(table[start:]) == expected[start:]


def test_chunks_and_slices_keep_their_row_numbers():
    clean, bad = rows(3, note=pa.array(["a", "b", "c"])), rows(2, note=pa.array(["x", '{"daily_stock": 1}']))
    table = pa.concat_tables([clean, bad, clean[1:], bad])
    assert [row for row, code in enumerate(codes(table)) if code] == [4, 8]
    assert [row for row, code in enumerate(codes(table[3:8])) if code] == [1]


def test_every_bad_row_is_counted_and_the_first_are_named():
    count = 300_000
    values = np.full(count, micros(CUTOFF))
    values[-500:] += 1
    result = violations_in(rows(count, available_at=pa.array(values).cast(UTC_MICROS)), CUTOFF)
    assert result.codes == {"PIT_VIOLATION_GT_CUTOFF": 500}
    assert [row for row, _, _ in result.rows] == list(range(count - 500, count - 500 + SHOWN_ROWS))
    assert every(detail.startswith(f"row {row} ") for row, _, detail in result.rows)


def test_details_name_places_and_never_values():
    table = rows(2, note=pa.array(["canary", '{"canary 7": {"daily_stock": "canary"}}']))
    ((row, code, detail),) = violations_in(table, CUTOFF).rows
    assert (row, code) == (1, FORBIDDEN)
    assert detail.startswith("row 1 ")
    assert detail.endswith(" $.note.*.*.daily_stock")


def test_every_row_code_can_occur():
    about_rows = set(rules.CODES) - {
        "PIT_PARSE_ERROR", "PIT_INVALID_PIT", "PIT_INVALID_JSON", "PIT_MISSING_ENVELOPE", "PIT_INVALID_ITEM_TYPE",
    }  # fmt: skip
    table = rows(
        6,
        available_at=pa.array(
            [None, "x", "2024-01-01T00:00:00", *["2024-01-01T00:00:00Z"] * 2, "2025-01-01T00:00:00Z"]
        ),
        available_at_source=pa.array([*["edgar_accepted"] * 3, "x", *["edgar_accepted"] * 2]),
        note=pa.array([*[None] * 4, '{"daily_stock": 1}', None]),
    )
    assert set(codes(table)) == about_rows


def test_the_first_bad_rows_are_shown_and_all_are_counted_over_batches(monkeypatch):
    monkeypatch.setattr(columnar, "_BATCH", 7)
    monkeypatch.setattr(columnar, "SHOWN_ROWS", 10)
    result = violations_in(rows(30, available_at=stamps(*[JUST_AFTER] * 30)), CUTOFF)
    assert [row for row, _, _ in result.rows] == list(range(10))
    assert result.codes == {"PIT_VIOLATION_GT_CUTOFF": 30}
