"""Writes rows: as a table for people, or as JSON, CSV or Parquet, to stdout or into a file.

A file is written completely or not at all. Values are written as in the envelope; null is an empty cell in CSV. This
module opens no lake.
"""

import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pitlake.cli import READER_GONE
from pitlake.clock import AVAILABLE_AT
from pitlake.errors import BadInput, listed
from pitlake.recorder import write_whole

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_IN_TABLE = 200
CELL_WIDTH = 80
LEAST_WIDTH = 20  # A narrower column is dropped, not shortened.
GUTTER = 3  # between two columns
PLUMBING = frozenset(
    ("available_at_source", "available_at_basis", "release_rule", "acceptance_rule", "acceptance_raw", "evidence")
)
"""How a row is dated and where it comes from: the last columns on a terminal."""


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun, such as "1 row" or "1,200 rows"."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def check_target(form: str, target: Path | None) -> None:
    """Refuse a target that can't be written, before any work is done."""
    if form == "parquet" and target is None and sys.stdout.isatty():
        raise BadInput("--format", "parquet is not text for a terminal", "add --output FILE or pipe it somewhere")
    if target is not None and not target.name:
        raise BadInput("--output", "names no file", "give a path")
    if target is not None and not _resolved(target).parent.is_dir():
        raise BadInput("--output", f"there is no directory {str(_resolved(target).parent)!r}", "make it first")


def write(table: "pa.Table", form: str, target: Path | None) -> None:
    """Write an Arrow table as `form` (table, json, csv or parquet) to a file, or to stdout when target is None.

    Raises BadInput for values the format can't represent.
    """
    import pyarrow as pa

    from pitlake.answers.formats import WRITERS, cell_text, rows

    try:
        if form == "table":
            first_rows = rows(table.slice(0, ROWS_IN_TABLE))
            content = grid(table.column_names, ([cell_text(value) for value in row] for row in first_rows))
        else:
            content = WRITERS[form](table)
    except (pa.ArrowException, OverflowError, ValueError) as problem:
        next_step = "cast the column in the query, or choose another format"
        raise BadInput("--format", f"{form} can't hold this result ({problem})", next_step) from None
    deliver(content, target)
    if form == "table" and table.num_rows > ROWS_IN_TABLE:
        say(f"shown: {ROWS_IN_TABLE} of {table.num_rows:,} rows; --format csv or json writes them all")


def deliver(content: bytes, target: Path | None) -> None:
    """Write bytes to stdout, or to a file that is written completely or not at all. A device or a pipe is written
    directly.
    """
    # A path that names stdout, such as /dev/stdout, is written in place and not replaced.
    if target is None or (target.exists() and os.path.samestat(target.stat(), os.fstat(sys.stdout.fileno()))):
        sys.stdout.flush()
        try:
            # An unbuffered stdout may write fewer bytes than it is given.
            with open(sys.stdout.fileno(), "wb", closefd=False) as whole:
                whole.write(content)
        except BrokenPipeError:
            raise click.exceptions.Exit(READER_GONE) from None
        return
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    write_whole(_resolved(target), content)


def say(line: str) -> None:
    """Print a message to stderr."""
    click.echo(line, err=True)


def to_json(value: object) -> bytes:
    """Return a value as indented JSON text with a line feed at the end."""
    from pitlake.answers.envelope import strict
    from pitlake.answers.formats import indented

    return indented(strict(value, "--format", "the answer"))


def _resolved(target: Path) -> Path:
    try:
        return target.resolve()
    except (OSError, RuntimeError):
        raise BadInput("--output", f"{str(target)!r} is a link to a missing file", "give a different path") from None


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """Format strings as a table.

    On a terminal, the table fits the width: content comes first, then the time of publication, then the columns in
    PLUMBING. Columns are shortened, then dropped from the right. A message on stderr names the dropped columns.
    """
    is_terminal = sys.stdout.isatty()
    places = list(range(len(head)))
    if is_terminal:
        places.sort(key=lambda place: (head[place] in PLUMBING, head[place] == AVAILABLE_AT))
    head = [printable(head[place]) for place in places]
    lines = [head]
    for row in rows:
        cells = [printable(row[place]) for place in places]
        lines.append([cell if len(cell) <= CELL_WIDTH else cell[: CELL_WIDTH - 1] + "…" for cell in cells])
    natural = [max(map(cells_of, column)) for column in zip(*lines, strict=True)]
    width = shutil.get_terminal_size().columns if is_terminal else sum(natural) + GUTTER * len(natural)
    # The main columns have priority; the proof comes last. The first column, instants and ids are never shortened, and
    # other columns never below LEAST_WIDTH.
    widths: dict[int, int] = {}
    for place in sorted(range(len(head)), key=lambda place: (place and _importance(head[place]), place)):
        whole = place == 0 or head[place] in ("id", AVAILABLE_AT)
        least = natural[place] if whole else min(natural[place], LEAST_WIDTH)
        if not widths or sum(widths.values()) + GUTTER * len(widths) + least <= width:
            widths[place] = min(least, width)
    spare = width - sum(widths.values()) - GUTTER * (len(widths) - 1)
    for place in sorted(widths):
        more = min(natural[place] - widths[place], spare)
        widths[place], spare = widths[place] + more, spare - more
    widths = dict(sorted(widths.items()))
    if dropped := [name for place, name in enumerate(head) if place not in widths]:
        say(f"not shown at {width} columns: {listed(dropped)}; --format json has them")
    gutter = " " * GUTTER
    first, *rest = (gutter.join(fit(line[place], size) for place, size in widths.items()).rstrip() for line in lines)
    if is_terminal and os.environ.get("TERM") not in ("dumb", "unknown"):
        first = click.style(first, bold=True)
    rule = "─" * (sum(widths.values()) + GUTTER * (len(widths) - 1))
    return "\n".join((first, rule, *rest, "")).encode()


def _importance(name: str) -> int:
    """Return a column's rank on a narrow terminal. The columns with the lowest ranks are shown."""
    if name == AVAILABLE_AT or name == "title" or name.endswith("score"):
        return 0
    return 2 if name == "id" or name in PLUMBING else 1


def printable(text: str) -> str:
    """Escape every unprintable character, so that text cannot control the terminal."""
    return "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode() for mark in text)


def cells_of(text: str) -> int:
    """Return the number of terminal cells that a string occupies."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(mark) in ("F", "W") for mark in text)
    return len(text) + wide - sum(unicodedata.category(mark) in ("Mn", "Me") for mark in text)


def fit(text: str, cells: int) -> str:
    """Return a string of this number of cells: padded with spaces, or shortened with an ellipsis."""
    shortened = text
    while text and cells_of(shortened) > cells:
        text = text[:-1]
        shortened = f"{text}…"
    return shortened + " " * (cells - cells_of(shortened))
