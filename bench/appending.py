"""The cost of a small publish in lakes of growing size: about a thousand facts, bars and articles. Each lake has one
file per month over fourteen years, as compaction leaves them, and one file per day of the next month; the published
rows belong to the months after it. Costs are CPU time, including staging and hashing. Every staged row must be
published, and must be unchanged when published again.

`python -m bench --full appending` goes up to 100 million facts and bars, which take 10 GB of disk and minutes each.
"""

import statistics
import tempfile
import time
import uuid
from collections.abc import Iterator
from datetime import date, datetime, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from bench import biglake
from bench.figures import Figure, figure
from pitlake.clock import new_york_day
from pitlake.contract import Dataset
from pitlake.datasets import get
from pitlake.lake import Lake
from pitlake.lake.publishing.stage import staged_schema

OBSERVED = datetime(2026, 6, 1, tzinfo=timezone.utc)
LOOSE = date(2025, 1, 1)
MONTHS = tuple(date(2025, month, 1) for month in range(2, 8))  # the first of them warms up
ITEMS = {"xbrl_facts": 27, "prices": 45, "news": 1_000}
"""The number of companies (or articles) in a round, for about a thousand rows."""
SHARE = {"xbrl_facts": 1.0, "prices": 1.0, "news": 0.25}
OTHERS = 20_000
HUGE, LARGEST = 20_000_000, 100_000_000
FULL = {"rows": (100_000, 1_000_000, 10_000_000, 100_000_000)}


def run(rows: tuple[int, ...] = (100_000, 1_000_000, 4_000_000), names: tuple[str, ...] = tuple(ITEMS)) -> list[Figure]:
    """Return the cost for each dataset in a lake with this many of its rows (a quarter of that for articles)."""
    figures = []
    for name in names:
        costs = {}
        for count in rows:
            with tempfile.TemporaryDirectory(prefix="pitlake-bench-") as scratch:
                costs[count] = _cost(get(name), Path(scratch) / "lake", round(count * SHARE[name]))
        base = costs[rows[0]]
        against = f"beside {rows[0] * SHARE[name]:,.0f}"
        figures += [
            figure(
                f"publish about 1,000 {name} beside {count * SHARE[name]:,.0f}",
                cost * 1e3,
                "ms of CPU",
                baseline=against,
                ratio=cost / base,
                aim=aim(count),
                curve=f"publish about 1,000 {name}",
                at=count * SHARE[name],
            )
            for count, cost in costs.items()
        ]
    return figures


def aim(rows: int) -> str:
    """Return the aim for the ratio in a lake of this many rows."""
    if rows > LARGEST:
        return ""
    return "≤ 1.3" if rows < HUGE else "≤ 2"


def _cost(dataset: Dataset, root: Path, count: int) -> float:
    """Return the median CPU seconds of a publish."""
    counts = {name: count if name == dataset.name else OTHERS for name in ITEMS}
    lake = biglake.build(root, facts=counts["xbrl_facts"], news=counts["news"], prices=counts["prices"])
    for rows in _days(next(_rounds(dataset, (LOOSE,)))):
        _publish(lake, dataset, rows)
    costs = [_publish(lake, dataset, rows) for rows in _rounds(dataset)]
    assert _publish(lake, dataset, next(_rounds(dataset)), changes=False)
    return statistics.median(costs[1:])


def _rounds(dataset: Dataset, months: tuple[date, ...] = MONTHS) -> Iterator[pa.Table]:
    schema = staged_schema(dataset)
    for month in months:
        rows = biglake.rows_of(dataset, ITEMS[dataset.name], month)
        rows = rows.filter(pc.is_null(rows["updated"])) if dataset.name == "news" else rows
        yield rows.select(schema.names).cast(schema)


def _publish(lake: Lake, dataset: Dataset, rows: pa.Table, *, changes: bool = True) -> float:
    days = [(new_york_day(of_day["available_at"][0].as_py()), of_day) for of_day in _days(rows)]
    started = time.process_time()
    with lake.stage(dataset, uuid.uuid4().hex) as stage:
        for day, of_day in days:
            stage.add(day, of_day, extracted=len(of_day))
        published = lake.publish(stage, OBSERVED).total
    cost = time.process_time() - started
    assert (published.published, published.unchanged) == ((len(rows), 0) if changes else (0, len(rows)))
    return cost


def _days(rows: pa.Table) -> Iterator[pa.Table]:
    """Return the rows of each New York day."""
    days = pa.array([new_york_day(moment) for moment in rows["available_at"].to_pylist()])
    for day in sorted(set(days.to_pylist())):
        yield rows.filter(pc.equal(days, pa.scalar(day)))
