"""A toy lake in plain Parquet with a music store's charts, so that no test here depends on a real dataset or lake."""

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pitlake.clock import new_york_month
from pitlake.contract import GAP_SCHEMA, Column, Dataset
from pitlake.lake.storage.manifest import DataFile, Snapshot, TableState
from pitlake.session.contracts import Catalogue

T = datetime(2024, 2, 15, 21, 0, tzinfo=timezone.utc)
MS = timedelta(milliseconds=1)
US = timedelta(microseconds=1)


def dataset(name: str, **changes: object) -> Dataset:
    facts: dict[str, object] = {
        "name": name,
        "title": "Charts",
        "summary": "Positions of tracks.",
        "availability": "When the chart is printed.",
        "columns": (
            Column(name="track", type="string", required=True, meaning="Track."),
            Column(name="artist", type="string", required=True, meaning="Artist."),
            Column(name="position", type="int", meaning="Position."),
            Column(name="score", type="float", meaning="Score."),
            Column(name="moods", type="strings", meaning="Moods."),
        ),
        "key": ("track",),
        "entity": "artist",
        "source_tag": "provider_metadata",
    }
    return Dataset(**(facts | changes))


def view_of(contract: Dataset) -> str:
    return (
        f"CREATE VIEW {contract.name} AS SELECT {', '.join(contract.agent_columns)} FROM {contract.name}_revisions "
        f"QUALIFY row_number() OVER (PARTITION BY {', '.join(contract.key)} ORDER BY available_at DESC, evidence) = 1"
    )


CHARTS = dataset("charts")
CONTRACTS = {"charts": CHARTS, "sales": dataset("sales"), "awards": dataset("awards", open_only=True)}
CATALOGUE = Catalogue(CONTRACTS, {name: view_of(contract) for name, contract in CONTRACTS.items()})


def row(track: str, available_at: datetime, position: int = 1, **changes: object) -> dict[str, object]:
    facts = {
        "track": track,
        "artist": f"artist of {track}",
        "position": position,
        "score": position / 10,
        "moods": ["calm", track],
        "available_at": available_at,
        "available_at_source": "provider_metadata",
        "evidence": f"Track:{track}",
        "observed_at": available_at + timedelta(days=900),
    } | changes
    return facts | {"content_hash": sha256(repr(facts).encode()).digest()[:16]}


def gap(available_at: datetime, name: str = "charts", **changes: object) -> dict[str, object]:
    return {
        "dataset": name,
        "gap_type": "unverifiable",
        "reason": "no date",
        "locator": "Track:lost",
        "partition": "undated",
        "run_id": "run-secret",
        "available_at": available_at,
        "observed_at": available_at + timedelta(days=900),
    } | changes


class ToyLake:
    """A lake of Parquet files, with the snapshot that lists them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tables: dict[str, list[DataFile]] = {}
        self.version = 7

    def add(self, table: str, rows: Sequence[dict[str, object]], **changes: object) -> DataFile:
        schema = GAP_SCHEMA if table.startswith("gaps/") else CONTRACTS[table].arrow_schema
        return self.add_table(table, pa.Table.from_pylist(list(rows), schema=schema), **changes)

    def add_table(self, table: str, rows: pa.Table, **changes: object) -> DataFile:
        """Add one file per month, as in a lake, and return the newest."""
        months = [new_york_month(moment) for moment in rows["available_at"].to_pylist()]
        for month in sorted(set(months)):
            file = self.add_file(table, rows.filter(pa.array([each == month for each in months])), **changes)
        return file

    def add_file(self, table: str, rows: pa.Table, **changes: object) -> DataFile:
        """Add one file with these rows."""
        home = self.root / table
        home.mkdir(parents=True, exist_ok=True)
        path = home / f"part-{len(list(home.iterdir()))}.parquet"
        pq.write_table(rows, path, **changes)
        instants = rows["available_at"].to_pylist()
        lo, hi = min(instants), max(instants)
        file = DataFile(str(path), rows.num_rows, path.stat().st_size, down_to_ms(lo), up_to_ms(hi))
        self.tables.setdefault(table, []).append(file)
        return file

    def replace(self, table: str, old: DataFile, new: DataFile) -> None:
        files = self.tables[table]
        files[files.index(old)] = new

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot(self.version, {name: TableState(tuple(files)) for name, files in self.tables.items()})


def down_to_ms(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def up_to_ms(moment: datetime) -> datetime:
    down = down_to_ms(moment)
    return down if down == moment else down + MS
