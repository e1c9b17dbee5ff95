"""Records that occur twice in one run: the same record read twice, or two records with the same identity.

A 64-bit hash finds the few candidates, and only those are compared exactly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pitlake.contract import Dataset
from pitlake.lake.publishing.match_keys import Hashes, repeated
from pitlake.lake.storage.arrays import Positions, as_numbers
from pitlake.lake.tables.query import calculator, columns


@dataclass(frozen=True)
class Clash:
    """The positions of staged rows that contradict each other, and the number of each row's group."""

    positions: Positions
    group: Positions

    @property
    def groups(self) -> int:
        return len(np.unique(self.group))


@dataclass(frozen=True)
class Duplicates:
    """Positions of staged rows.

    `again`: rows that repeat an earlier row. `identity_clash`: all rows of an identity with different contents.
    `key_clash`: all rows of a (key, available_at, tiebreak) with different contents.
    """

    again: Positions
    identity_clash: Clash
    key_clash: Clash


def duplicate_keys(dataset: Dataset) -> list[tuple[str, ...]]:
    """Return the column sets whose values no two staged rows may share."""
    instant = ("available_at",) if dataset.revised_at == "available_at" else ()
    identity = tuple(dict.fromkeys((*dataset.identity, *instant)))
    columns_shown = tuple(dict.fromkeys((*dataset.key, "available_at", *dataset.tiebreak)))
    return [identity] if set(identity) <= set(columns_shown) else [identity, columns_shown]


def find_duplicates(
    dataset: Dataset, rows: pa.Table, content_hash: pa.ChunkedArray, hashes: Mapping[str, Hashes], keys_differ: bool
) -> Duplicates:
    """Return the staged rows' duplicates by `hashes` of `duplicate_keys`. keys_differ: no two rows share a key."""
    table, key, none = rows.append_column("content_hash", content_hash), {*dataset.key}, np.empty(0, np.int64)
    (again, identity_clash), *keys = (
        _clashes(table, by, none if keys_differ and key <= {*by} else repeated(hashes[columns(by)]))
        for by in duplicate_keys(dataset)
    )
    return Duplicates(again, identity_clash, keys[0][1] if keys else Clash(none, none))


def _clashes(table: pa.Table, by: Sequence[str], candidates: Positions) -> tuple[Positions, Clash]:
    if not len(candidates):
        return candidates, Clash(candidates, candidates)
    facts = list(dict.fromkeys([*by, "available_at", "content_hash"]))
    candidate_rows = table.select(facts).take(pa.array(candidates)).append_column("_position", pa.array(candidates))
    with calculator(found=candidate_rows) as sql:
        again = sql.sql(
            "SELECT _position FROM found QUALIFY row_number() OVER "
            "(PARTITION BY content_hash, available_at ORDER BY _position) > 1 ORDER BY _position"
        ).to_arrow_table()
        clash = sql.sql(
            f"""SELECT _position, min(_position) OVER alike AS _first FROM found
            WINDOW alike AS (PARTITION BY {columns(by)})
            QUALIFY (min(content_hash) OVER alike, min(available_at) OVER alike)
                IS DISTINCT FROM (max(content_hash) OVER alike, max(available_at) OVER alike)
            ORDER BY _position"""
        ).to_arrow_table()
    return as_numbers(again["_position"]), Clash(as_numbers(clash["_position"]), as_numbers(clash["_first"]))
