"""The index of a cut: which words stand in which of its rows, how often. A function of these rows, like the cut itself.

A row of it says that a word stands so many times in the text of the cut's n-th row, which is so many characters long.
One for each row has no word and says how long its text is. They come in runs, each in the order of words, so that
readers skip what they don't look for.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pitlake.catalogue import session_macros
from pitlake.clock import AVAILABLE_AT
from pitlake.contract import INSTANT
from pitlake.lake.query import calculator, columns

FORM = 1  # of the index; a change makes old ones unfindable
SCHEMA = pa.schema(
    [
        pa.field("word", pa.string(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
        pa.field("times", pa.int32(), nullable=False),
        pa.field("characters", pa.int32(), nullable=False),
        pa.field(AVAILABLE_AT, INSTANT, nullable=False),
    ]
)
_RUN_ROWS = 32_768
_GROUP_ROWS = 65_536
_POSTINGS = """
WITH
    texts AS (SELECT row, lower(concat_ws(chr(10), {})) AS text FROM rows),
    counted AS (
        SELECT word, row, count(*) AS times
        FROM (SELECT row, unnest(search_words(text)) AS word FROM texts)
        GROUP BY ALL
        UNION ALL SELECT '', row, 1 FROM texts
    )
SELECT word, row, times::INTEGER AS times, length(text)::INTEGER AS characters
FROM counted JOIN texts USING (row)
ORDER BY word, row
"""


def write(tables: Iterable[pa.Table], searched: tuple[str, ...], file: object) -> None:
    """The index of these rows, in their order, as Parquet."""
    with pq.ParquetWriter(
        file,
        SCHEMA,
        store_schema=False,
        write_page_index=False,
        compression="lz4",
        use_dictionary=["word", "times", "characters", AVAILABLE_AT],
        column_encoding={"row": "DELTA_BINARY_PACKED"},
    ) as writer:
        for postings in _runs(tables, searched):
            writer.write_table(postings, row_group_size=_GROUP_ROWS)


def _runs(tables: Iterable[pa.Table], searched: tuple[str, ...]) -> Iterator[pa.Table]:
    """The postings of so many rows at a time as are in memory at once."""
    held, first = [], 0
    for table in tables:
        read = table.select([*searched, AVAILABLE_AT])
        for start in range(0, read.num_rows, _RUN_ROWS):
            held.append(read.slice(start, _RUN_ROWS))
            if sum(part.num_rows for part in held) >= _RUN_ROWS:
                yield _postings(pa.concat_tables(held), first, searched)
                first += sum(part.num_rows for part in held)
                held = []
    if held:
        yield _postings(pa.concat_tables(held), first, searched)


def _postings(rows: pa.Table, first: int, searched: tuple[str, ...]) -> pa.Table:
    numbered = rows.append_column("row", pa.array(range(first, first + rows.num_rows), pa.int64()))
    with calculator(rows=numbered) as connection:
        connection.execute(_macros())
        found = connection.sql(_POSTINGS.format(columns(searched))).to_arrow_table()
    newest = pa.repeat(pc.max(rows[AVAILABLE_AT]), found.num_rows)
    return found.append_column(AVAILABLE_AT, newest).cast(SCHEMA)


@cache
def _macros() -> str:
    """How words are told apart, as sessions do."""
    (found,) = filter(None, (re.search(r"MACRO search_words\(.*?;", text) for text in session_macros(())))
    return f"CREATE OR REPLACE TEMP {found[0]}"
