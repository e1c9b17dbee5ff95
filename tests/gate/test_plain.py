"""Arrow's instants and dates as text: exact in every unit, and marked if Python cannot represent the instant."""

from datetime import timedelta

import pyarrow as pa
import pytest

from pitlake.gate.plain import plain
from pitlake.gate.rules import MAX_DEPTH


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (1, pa.timestamp("s", "UTC"), "1970-01-01T00:00:01Z"),
        (1_500, pa.timestamp("ms", "UTC"), "1970-01-01T00:00:01.500Z"),
        (1_000_001, pa.timestamp("us", "America/New_York"), "1970-01-01T00:00:01.000001Z"),
        (1_000_000_001, pa.timestamp("ns", "UTC"), "1970-01-01T00:00:01.000000001Z"),
        (-1, pa.timestamp("ms"), "1969-12-31T23:59:59.999"),
        (2**62, pa.timestamp("s", "UTC"), "outside the years 1 to 9999"),
        (-1, pa.date32(), "1969-12-31"),
        (86_400_000, pa.date64(), "1970-01-02"),
        (2**31 - 1, pa.date32(), "outside the years 1 to 9999"),
    ],
)
def test_instants_and_dates_become_exact_text(value, kind, text):
    stored = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    assert plain(pa.array([value], stored).view(kind)[0]) == text


@pytest.mark.parametrize(
    ("value", "unit", "span"),
    [
        (-90, "s", timedelta(seconds=-90)),
        (1_500, "ms", timedelta(milliseconds=1_500)),
        (1_000_001, "us", timedelta(seconds=1, microseconds=1)),
        (1_999, "ns", timedelta(microseconds=1)),
        (2**62, "s", 2**62),
    ],
)
def test_durations_become_python_timedeltas_where_possible(value, unit, span):
    assert plain(pa.scalar(value, pa.int64()).cast(pa.duration(unit))) == span


@pytest.mark.parametrize("nest", ["list", "struct", "map key", "map value"])
def test_values_nested_up_to_the_depth_limit_are_converted_whole(nest):
    value, kind = "deep", pa.string()
    for _ in range(MAX_DEPTH - 1):
        value, kind = {
            "list": ([value], pa.list_(kind)),
            "struct": ({"a": value}, pa.struct([("a", kind)])),
            "map key": ([(value, 1)], pa.map_(kind, pa.int8())),
            "map value": ([("a", value)], pa.map_(pa.string(), kind)),
        }[nest]
    assert "deep" in str(plain(pa.array([value], kind)[0]))
