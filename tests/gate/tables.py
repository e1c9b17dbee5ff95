"""Arrow tables for tests of the gate: a valid table with replaced columns, and the code of each row."""

from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest

from pitlake.gate.columnar import SHOWN_ROWS, violations_in

CUTOFF = datetime(2024, 2, 15, 21, tzinfo=timezone.utc)
JUST_AFTER = CUTOFF + timedelta(microseconds=1)
UTC_MICROS = pa.timestamp("us", "UTC")
FORBIDDEN = "PIT_FORBIDDEN_FIELD"


def rows(count=1, /, **columns):
    """Return a valid table with columns added or replaced; None removes one."""
    sound = {
        "available_at": pa.array([CUTOFF] * count, UTC_MICROS),
        "available_at_source": pa.array(["edgar_accepted"] * count),
    }
    return pa.table({name: column for name, column in (sound | columns).items() if column is not None})


def codes(table, cutoff=CUTOFF, **options):
    """Return the code of each row, None for clean rows."""
    result = violations_in(table, cutoff, **options)
    assert sum(result.codes.values()) == len(result.rows) <= SHOWN_ROWS
    assert bool(result) == bool(result.rows)
    assert [detail for row, _, detail in result.rows if not detail.startswith(f"row {row} ")] == []
    by_row = {row: code for row, code, _ in result.rows}
    return [by_row.get(row) for row in range(table.num_rows)]


def stamps(*values, unit="us", zone="UTC"):
    return pa.array(values, pa.timestamp(unit, zone))


def texts_of(kind):
    """Return a function that builds a column of strings, stored in one of Arrow's formats."""
    if kind == "dictionary":
        return lambda values: pa.array(values, pa.string()).dictionary_encode()
    if kind == "run ends":
        return lambda values: pa.RunEndEncodedArray.from_arrays(
            range(1, len(values) + 1), pa.array(values, pa.string())
        )
    if kind == "json":
        return lambda values: pa.array(values, pa.json_())
    return lambda values: pa.array(values, kind)


TEXT_KINDS = (pa.string(), pa.large_string(), pa.string_view(), "dictionary", "run ends", "json")
BINARY_KINDS = (pa.binary(), pa.large_binary(), pa.binary_view())
as_text = pytest.mark.parametrize("build", [texts_of(kind) for kind in TEXT_KINDS], ids=map(str, TEXT_KINDS))
