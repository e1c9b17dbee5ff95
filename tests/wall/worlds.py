"""Small lakes for the wall's proofs: rows under real contracts around an instant T, with canaries after it.

Two worlds with different `future` seeds are equal in every row up to T, and differ after it in values, row counts and
file sizes. They also differ in how the same rows were written: in how many files, when and by which run. Nothing here
judges an answer.
"""

import json
import random
import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, timezone
from functools import cache, lru_cache
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc

from pitlake.clock import new_york_month
from pitlake.contract import GAP_SCHEMA, Dataset
from pitlake.datasets import get
from pitlake.lake.publishing.superseded import new_tombstones
from pitlake.lake.storage.files import ceil_millis, floor_millis, write_parquet
from pitlake.lake.storage.manifest import DataFile, Snapshot, TableState
from pitlake.tombstones import superseded_table_name

T = datetime(2024, 5, 16, 17, 30, 0, 123456, tzinfo=timezone.utc)
CANARY = "CANARYZZ"
DATASETS = ("news", "xbrl_facts", "prices", "qa_exchanges", "reports", "dividends")
SEARCHED = ("embeddings", "transcripts", "report_sections", "exhibits", "names", "companies", "sec_filings")
OPEN_ONLY = "event_returns"
_MICROSECOND = timedelta(microseconds=1)
_LOCATORS = ("evidence", "locator")
CIKS = tuple(f"{number:010d}" for number in range(1, 6))  # of TICKERS, in the same order, until companies are renamed
TICKERS = ("QACB", "QBAR", "QBG", "QBRY", "QYRW")
WORDS = ("guidance", "revenue", "margin", "buyback", "dividend", "growth", "risk", "supply", "cloud", "oil")
CONCEPTS = ("us-gaap:Revenues", "us-gaap:NetIncomeLoss", "us-gaap:EarningsPerShareDiluted")
LETTERS = string.ascii_lowercase[:6]
IDS = (*LETTERS, *(f"{letter}_qa__{number}" for letter in LETTERS for number in range(4)))  # of vectors
VECTOR = 8


Master = tuple[Mapping[str, bytes], Snapshot]
"""Every file of a world by its path relative to the root, and a snapshot with such paths."""


@dataclass(frozen=True)
class World:
    """A lake on disk and its snapshot. as_of: the instant after which worlds differ."""

    root: Path
    snapshot: Snapshot
    as_of: datetime = T

    def files(self, dataset: str) -> list[str]:
        """Return the paths of a dataset's files, oldest first."""
        return [file.path for file in self.snapshot.files(dataset)]


def build(
    root: Path,
    future: int,
    *,
    rows: int = 80,
    cut: datetime | None = None,
    then: int | None = None,
    landings: int | None = None,
) -> World:
    """Write a world below `root`. cut: leave out every row after that instant. then: replace these by the later rows of
    another world. landings: the number of files per month.
    """
    landings = landings or 1 + future % 3
    names = (*DATASETS, *SEARCHED, OPEN_ONLY)
    outcome = {name: _content(_rows_of, name, future, rows, cut, then) for name in names}
    gaps = {name: _content(_gaps_of, name, future, rows // 10, cut, then) for name in names}
    world = written(root, outcome, gaps, landings)
    log = root / "_lake" / "log" / f"{1:020d}.json"
    log.parent.mkdir(parents=True)
    log.write_text(json.dumps({"version": 1, "note": f"{CANARY} written at {future}"}))
    return world


def written(root: Path, rows: Mapping[str, pa.Table], gaps: Mapping[str, pa.Table], landings: int) -> World:
    """Write a world of these rows and gaps, given by dataset."""
    tables: dict[str, TableState] = {}
    for name, table in rows.items():
        tables[name] = _write(root / "tables" / name, table, get(name).entity, landings)
        tables[superseded_table_name(name)] = _write_dead(root / "superseded" / name, get(name), table)
    for name, table in gaps.items():
        tables[f"gaps/{name}"] = _write(root / "gaps" / name, table, "locator", landings)
    return World(root, Snapshot(1, tables))


def restored(root: Path, master: Master) -> World:
    """Restore the whole world below `root`, byte for byte. Only changed files are rewritten."""
    files, snapshot = master
    folders = {parent for name in files for parent in Path(name).parents}
    for path in sorted(root.rglob("*"), reverse=True):
        name = path.relative_to(root)
        if path.is_symlink() or path.is_file():
            if path.is_symlink() or files.get(str(name)) != path.read_bytes():
                path.unlink()
        elif name not in folders:
            path.rmdir()
    for name, content in files.items():
        if not (root / name).exists():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
    return World(root, _moved(snapshot, root))


@cache
def built(future: int) -> Master:
    """Return the master of the world with a future."""
    with TemporaryDirectory() as folder:
        return master(build(Path(folder), future))


def master(world: World) -> Master:
    """Return the files and the snapshot of a world, from which it can be restored anywhere."""
    root = world.root
    files = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    tables = {
        name: TableState(tuple(replace(file, path=str(Path(file.path).relative_to(root))) for file in table.files))
        for name, table in world.snapshot.tables.items()
    }
    return files, Snapshot(world.snapshot.version, tables)


def _moved(snapshot: Snapshot, root: Path) -> Snapshot:
    tables = {
        name: TableState(tuple(replace(file, path=str(root / file.path)) for file in table.files))
        for name, table in snapshot.tables.items()
    }
    return Snapshot(snapshot.version, tables)


def instants(seed: int, count: int, after: bool) -> Iterator[datetime]:
    """Yield instants on one side of T, the adjacent ones first."""
    rng = random.Random(seed)
    yield from (T + _MICROSECOND, T + timedelta(milliseconds=1)) if after else (T, T - _MICROSECOND)
    for _ in range(count - 2):
        offset = timedelta(microseconds=rng.randrange(1, 70 * 24 * 3600 * 10**6))
        yield T + offset if after else T - offset


def _content(
    make: Callable[[str, int, int, int], pa.Table],
    name: str,
    future: int,
    rows: int,
    cut: datetime | None,
    then: int | None,
) -> pa.Table:
    table = make(name, 0, future, rows)
    if cut is None:
        return table
    parts = [table.filter(pc.less_equal(table["available_at"], pa.scalar(cut)))]
    if then is not None:
        other = make(name, then, then, rows)
        parts.append(other.filter(pc.greater(other["available_at"], pa.scalar(cut))))
    return pa.concat_tables(parts)


@cache
def _rows_of(name: str, past: int, future: int, rows: int) -> pa.Table:
    dataset = get(name)
    before = [
        _row(dataset, random.Random(f"{dataset.name}/{past}/{i}"), at, "")
        for i, at in enumerate(instants(past, rows, False))
    ]
    more = rows // 2 + random.Random(future).randrange(rows)
    after = [
        _row(dataset, random.Random(f"{dataset.name}/{future}/after/{i}"), at, f"{CANARY}{future}")
        for i, at in enumerate(instants(future, more, True))
    ]
    return pa.Table.from_pylist(before + after, schema=dataset.arrow_schema)


def _row(dataset: Dataset, rng: random.Random, at: datetime, canary: str) -> dict[str, object]:
    row: dict[str, object] = {
        column.name: _value(column.type, column.name, dataset.key, rng, at, canary) for column in dataset.columns
    }
    tag = canary or "past"
    if dataset.name in ("names", "companies", "sec_filings"):
        row |= _named(rng, row, canary)
    return row | {
        "available_at": at,
        "available_at_source": dataset.source_tag,
        "evidence": f"neo4j:Thing:{tag}-{rng.randrange(10**6)}",
        "observed_at": datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=rng.randrange(10**6)),
        "content_hash": rng.randbytes(16),
    }


def _named(rng: random.Random, row: dict[str, object], canary: str) -> dict[str, object]:
    """Return a company with its ticker as its name. A later name is new, or taken over from another company."""
    number = rng.randrange(len(CIKS))
    borne = TICKERS[number] if not canary else rng.choice((canary, *TICKERS))
    reply = {"cik": CIKS[number], "kind": "ticker", "ticker": borne, "name": borne, "all_names": [borne]}
    return {name: value for name, value in reply.items() if name in row}


def _value(kind: str, name: str, key: tuple[str, ...], rng: random.Random, at: datetime, canary: str) -> object:
    if name in ("ticker", "symbol"):
        return rng.choice(TICKERS) if not canary or rng.random() < 0.7 else canary
    if name == "kind":
        return rng.choice(("news", "qa_exchange"))
    if name == "id" and "kind" in key:
        return rng.choice(IDS)
    if canary and name in key and rng.random() < 0.5:  # later rows supersede earlier ones
        canary = ""
    if name in key[3:]:  # so that long keys repeat
        return rng.choice("ab") if kind == "string" else _typed_value(kind, rng, at, "")
    if name == "concept":
        return rng.choice(CONCEPTS)
    if kind == "string":
        words = [rng.choice(WORDS) for _ in range(rng.randrange(1, 6))] + ([canary] if canary else [])
        return " ".join(words) if name in ("title", "body", "teaser", "content") or canary else rng.choice(LETTERS)
    return _typed_value(kind, rng, at, canary)


def _typed_value(kind: str, rng: random.Random, at: datetime, canary: str) -> object:
    sign = -777_000_000 if canary else 1
    choices = {
        "int": lambda: rng.randrange(4) + (sign if canary else 0),
        "float": lambda: round(rng.uniform(1, 200), 2) * sign,
        "bool": lambda: rng.random() < 0.5,
        "instant": lambda: at - timedelta(seconds=rng.randrange(100)),
        "date": lambda: (
            date(2024, 1, 1) + timedelta(days=30 * rng.randrange(4)) + timedelta(days=20_000 if canary else 0)
        ),
        "json": lambda: json.dumps([{"role": "answer", "text": f"{rng.choice(WORDS)} {canary}"}]),
        "strings": lambda: sorted({rng.choice(TICKERS), canary or rng.choice(WORDS)}),
        "vector": lambda: [rng.random() for _ in range(VECTOR)],
    }
    return choices[kind]()


@cache
def _gaps_of(dataset: str, past: int, future: int, rows: int) -> pa.Table:
    result = []
    for seed, after in ((past, False), (future, True)):
        for i, at in enumerate(instants(seed, max(rows, 3), after)):
            tag = f"{CANARY}{future}" if after else "past"
            result.append(
                {
                    "dataset": dataset,
                    "gap_type": "unverifiable",
                    "reason": f"no date node {tag if after else ''}".strip(),
                    "locator": f"neo4j:Thing:{tag}-{i}",
                    "partition": at.date().isoformat(),
                    "run_id": f"run-{seed}",
                    "available_at": at,
                    "observed_at": at,
                }
            )
    return pa.Table.from_pylist(result, schema=GAP_SCHEMA)


def _write(folder: Path, table: pa.Table, entity: str, landings: int) -> TableState:
    table = _landed(table, landings)
    months = pa.array([new_york_month(at) for at in table["available_at"].to_pylist()])
    files = []
    for month in sorted(set(months.to_pylist())):
        rows = table.filter(pc.equal(months, month)).sort_by([(entity, "ascending"), ("available_at", "ascending")])
        places = rows[_LOCATORS[entity == "locator"]].to_pylist()
        landing = pa.array([crc32(place.encode()) % landings for place in places])
        parts = [rows.filter(pc.equal(landing, number)) for number in range(landings)]
        names = (folder / f"available_month={month}" / f"part-{number}.parquet" for number in range(landings))
        files += [_file(name, part) for name, part in zip(names, parts, strict=True) if len(part)]
    return TableState(tuple(files))


def _landed(table: pa.Table, landings: int) -> pa.Table:
    """Return the rows as if another run had observed them at another time."""
    seen = pc.add(table["observed_at"], pa.scalar(timedelta(days=landings)))
    table = table.set_column(table.column_names.index("observed_at"), table.schema.field("observed_at"), seen)
    if "run_id" in table.column_names:
        runs = pa.array([f"run-{landings}"] * len(table), pa.string())
        table = table.set_column(table.column_names.index("run_id"), table.schema.field("run_id"), runs)
    return table


def _write_dead(folder: Path, dataset: Dataset, table: pa.Table) -> TableState:
    """Write the tombstones of these rows only: a lake without the future does not know what later rows supersede."""
    dead = new_tombstones(dataset, table, TableState(), complete=True)
    years = pc.year(pc.local_timestamp(dead["available_at"].cast(pa.timestamp("us", "America/New_York"))))
    files = [
        _file(folder / f"available_month={year}" / "part-0.parquet", dead.filter(pc.equal(years, year)))
        for year in sorted(set(years.to_pylist()))
    ]
    return TableState(tuple(files))


def _file(path: Path, table: pa.Table) -> DataFile:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = _as_parquet(_Rows(table))
    path.write_bytes(content)
    bounds = pc.min_max(table["available_at"]).as_py()
    return DataFile(str(path), len(table), len(content), floor_millis(bounds["min"]), ceil_millis(bounds["max"]))


class _Rows:
    """A table that equals any other with the same rows: worlds that end at different instants share most files."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.combine_chunks())
        self._content = sink.getvalue().to_pybytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rows) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)


@lru_cache(maxsize=4_096)
def _as_parquet(rows: _Rows) -> bytes:
    with NamedTemporaryFile() as file:
        write_parquet(rows.table, Path(file.name))
        return Path(file.name).read_bytes()
