"""Records that come twice in one run: told apart into the same one seen twice, and two that claim one identity.

A column at a time: a 64-bit hash finds the few candidates, an exact comparison judges only those.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pitlake.contract import Dataset
from pitlake.lake.arrays import Positions, as_numbers
from pitlake.lake.query import calculator, columns


@dataclass(frozen=True)
class Duplicates:
    """Positions of staged rows. `again`: the same record as an earlier row. `identity_clash` and `key_clash`: one row
    for every identity, and every (key, available_at, tiebreak), that stands for different contents.
    """

    again: Positions
    identity_clash: Positions
    key_clash: Positions


def find_duplicates(dataset: Dataset, rows: pa.Table, content_hash: pa.ChunkedArray) -> Duplicates:
    """The duplicates among staged rows. In a source-dated history one identity may come once per instant."""
    identity = list(dataset.identity)
    if dataset.revised_at == "available_at":
        identity.append("available_at")
    shown = [*dataset.key, "available_at", *dataset.tiebreak]
    table = rows.append_column("content_hash", content_hash)
    again, identity_clash = _clashes(table, identity)
    implied = set(identity) <= set(shown)  # then one key can't clash unless one identity does
    key_clash = np.empty(0, np.int64) if implied else _clashes(table, shown)[1]
    return Duplicates(again, identity_clash, key_clash)


def _clashes(table: pa.Table, by: Sequence[str]) -> tuple[Positions, Positions]:
    by = list(dict.fromkeys(by))
    candidates = _maybe_repeated(table.select(by))
    if not len(candidates):
        return candidates, candidates
    facts = list(dict.fromkeys([*by, "available_at", "content_hash"]))
    found = table.select(facts).take(pa.array(candidates)).append_column("position", pa.array(candidates))
    with calculator(found=found) as sql:
        again = sql.sql(
            "SELECT position FROM found QUALIFY row_number() OVER "
            "(PARTITION BY content_hash, available_at ORDER BY position) > 1 ORDER BY position"
        ).to_arrow_table()
        clash = sql.sql(
            f"SELECT min(position) AS position FROM found GROUP BY {columns(by)} "
            "HAVING count(DISTINCT (content_hash, available_at)) > 1 ORDER BY position"
        ).to_arrow_table()
    return as_numbers(again["position"]), as_numbers(clash["position"])


def _maybe_repeated(table: pa.Table) -> Positions:
    """Positions of all rows whose hash another row has too: no false negatives."""
    with calculator(rows=table) as sql:
        hashes = sql.sql(f"SELECT hash({columns(table.column_names)}) AS hash FROM rows").to_arrow_table()["hash"]
    values = hashes.to_numpy()
    ordered = np.sort(values)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    return np.flatnonzero(np.isin(values, repeated)) if len(repeated) else np.empty(0, np.int64)
