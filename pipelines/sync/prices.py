"""Prices from a user's file: CSV or Parquet, captured as CSV in parts and published like a dropped file."""

from collections.abc import Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as parquet

from assets.drops import own_bars
from assets.drops.receiving import publish
from checks.expectations import expected
from pipelines.sync.progress import Progress
from pitlake import machine, times
from pitlake.clock import NEW_YORK, new_york_day
from pitlake.errors import BadInput, Unreadable
from pitlake.lake.lake import Lake
from resources.http.capture import CaptureStore, Request
from resources.http.client import captured

ROWS_A_PART = 200_000
HEADERS = {"content-type": "text/csv; charset=utf-8"}
TEXTS = csv.ConvertOptions(default_column_type=pa.string(), strings_can_be_null=False)
NEXT_STEP = f"give a CSV or Parquet file with the columns {', '.join(own_bars.COLUMNS)}"


def read(path: Path) -> pa.Table:
    """Return the bars of a file as strings. Raises BadInput if the file lacks a column or can't be read."""
    try:
        table = (
            parquet.read_table(path) if path.suffix.lower() == ".parquet" else csv.read_csv(path, convert_options=TEXTS)
        )
        places = [_place(table, name, path) for name in own_bars.COLUMNS]
        columns = [_texts(table.column(place), name) for place, name in zip(places, own_bars.COLUMNS, strict=True)]
    except FileNotFoundError:
        raise BadInput("--prices", f"there is no file {str(path)!r}", NEXT_STEP) from None
    except (pa.ArrowException, OSError) as problem:
        raise BadInput("--prices", f"{str(path)!r} can't be read: {machine.one_line(problem)}", NEXT_STEP) from None
    return pa.table(columns, names=list(own_bars.COLUMNS))


def _place(table: pa.Table, name: str, path: Path) -> int:
    """Return the index of a column. Raises BadInput if the column is missing or occurs several times."""
    spellings = [spelled.strip().lower() for spelled in table.column_names]
    if spellings.count(name) == 1:
        return spellings.index(name)
    missing = [column for column in own_bars.COLUMNS if column not in spellings]
    problem = f"has no column {', '.join(missing)}" if missing else f"has several columns {name}"
    raise BadInput("--prices", f"{str(path)!r} {problem}", NEXT_STEP)


def _texts(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a column as strings. A time in the date column becomes its day."""
    if name != "date" or pa.types.is_date(column.type):
        return column.cast(pa.string()).fill_null("")
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    spelled = pc.unique(column)
    days = pa.array(_days(spelled.to_pylist()), pa.string())
    return pc.take(days, pc.index_in(column, spelled)).fill_null("")


def _days(values: Sequence[Any]) -> list[str]:
    """Return the days of bars. A midnight means the day that it begins. Any other time means its own or its New York
    day, whichever is later. Raises BadInput if a column has both.
    """
    days, midnights, clock_times = [], 0, 0
    for value in values:
        try:
            reading = times.read(value, zone=NEW_YORK)
        except times.Unset:
            days.append("unset")
            continue
        except Unreadable:
            days.append("" if value is None else str(value))
            continue
        midnights += reading.is_midnight
        clock_times += reading.day is None
        days.append(str(reading.day or max(reading.own_day, new_york_day(reading.instant))))
    try:
        times.are_days(midnights, clock_times)
    except times.MixedMidnights as mixed:
        raise BadInput("--prices", f"the column date has {mixed}", "write days such as 2024-02-15") from None
    return days


def load(lake: Lake, path: Path, progress: Progress) -> None:
    """Capture a file of bars and publish the bars that the lake lacks. Raises BadInput."""
    table, store = read(path), CaptureStore.of(lake.location)
    provider = own_bars.DROP.provider
    for number, start in enumerate(range(0, table.num_rows, ROWS_A_PART), 1):
        sink = BytesIO()
        csv.write_csv(table.slice(start, ROWS_A_PART), sink)
        request, content = Request(quote(f"{path.name}.{number}.csv")), sink.getvalue()
        newest = next(store.newest_first(provider.name, request.key(provider.name)), None)
        if newest is None or newest.sha256 != sha256(content).hexdigest():
            store.put(captured(provider, request, content, headers=HEADERS))
    store.flush()
    for report in publish(own_bars.DROP, store, lake, run_id=f"sync-{uuid4().hex}", audits=(expected,)):
        progress.add(report)
    progress.say(f"{path.name}: {table.num_rows:,} bars were read")
