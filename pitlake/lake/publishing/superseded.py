"""The tombstones of a publish: which newer row supersedes a row of the same key, and when.

pitlake/tombstones.py explains tombstones. Nothing is written here.
"""

import numpy as np
import pyarrow as pa

from pitlake.contract import Dataset
from pitlake.lake.publishing.match_keys import hashes
from pitlake.lake.storage.manifest import TableState
from pitlake.lake.tables.query import calculator, columns, quoted, reading
from pitlake.tombstones import SUPERSEDED_SCHEMA, newest_first

MOST_ROWS = 1 << 16
"""The number of new rows compared together. The window over them takes some kilobytes of memory for each."""


def facts_of_revision(dataset: Dataset) -> list[str]:
    """Return the columns that identify a row's key and order its revisions."""
    return list(dict.fromkeys((*dataset.key, *newest_first(dataset))))


def new_tombstones(dataset: Dataset, published: pa.Table, state: TableState, *, complete: bool) -> pa.Table:
    """Return the tombstones that result from publishing these rows into `state`.

    published: `facts_of_revision` of the new rows. complete: whether the lake has all tombstones of `state`; if not,
    the missing ones are returned too. A row is superseded once it and any newer row of its key are available. Only
    pairs with a new row are considered. A row published late may supersede other rows and be superseded itself.
    Existing tombstones stay valid.
    """
    if complete and not published.num_rows:
        return SUPERSEDED_SCHEMA.empty_table()
    count = -(-published.num_rows // MOST_ROWS)
    if not complete or count == 1:
        return _tombstones(dataset, published, state, complete=complete)
    key = columns(dataset.key)
    number = hashes("FROM published", [key], published=published)[key] % np.uint64(count)
    parts = (published.filter(pa.array(number == place)) for place in range(count))
    tombstones = pa.concat_tables([_tombstones(dataset, part, state, complete=True) for part in parts])
    return tombstones.sort_by([(name, "ascending") for name in tombstones.column_names])


def _tombstones(dataset: Dataset, published: pa.Table, state: TableState, *, complete: bool) -> pa.Table:
    names, key = columns(facts_of_revision(dataset)), columns(dataset.key)
    order = ", ".join(f"{quoted(name)} DESC NULLS LAST" for name in newest_first(dataset))
    # Comparing columns lets file statistics and a filter of the few keys skip most rows; hashing would read all.
    same_key = " AND ".join(
        f"stored.{name} {'IS NOT DISTINCT FROM' if nullable else '='} published.{name}"
        for name, nullable in ((quoted(n), dataset.arrow_schema.field(n).nullable) for n in dataset.key)
    )
    of_keys = f"SEMI JOIN published ON {same_key}" if complete else ""
    stored = (
        f"SELECT {names}, hash({key}) AS _hashed FROM {reading(state.files)} AS stored {of_keys}"
        if state.files
        else "FROM fresh LIMIT 0"
    )
    # The newer row that became available first is usually the next newer row, but a newer statement may have become
    # available before an older one.
    first_newer = """lag(available_at) OVER newer AS available_at, lag(content_hash) OVER newer AS newer_hash,
                lag(_is_new) OVER newer AS superseded_by_new"""
    if dataset.newer_by:
        newer = "OVER (newer ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
        new, old = (f"min(available_at) FILTER (WHERE {kind}) {newer}" for kind in ("_is_new", "NOT _is_new"))
        first_newer = f"""min(available_at) {newer} AS available_at, NULL AS newer_hash,
                coalesce({new} < {old}, {new} IS NOT NULL) AS superseded_by_new"""
    # All rows of the state would be too many to keep in memory.
    materialized = "MATERIALIZED" if complete else "NOT MATERIALIZED"
    every = "true" if not complete else "_is_new OR superseded_by_new"
    query = f"""
        WITH fresh AS MATERIALIZED (SELECT {names}, hash({key}) AS _hashed FROM published),
        known AS {materialized} ({stored}),
        -- Most keys have one row, and need no window.
        several AS MATERIALIZED (
            SELECT _hashed FROM (SELECT _hashed FROM fresh UNION ALL SELECT _hashed FROM known)
            GROUP BY _hashed HAVING count(*) > 1
        ),
        revision AS (
            SELECT *, true AS _is_new FROM fresh SEMI JOIN several USING (_hashed)
            UNION ALL SELECT *, false FROM known SEMI JOIN several USING (_hashed)
        ),
        followed AS (
            SELECT available_at AS dead_at, content_hash AS dead_hash, _is_new,
                {first_newer}
            FROM revision WINDOW newer AS (PARTITION BY {key} ORDER BY {order})
        )
        -- A newer row may have been available before the row itself, which no earlier tombstone may name.
        SELECT greatest(available_at, dead_at) AS available_at, dead_at, dead_hash FROM followed
        WHERE available_at IS NOT NULL AND ({every})
            AND (available_at, newer_hash) IS DISTINCT FROM (dead_at, dead_hash)
        ORDER BY ALL"""
    with calculator(published=published) as sql:
        return sql.sql(query).to_arrow_table().cast(SUPERSEDED_SCHEMA)
