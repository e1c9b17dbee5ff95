"""Prices from a user's file: CSV or Parquet, captured as CSV in parts and published like a dropped file."""

from hashlib import sha256
from io import BytesIO
from pathlib import Path
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
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from resources.http.capture import CaptureStore, Request
from resources.http.client import captured

ROWS_A_PART = 200_000
HEADERS = {"content-type": "text/csv; charset=utf-8"}
NEXT_STEP = f"give a CSV or Parquet file with the columns {', '.join(own_bars.COLUMNS)}"


def read(path: Path) -> pa.Table:
    """Return the bars of a file as texts. Raises BadInput if it lacks a column or can't be read."""
    try:
        if path.suffix.lower() == ".parquet":
            table = parquet.read_table(path)
        else:
            everything = csv.ConvertOptions(
                column_types=dict.fromkeys(own_bars.COLUMNS, pa.string()), strings_can_be_null=False
            )
            table = csv.read_csv(path, convert_options=everything)
    except FileNotFoundError:
        raise BadInput("--prices", f"there is no file {str(path)!r}", NEXT_STEP) from None
    except (pa.ArrowException, OSError) as problem:
        kind = type(problem).__name__
        raise BadInput("--prices", f"{str(path)!r} can't be read ({kind})", NEXT_STEP) from None
    columns_by_name = {name.strip().lower(): name for name in table.column_names}
    if missing := [name for name in own_bars.COLUMNS if name not in columns_by_name]:
        raise BadInput("--prices", f"{str(path)!r} has no column {', '.join(missing)}", NEXT_STEP)
    columns = [_texts(table[columns_by_name[name]], name) for name in own_bars.COLUMNS]
    return pa.table(columns, names=list(own_bars.COLUMNS))


def _texts(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a column as texts; an instant in place of a date becomes its day."""
    if name == "date" and pa.types.is_timestamp(column.type):
        column = pc.cast(column, pa.timestamp("us")).cast(pa.date32(), safe=False)
    return column.cast(pa.string()).fill_null("")


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
