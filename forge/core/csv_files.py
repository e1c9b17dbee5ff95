"""Reads the PM's CSV files. An error gives the line and the next step."""

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from math import isfinite
from pathlib import Path

from pitlake.errors import BadInput

Line = tuple[int, Mapping[str, str]]
"""The number of a line, and its values by column."""


def read_csv(field: str, source: Path | str, columns: Sequence[str]) -> tuple[Sequence[str], list[Line]]:
    """Return the columns and the lines of a CSV file, or of its text. columns: the required columns.

    Raises BadInput, which names the field.
    """
    file, step = source if isinstance(source, Path) else "the text", f"give columns {', '.join(columns)}"
    with (
        source.open(newline="", encoding="utf-8-sig") if isinstance(source, Path) else StringIO(source, newline="")
    ) as text:
        reader = csv.DictReader(text, strict=True)
        try:
            lines: list[Line] = [(reader.line_num, row) for row in reader]
        except (csv.Error, UnicodeDecodeError) as problem:
            raise BadInput(field, f"{file} is not a CSV file ({problem})", step) from None
    if missing := [name for name in columns if name not in (reader.fieldnames or ())]:
        raise BadInput(field, f"{file} has no column {missing[0]}", step)
    for line, row in lines:
        if None in row or None in row.values():
            what = f"line {line}: its number of values differs from the first line"
            raise BadInput(field, what, "quote values that contain commas")
    return reader.fieldnames or (), lines


def read_number(field: str, line: Line, column: str, blank: float = float("nan")) -> float:
    """Return a line's number in a column, or `blank` if the cell is empty. Raises BadInput."""
    text = line[1].get(column, "").strip()
    try:
        number = float(text) if text else blank
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise BadInput(field, f"line {line[0]}: {column} is {text[:40]!r}", "give a number")
    return number
