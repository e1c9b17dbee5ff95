"""The cost of a lake's versions: the same articles published in a growing number of versions, compacted weekly. Most
versions are copies, to save time: the data file is written, and the Delta commit and the log entry are those of an
earlier publish with other names. The first publish, every twentieth Delta commit with its checkpoint, and every
compaction are real. Each lake is compared with a compacted lake of the same rows in ten publishes. Both must give the
same answers, and an old version must show the same rows before and after the vacuum. Costs are CPU time.
"""

import json
import statistics
import tempfile
import uuid
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from bench.figures import Figure, figure, processor
from bench.publish import OBSERVED, staged
from pitlake.clock import start_of_new_york_day
from pitlake.datasets import get
from pitlake.lake import Lake
from pitlake.lake.publishing import polls
from pitlake.lake.storage.files import MONTH_COLUMN, NewFile, write_parquet
from pitlake.lake.storage.log import LOG, Entry, LakeLog
from pitlake.lake.storage.store import Store
from pitlake.lake.tables.checkpoints import INTERVAL
from pitlake.lake.tables.delta import DeltaTables, table_key
from pitlake.lake.tables.query import calculator, reading
from pitlake.session import Session, Viewpoint, open_session
from pitlake.session.sealed.launcher import warm
from pitlake.session.visible.cut_cache import CutCache

FULL = {"counts": (100, 1_000, 36_500)}
NEWS = get("news")
ROWS = 40
A_DAY = 100
A_WEEK = 7 * A_DAY
FEW = 10
FIRST = date(2024, 1, 1)
T = datetime(2025, 12, 1, tzinfo=timezone.utc)
ROUNDS = 7
QUESTION = "SELECT count(*), sum(hash(id, title, body, available_at)::HUGEINT) FROM news"
BASE = f"{FEW} versions of the same rows"
MOST_SECONDS = 120


def run(counts: tuple[int, ...] = (100, 300, 1_000, 3_000)) -> list[Figure]:
    """Return the sizes and costs for each count of versions."""
    warm()
    figures: list[Figure] = []
    first: dict[str, float] = {}
    for count in counts:
        with tempfile.TemporaryDirectory(prefix="pitlake-bench-") as folder:
            lake, few = grown(Path(folder) / "lake", count), published(Path(folder) / "few", count)
            for name, value in _sizes(lake, count).items():
                against = f"{counts[0]:,} versions"
                first.setdefault(name, value)
                ratio = value / first[name]
                label = f"{name} of {count:,} versions"
                figures.append(figure(label, value, "bytes a version", baseline=against, ratio=ratio, aim="≤ 1.2"))
            figures += _asked(lake, few, count, Path(folder))
            figures += _vacuumed(lake, count)
    return figures


def grown(root: Path, count: int) -> Lake:
    """Create a lake with this many published versions and a weekly compaction."""
    lake, store = Lake(root), Store(root)
    tables, log = DeltaTables(store), LakeLog(store)
    articles = staged(NEWS, ROWS, text=200)
    _publish(lake, [0], articles)
    head, versions = log.head(), []
    commit = json.loads(_commit(root, head.tables["news"]).read_text().splitlines()[-1])
    action = _commit(root, head.tables["news"]).read_text().splitlines()[0]
    for number in range(1, count):
        file = _file(root, number, _rows(number, articles))
        versions.append(file)
        version = head.tables["news"] + 1
        if (version + 1) % INTERVAL == 0:
            tables.commit("news", NEWS.arrow_schema, version - 1, [file])
        else:
            _commit(root, version).write_text(f"{action}\n{json.dumps(_renamed(commit, file))}")
        head = _entry(root, head, version)
        if number % A_WEEK == 0 or number == count - 1:
            lake.compact(NEWS, before="2027-01")
            head = LakeLog(store).head()
    for part in range(0, count, polls.MOST_POLLS):
        polls._write(store, "news", [_poll(number) for number in range(part, min(part + polls.MOST_POLLS, count))])
    return lake


def published(root: Path, count: int) -> Lake:
    """Create a lake of the same rows in few publishes."""
    lake, articles = Lake(root), staged(NEWS, ROWS, text=200)
    for part in range(FEW):
        numbers = range(count * part // FEW, count * (part + 1) // FEW)
        _publish(lake, numbers, articles)
    lake.compact(NEWS, before="2027-01")
    return lake


def _sizes(lake: Lake, count: int) -> dict[str, float]:
    store = Store(lake.root)
    delta = [file.size for key in ("_delta_log", "_history") for file in store.walk(f"tables/news/{key}")]
    return {"Delta log": sum(delta) / count, "the lake's log": sum(file.size for file in store.walk(LOG)) / count}


def _asked(lake: Lake, few: Lake, count: int, folder: Path) -> Iterator[Figure]:
    """Measure opening, answers and a further publish, each against the lake with few versions."""
    cuts = {lake_side.root: CutCache(folder / f"cuts {lake_side.root.name}") for lake_side in (lake, few)}

    def opened(lake_side: Lake) -> Session:
        return open_session(Viewpoint(as_of=T, lake=lake_side.root), datasets=["news"], cut_cache=cuts[lake_side.root])

    answers = []
    for lake_side in (lake, few):
        with opened(lake_side) as session:
            answers.append(session.sql(QUESTION).rows())
    assert answers[0] == answers[1]
    assert answers[0][0][0] == count * ROWS
    for what, work in (
        ("newest version's files", lambda lake_side: Lake(lake_side.root).snapshot().files("news")),
        ("open a session", lambda lake_side: opened(lake_side).close()),
    ):
        ours, theirs = (_cost(lambda lake_side=lake_side, work=work: work(lake_side)) for lake_side in (lake, few))
        label = f"{what}, {count:,} versions"
        more = {"baseline": BASE, "ratio": ours / theirs, "aim": "≤ 1.5", "curve": what, "at": count}
        yield figure(label, ours, "ms of CPU", **more)
    oldest, middle = 1, lake.head() // 2
    for what, version in (("first version's files", oldest), ("middle version's files", middle)):
        cost = _cost(lambda version=version: Lake(lake.root).snapshot(version).files("news"))
        yield figure(f"{what}, {count:,} versions", cost, "ms of CPU")
        pinned = lake.entry(version).tables["news"]
        delta = DeltaTable(str(lake.root / table_key("news")), version=pinned)
        sizes = {Path(file.path).name: (file.rows, file.size) for file in lake.snapshot(version).files("news")}
        actions = pa.table(delta.get_add_actions(flatten=True)).to_pylist()
        assert sizes == {Path(add["path"]).name: (add["num_records"], add["size_bytes"]) for add in actions}
    yield figure(f"list {count:,} versions", _cost(lambda: list(Lake(lake.root).versions()), 1), "ms of CPU")
    articles = staged(NEWS, ROWS, text=200)
    ours, theirs = (
        statistics.median(_publish(Lake(lake_side.root), [count + number], articles) for number in range(ROUNDS))
        for lake_side in (lake, few)
    )
    label = f"publish {ROWS} articles, {count:,} versions"
    more = {"baseline": BASE, "ratio": ours / theirs, "aim": "≤ 1.5", "curve": f"publish {ROWS} articles", "at": count}
    yield figure(label, 1e3 * ours, "ms of CPU", **more)


def _vacuumed(lake: Lake, count: int) -> Iterator[Figure]:
    """Measure a vacuum that keeps the newest version and an old one."""
    oldest = lake.head() // 3
    before = _content(lake, oldest), _content(lake)
    dry = _cost(lambda: Lake(lake.root).vacuum(timedelta(0), [oldest]), 1)
    yield figure(f"vacuum, dry run, {count:,} versions", dry / 1e3, "s of CPU", aim=f"≤ {MOST_SECONDS}")
    done = []
    taken = _cost(lambda: done.append(lake.vacuum(timedelta(0), [oldest], dry_run=False)), 1)
    yield figure(f"vacuum of {count:,} versions", taken / 1e3, "s of CPU", aim=f"≤ {MOST_SECONDS}")
    assert len(done[0].files) > 0
    assert (_content(Lake(lake.root), oldest), _content(Lake(lake.root))) == before


def _content(lake: Lake, version: int | None = None) -> list[Any]:
    """Return a digest of all rows of a version."""
    stored = reading(lake.snapshot(version).files("news"))
    with calculator() as connection:
        return connection.sql(f"SELECT count(*), sum(hash(news)::HUGEINT) FROM {stored} AS news").fetchall()


def _publish(lake: Lake, numbers: "list[int] | range", articles: pa.Table) -> float:
    """Return the CPU seconds of one run over the articles of this many versions."""
    days: dict[date, list[pa.Table]] = {}
    for number in numbers:
        days.setdefault(_day(number), []).append(_rows(number, articles))
    clock = processor()
    with lake.stage(NEWS, uuid.uuid4().hex) as stage:
        for day, parts in days.items():
            rows = pa.concat_tables(parts)
            stage.add(day, rows, extracted=len(rows))
        started = clock()
        assert lake.publish(stage, OBSERVED).total.published == len(numbers) * ROWS
    return clock() - started


def _rows(number: int, articles: pa.Table) -> pa.Table:
    begin = _micros(number)
    own = {
        "available_at": pa.array(range(begin, begin + ROWS * 1_000_000, 1_000_000)),
        "id": pa.array([f"{number}-{place}" for place in range(ROWS)]),
    }
    for name, values in own.items():
        field = articles.schema.field(name)
        articles = articles.set_column(articles.column_names.index(name), field, values.cast(field.type))
    return articles


def _file(root: Path, number: int, rows: pa.Table) -> NewFile:
    """Write a version's articles as its publish would, but without syncing."""
    hashes = pa.array([uuid.uuid4().bytes.hex() for _ in range(len(rows))])
    more = {"observed_at": pa.repeat(OBSERVED, len(rows)), "content_hash": hashes}
    columns = [more.get(field.name) if field.name in more else rows[field.name] for field in NEWS.arrow_schema]
    columns = [column.cast(field.type) for column, field in zip(columns, NEWS.arrow_schema, strict=True)]
    name = f"{MONTH_COLUMN}={_day(number):%Y-%m}/{uuid.uuid4().hex}.parquet"
    path = root / table_key("news") / name
    path.parent.mkdir(parents=True, exist_ok=True)
    write_parquet(pa.table(columns, schema=NEWS.arrow_schema), path)
    bounds = pc.min_max(rows["available_at"]).as_py()
    return NewFile(name, len(rows), path.stat().st_size, bounds["min"], bounds["max"])


def _renamed(commit: dict[str, Any], file: NewFile) -> dict[str, Any]:
    month = {MONTH_COLUMN: file.month}
    stats = json.loads(commit["add"]["stats"]) | {"numRecords": file.rows}
    for edge, moment in (("minValues", file.lo), ("maxValues", file.hi)):
        stats[edge] = {"available_at": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")}
    own = {"path": file.name, "size": file.size, "partitionValues": month, "stats": json.dumps(stats)}
    return {"add": commit["add"] | own}


def _entry(root: Path, head: Entry, version: int) -> Entry:
    entry = Entry(
        version=head.version + 1,
        parent=head.version,
        committed_at=head.committed_at + timedelta(milliseconds=1),
        run_id=uuid.uuid4().hex,
        operation="publish",
        dataset="news",
        tables={**head.tables, "news": version},
        counts=head.counts,
        nonce=uuid.uuid4().hex,
    )
    (root / LOG / f"{entry.version:020d}.json").write_bytes(entry.to_json())
    return entry


def _poll(number: int) -> polls.Poll:
    day = _day(number).isoformat()
    return polls.Poll(_micros(number), uuid.uuid4().hex, ((day, day),))


def _commit(root: Path, version: int) -> Path:
    return root / table_key("news") / "_delta_log" / f"{version:020d}.json"


def _day(number: int) -> date:
    return FIRST + timedelta(days=number // A_DAY)


def _micros(number: int) -> int:
    begin = start_of_new_york_day(_day(number)) + timedelta(minutes=13 * (number % A_DAY))
    return int(begin.timestamp()) * 1_000_000


def _cost(work: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Return the median CPU milliseconds of several rounds."""
    clock, taken = processor(), []
    for _ in range(rounds):
        started = clock()
        work()
        taken.append(clock() - started)
    return 1e3 * statistics.median(taken)
