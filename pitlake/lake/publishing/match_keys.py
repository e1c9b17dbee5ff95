"""Match keys: SQL for the columns that identify a row, and for the names by which gaps refer to a row.

Equal values have equal hashes, in memory and in a file, so only rows with equal hashes need to be compared.
"""

from collections.abc import Iterable
from string import Formatter

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pitlake.contract import Dataset
from pitlake.lake.tables.query import calculator, columns, quoted

Hashes = npt.NDArray[np.uint64]

REFUSED = "&refused="
"""Separates a gap's locator from the refused value."""


def named(locator: str) -> str:
    """Return SQL for the record that a locator names.

    For an item of a response, this is the item's name without the address of the response. A gap's locator may end with
    the refused value, which is not part of the name.
    """
    locator = f"split_part({locator}, '{REFUSED}', 1)"
    item = f"nullif(split_part(split_part({locator}, '&item=', 2), '&', 1), '')"
    return f"if(contains({locator}, '&item='), coalesce({item}, {locator}), {locator})"


def spelled(gap_name: str) -> str:
    """Return SQL for a gap name with columns in braces."""
    parts = []
    for text, column, _, _ in Formatter().parse(gap_name):
        parts += [f"'{text}'"] if text else []
        parts += [f"{quoted(column)}::VARCHAR"] if column else []
    return " || ".join(parts)


EVIDENCE, LOCATOR = named("evidence"), named("locator")
GAP = ("gap_type", "reason", "locator")


def names(dataset: Dataset) -> tuple[str, ...]:
    """Return SQL for each name by which a gap may call a row."""
    return (EVIDENCE, *map(spelled, dataset.gap_names))


def keys(dataset: Dataset) -> tuple[str, ...]:
    """Return the sets of columns that identify one record, one key, and one frozen result."""
    every = (dataset.identity, dataset.thing, dataset.key, dataset.frozen)
    return tuple(dict.fromkeys(map(columns, filter(None, every))))


def kinds(dataset: Dataset) -> tuple[str, ...]:
    """Return the keys by which rows are matched."""
    return tuple(dict.fromkeys((*keys(dataset), *names(dataset))))


def hashes(of: str, kinds: Iterable[str], **tables: pa.Table) -> dict[str, Hashes]:
    """Return, for each kind of key, the hashes of all rows in order. of: the FROM clause."""
    expressions = list(dict.fromkeys(kinds))
    with calculator(**tables) as sql:
        hashed = sql.sql(f"SELECT {', '.join(f'hash({kind})' for kind in expressions)} {of}").to_arrow_table()
    return {kind: column.to_numpy() for kind, column in zip(expressions, hashed.columns, strict=True)}


def repeated(of: Hashes) -> npt.NDArray[np.int64]:
    """Return the positions of all hashes that occur more than once."""
    several = repeats(of)
    return np.flatnonzero(np.isin(of, several)) if len(several) else np.empty(0, np.int64)


def repeats(of: Hashes) -> Hashes:
    """Return the hashes that occur more than once, in order. Each is returned as often as it is repeated."""
    ordered = np.sort(of)
    several: Hashes = ordered[1:][ordered[1:] == ordered[:-1]]
    return several
