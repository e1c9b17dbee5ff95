"""The word index of a cut: which words occur in which rows, and how often.

Like the cut itself, it depends only on the rows.

An index row describes 64 consecutive rows of the cut: which of them contain a word (`texts`: one bit each), how often
(`times`: one letter each, whose code is the number), and the `least` of their (0.3 + 0.9 * characters / mean) / times,
which limits their score. One index row per 64 rows has no word; it has the lengths of their texts and the mean. All
index rows are sorted by word, so that readers can skip the row groups of other words.
"""

import re
import tempfile
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pitlake.clock import AVAILABLE_AT
from pitlake.contract import INSTANT
from pitlake.lake.publishing.spill_file import SpillFile
from pitlake.questions.catalogue import session_macros

FORM = 3  # Change this name with the layout, so that an index of another form is not found.
SCHEMA = pa.schema(
    [
        pa.field("word", pa.string(), nullable=False),
        pa.field("block", pa.int32(), nullable=False),
        pa.field("texts", pa.uint64(), nullable=False),
        pa.field("times", pa.string(), nullable=False),
        pa.field("least", pa.float32(), nullable=False),
        pa.field("characters", pa.list_(pa.int32())),
        pa.field(AVAILABLE_AT, INSTANT, nullable=False),
    ]
)
_BLOCK = 64
_RUN_ROWS = 512 * _BLOCK
# A few row groups are quick to search, and small row groups are quick to read.
_GROUPS, _LEAST_ROWS, _MOST_ROWS = 48, 4_096, 131_072
_PAGE = 1 << 16  # bytes of a page, the unit that readers skip in a row group
_PARTS = 32  # the number of parts into which runs are split by word
_SURROGATES, _AFTER, _LETTERS = 0xD800, 0x800, 0x10FFFF
_WORDS = """
SELECT _row AS row, length(text)::INTEGER AS characters, search_words(text) AS words
FROM (SELECT _row, lower(concat_ws(chr(10), {})) AS text FROM rows)
"""


def write(tables: Iterable[pa.Table], searched: tuple[str, ...], file: object) -> None:
    """Write the index of these rows, in their order, as Parquet."""
    with tempfile.TemporaryDirectory() as folder:
        runs, bounds = _spilled(_runs(tables, searched), Path(folder))
        group_rows = min(max(runs.num_rows // _GROUPS, _LEAST_ROWS), _MOST_ROWS)
        pending = SCHEMA.empty_table()
        with pq.ParquetWriter(
            file,
            SCHEMA,
            store_schema=False,
            write_page_index=False,
            compression="lz4",
            data_page_size=_PAGE,
            use_dictionary=["word", AVAILABLE_AT],
            column_encoding={"block": "DELTA_BINARY_PACKED"},
        ) as writer:
            for start, end in pairwise(bounds):
                pending = pa.concat_tables([pending, _in_order(runs.slice(start, end - start))])
                whole = pending.num_rows - (pending.num_rows % group_rows if end < runs.num_rows else 0)
                if whole:
                    writer.write_table(pending.slice(0, whole).combine_chunks(), row_group_size=group_rows)
                    pending = pending.slice(whole)


def _spilled(runs: Iterable[pa.Table], folder: Path) -> tuple[pa.Table, list[int]]:
    """Split the rows of all runs into parts by word, and return the bounds of the parts.

    The runs are on disk, so that only one run and one part are in memory.
    """
    spilled, parts = SpillFile(folder, "runs", SCHEMA), [str(part) for part in range(_PARTS)]
    splits: list[str] = []
    for run in runs:
        words = run["word"].combine_chunks()
        splits = splits or [words[run.num_rows * part // _PARTS].as_py() for part in range(1, _PARTS)]
        starts = [0, *(bisect_left(words, split, key=pa.StringScalar.as_py) for split in splits), run.num_rows]
        for part, (start, end) in zip(parts, pairwise(starts), strict=True):
            spilled.put(part, run.slice(start, end - start))
    spilled_runs, place = spilled.read(parts)
    return spilled_runs, np.searchsorted(place, range(_PARTS + 1)).tolist()


def _in_order(rows: pa.Table) -> pa.Table:
    from pitlake.lake.tables.query import calculator

    with calculator(rows=rows) as connection:
        return connection.sql("FROM rows ORDER BY word, block").to_arrow_table().cast(SCHEMA)


def _runs(tables: Iterable[pa.Table], searched: tuple[str, ...]) -> Iterator[pa.Table]:
    """Index as many rows at a time as fit in memory."""
    pending: list[pa.Table] = []
    first = 0
    for table in tables:
        read, start = table.select([*searched, AVAILABLE_AT]), 0
        while start < read.num_rows:
            pending.append(read.slice(start, _RUN_ROWS - sum(part.num_rows for part in pending)))
            start += pending[-1].num_rows
            if sum(part.num_rows for part in pending) == _RUN_ROWS:
                yield _blocks(pa.concat_tables(pending), first, searched)
                first, pending = first + _RUN_ROWS, []
    if pending:
        yield _blocks(pa.concat_tables(pending), first, searched)


def _blocks(rows: pa.Table, first: int, searched: tuple[str, ...]) -> pa.Table:
    from pitlake.lake.tables.query import calculator, columns

    numbered = rows.append_column("_row", pa.array(range(rows.num_rows), pa.int64()))
    with calculator(rows=numbered) as connection:
        connection.execute(_macros())
        counted = connection.sql(_WORDS.format(columns(searched))).to_arrow_table()
    vocabulary, word, row, times = _counted(counted)
    lengths = np.empty(rows.num_rows, np.int32)
    lengths[counted["row"].to_numpy()] = counted["characters"].to_numpy()
    characters, mean = lengths[row], np.float32(max(lengths.mean(), 1))
    same = (word[1:] == word[:-1]) & (row[1:] // _BLOCK == row[:-1] // _BLOCK)
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    without = word[starts] == 0
    weakness = np.minimum.reduceat((0.3 + 0.9 * characters / mean) / times, starts)
    least = np.nextafter(weakness.astype(np.float32), np.float32(0))
    blocks = (
        vocabulary.take(pa.array(word[starts])),
        ((first + row[starts]) // _BLOCK).astype(np.int32),
        np.bitwise_or.reduceat(np.uint64(1) << (row % _BLOCK).astype(np.uint64), starts),
        _letters(times, starts),
        np.where(without, mean, least),
        _lists(characters, starts, without),
        pa.repeat(pc.max(rows[AVAILABLE_AT]), len(starts)),
    )
    return pa.Table.from_arrays([pa.array(column) for column in blocks], schema=SCHEMA)


def _counted(counted: pa.Table) -> tuple[pa.Array, np.ndarray, np.ndarray, np.ndarray]:
    """Return all words in order, and three arrays sorted by word and row: a word's number, its row and its count. The
    first word is empty and occurs in every row.
    """
    encoded = pc.list_flatten(counted["words"]).dictionary_encode().combine_chunks()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(1, len(order) + 1)
    rows = np.repeat(counted["row"].to_numpy(), pc.list_value_length(counted["words"]).to_numpy())
    stands = places[encoded.indices.to_numpy()] * counted.num_rows + rows
    each, times = np.unique(np.concatenate([np.arange(counted.num_rows), stands]), return_counts=True)
    vocabulary = pa.concat_arrays([pa.array([""]), encoded.dictionary.take(pa.array(order))])
    return vocabulary, each // counted.num_rows, each % counted.num_rows, times.astype(np.uint32)


def _letters(times: np.ndarray, starts: np.ndarray) -> pa.Array:
    """Make one text for each start: the numbers from this start to the next, each as the letter with that code.

    A text has no letter for 0.
    """
    codes = np.minimum(np.where(times < _SURROGATES, times, times + np.uint32(_AFTER)), _LETTERS).astype("<u4")
    letters = codes.tobytes().decode("utf-32-le").encode()
    sizes = 1 + (codes > 0x7F).astype(np.int64) + (codes > 0x7FF) + (codes > 0xFFFF)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    offsets = ends[[*starts, len(times)]].astype(np.int32)
    return pa.StringArray.from_buffers(len(starts), pa.py_buffer(offsets), pa.py_buffer(letters))


def _lists(numbers: np.ndarray, starts: np.ndarray, mask: np.ndarray) -> pa.Array:
    """Make one list for each start: the numbers from this start to the next, or an empty list if the mask is false."""
    sizes = np.diff(np.append(starts, len(numbers)))
    offsets = np.concatenate([[0], np.cumsum(np.where(mask, sizes, 0))])
    return pa.ListArray.from_arrays(offsets.astype(np.int32), numbers[np.repeat(mask, sizes)])


@cache
def _macros() -> str:
    """Return the macro with which sessions split texts into words."""
    (macro,) = filter(None, (re.search(r"MACRO search_words\(.*?;", text) for text in session_macros(())))
    return f"CREATE OR REPLACE TEMP {macro[0]}"
