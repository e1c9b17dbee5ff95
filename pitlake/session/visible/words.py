"""The word index of a cut: which words occur in which rows, and how often.

Like the cut itself, it depends only on the rows.

An index row describes 64 consecutive rows of the cut: which of them contain a word (`texts`: one bit each), how often
(`times`: one letter each, whose code is the number), and the `least` of their (0.3 + 0.9 * characters / mean) / times,
which limits their score. One index row per 64 rows has no word, but the lengths of their texts and the mean. All index
rows are sorted by word, so that readers can skip the row groups of other words.
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
_PIECE_ROWS = 1_024  # the rows whose texts fit in the processor's cache
_ROW_BITS = np.uint64(32)
_TEXTS = """
SELECT length(text)::INTEGER AS characters, chr(10) || text || chr(10) AS text
FROM (SELECT lower(concat_ws(chr(10), {})) AS text FROM rows)
"""
_WORD_LETTERS = """
SELECT code
FROM (SELECT unnest(range(1114112))::INTEGER AS code)
WHERE code NOT BETWEEN 55296 AND 57343 AND len(search_words(chr(code))) > 0
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
    """Sort the rows of several runs by word. The rows of a word are already in the order of their blocks."""
    rows = rows.combine_chunks()
    _, numbers = _numbered(rows["word"])
    return rows.take(pa.array(np.argsort(numbers, kind="stable")))


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

    with calculator(threads=1, rows=rows) as connection:  # one thread keeps the order of rows
        texts = connection.sql(_TEXTS.format(columns(searched))).to_arrow_table(_PIECE_ROWS)
    lengths = texts["characters"].to_numpy()
    vocabulary, occurrences, times = _counted(texts["text"].chunks)
    row = occurrences.astype(np.uint32)
    mean = np.float32(max(lengths.mean(), 1))
    bounds = np.append(_starts(occurrences // _BLOCK), len(occurrences))
    starts = bounds[:-1]
    number = (occurrences[starts] >> _ROW_BITS).astype(np.int64)
    weakness = np.minimum.reduceat((0.3 + 0.9 * lengths / mean)[row] / times, starts)
    least = np.nextafter(weakness.astype(np.float32), np.float32(0))
    # The empty word is the first and occurs in every row, so only its texts are described here.
    characters = pa.ListArray.from_arrays(np.minimum(bounds, len(lengths)).astype(np.int32), lengths)
    blocks = (
        vocabulary.take(pa.array(number)),
        ((first + row[starts]) // _BLOCK).astype(np.int32),
        np.bitwise_or.reduceat(np.uint64(1) << occurrences % _BLOCK, starts),
        _letters(times, bounds),
        np.where(number == 0, mean, least),
        characters,
        pa.repeat(pc.max(rows[AVAILABLE_AT]), len(starts)),
    )
    return pa.Table.from_arrays([pa.array(column) for column in blocks], schema=SCHEMA)


def _counted(texts: list[pa.Array]) -> tuple[pa.Array, np.ndarray, np.ndarray]:
    """Return the distinct words in order, where each occurs, and how often it occurs there.

    The first word is empty and occurs in every row. The sorted occurrences are numbers: a word's position among the
    words, shifted by _ROW_BITS, plus the row.
    """
    words, counts = zip(*map(_words, texts), strict=True)
    vocabulary, numbers = _numbered(pa.chunked_array(words, pa.string()))
    rows = np.arange(sum(map(len, texts)), dtype=np.uint64)
    places = (numbers.astype(np.uint64) + np.uint64(1) << _ROW_BITS) | np.repeat(rows, np.concatenate(counts))
    occurrences = np.sort(np.concatenate([rows, places]))
    starts = _starts(occurrences)
    times = np.diff(starts, append=len(occurrences)).astype(np.uint32)
    return pa.concat_arrays([pa.array([""]), vocabulary]), occurrences[starts], times


def _numbered(words: pa.ChunkedArray) -> tuple[pa.Array, np.ndarray]:
    """Return the distinct words in order, and the number of each word among them."""
    encoded = words.dictionary_encode().combine_chunks()
    order = pc.sort_indices(encoded.dictionary)
    numbers = np.empty(len(order), np.int32)
    numbers[order.to_numpy()] = np.arange(len(order))
    return encoded.dictionary.take(order), numbers[encoded.indices.to_numpy()]


def _words(texts: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Return the words of all texts in sequence, and the number of words of each text."""
    bounds = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, 4 * texts.offset)
    content = np.frombuffer(texts.buffers()[2], np.uint8)[bounds[0] : bounds[-1]]
    is_letter = _word_letters()[content]
    if (wide := content >= 0x80).any():
        letters = np.frombuffer(content[wide].tobytes().decode().encode("utf-32-le"), "<u4")
        is_letter[wide] = np.repeat(_word_letters()[letters], _sizes(letters))
    starts, ends = np.flatnonzero(is_letter[1:] != is_letter[:-1]).reshape(-1, 2).T
    offsets = np.concatenate([[0], np.cumsum(ends - starts)]).astype(np.int32)
    words = pa.StringArray.from_buffers(len(starts), pa.py_buffer(offsets), pa.py_buffer(content.compress(is_letter)))
    return words, np.diff(np.searchsorted(starts, bounds - bounds[0]))


def _starts(numbers: np.ndarray) -> np.ndarray:
    """Return the positions at which a number differs from the previous one."""
    return np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))


def _sizes(letters: np.ndarray) -> np.ndarray:
    """Return the number of bytes of each letter in UTF-8."""
    return 1 + (letters > 0x7F).astype(np.int8) + (letters > 0x7FF) + (letters > 0xFFFF)


def _letters(times: np.ndarray, bounds: np.ndarray) -> pa.Array:
    """Return a string for each pair of bounds: the numbers between them, each as the letter with that code.

    There is no letter for 0.
    """
    codes = np.minimum(np.where(times < _SURROGATES, times, times + np.uint32(_AFTER)), _LETTERS).astype("<u4")
    letters = codes.tobytes().decode("utf-32-le").encode()
    ends = np.concatenate([[0], np.cumsum(_sizes(codes), dtype=np.int32)])
    return pa.StringArray.from_buffers(
        len(bounds) - 1, pa.py_buffer(ends[bounds].astype(np.int32)), pa.py_buffer(letters)
    )


@cache
def _word_letters() -> np.ndarray:
    """Return, for each character, whether it may be part of a word. A word is a run of such characters."""
    from pitlake.lake.tables.query import calculator

    with calculator() as connection:
        connection.execute(_macros())
        codes = connection.sql(_WORD_LETTERS).to_arrow_table()["code"].to_numpy()
    is_letter = np.zeros(_LETTERS + 1, bool)
    is_letter[codes] = True
    return is_letter


@cache
def _macros() -> str:
    """Return the macro with which sessions split texts into words."""
    (macro,) = filter(None, (re.search(r"MACRO search_words\(.*?;", text) for text in session_macros(())))
    return f"CREATE OR REPLACE TEMP {macro[0]}"
