"""Instants in texts, read in bulk: days, clock times, offsets and fractions, judged as the rules judge one."""

from itertools import product

import pyarrow as pa
import pytest

from pitlake.clock import micros
from pitlake.gate.instants import read_texts
from pitlake.gate.rules import InstantFault, parse_instant

YEARS = ("0000", "0001", "0004", "0099", "0100", "0400", "1900", "1970", "2000", "2023", "2024", "2100", "9999")
DAYS = [f"{year}-{month:02d}-{day:02d}T12:00:00Z" for year, month, day in product(YEARS, range(14), range(34))]
TIMES = [f"2024-02-29T{hour:02d}:{second:02d}:{second:02d}Z" for hour, second in product(range(26), (0, 1, 59, 60, 61))]
OFFSETS = [
    f"{day}T{hour}:30:00{sign}{by:02d}:{minute:02d}"
    for day, hour, sign, by, minute in product(
        ("0001-01-01", "2024-02-29", "9999-12-31"), ("00", "23"), "+-", (0, 1, 14, 23, 24), (0, 1, 59, 60)
    )
]
FRACTIONS = [f"2024-02-29T23:59:59.{'123456789'[:digits]}Z" for digits in range(10)]
FRACTIONS += [f"2024-02-29T23:59:59.123456{rest}Z" for rest in ("0", "00", "000", "1", "01", "001")]


def alone(text):
    try:
        return micros(parse_instant(text))
    except InstantFault:
        return None


@pytest.mark.parametrize("texts", [DAYS, TIMES, OFFSETS, FRACTIONS], ids=["days", "times", "offsets", "fractions"])
def test_bulk_and_alone_read_the_same_instants(texts):
    accepted, read = read_texts(pa.array([text.encode() for text in texts]), None)
    found = [int(at) if good else None for good, at in zip(accepted, read, strict=True)]
    assert dict(zip(texts, found, strict=True)) == {text: alone(text) for text in texts}
    assert {at is None for at in found} == {True, False}
