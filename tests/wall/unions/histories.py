"""Histories: the statements of each source about each thing over time, and polls of the sources into one lake.

Sources disagree in content and time. Some state a thing late, under an old date. Some correct it to another company or
day. Some stop stating it, so that a poll finds nothing or a gap, and some state it again. A poll may omit a source. If
the source's responses are complete, a poll proves that a thing was missing.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from assets.derived import earnings_events
from pitlake.clock import AVAILABLE_AT, new_york_day
from pitlake.contract import GAP_SCHEMA, gap_table_name
from pitlake.datasets import get
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.stage import StagedGap, staged_schema
from pitlake.lake.storage.manifest import DataFile
from tests.wall.late.documents import FIRST, LAST
from tests.wall.late.looks import clock_at
from tests.wall.late.outside import WHOLE
from tests.wall.unions.sources import COMPANIES, DATASETS, FAMILIES, SOURCES, Row, Said, happened

Thing = tuple[str, int, int]  # dataset, company, number
LOOKS = 5
GONE, UNREADABLE = "gone", "unreadable"
SETTLES = timedelta(milliseconds=1)  # a poll's commits are within this time after it
DELAYS = tuple(timedelta(hours=hours) for hours in (0, 0, 1, 30, 60))


@dataclass(frozen=True)
class Event:
    """A change: from an instant on, a source says this about a thing, or nothing."""

    at: datetime
    said: Said | str


@dataclass
class History:
    """The statements of every source about every thing, the polls with the sources that each reads, and the sources
    whose responses are complete.

    seen: for each thing, the polls that found it as a row or a gap; filled by `run`.
    """

    seed: int
    lives: dict[Thing, tuple[Event, ...]]
    looks: tuple[tuple[datetime, tuple[str, ...]], ...]
    whole: frozenset[str]
    seen: dict[Thing, list[datetime]] = field(default_factory=dict)

    def said(self, thing: Thing, moment: datetime) -> Said | str | None:
        """Return the statement of a source about a thing at an instant."""
        past = [event.said for event in self.lives[thing] if event.at <= moment]
        return past[-1] if past else None

    def run(self, root: Path, after: Callable[[Lake, int], None] = lambda *_: None) -> Lake:
        """Make every poll. After each, call `after` with the lake, which has nothing later, and the poll's place."""
        lake = Lake(root)
        with clock_at(FIRST):
            lake.start()
        for place, (at, sources) in enumerate(self.looks):
            with clock_at(at):
                for dataset in sources:
                    self._look(lake, dataset, at)
                earnings_events.derive(lake, run_id=f"derive-{place}", observed_at=at)
                after(lake, place)
        return lake

    def last_proof(self, thing: Thing, moment: datetime) -> datetime | None:
        """Return the last poll until an instant that found the thing or read its whole source."""
        polls = [at for at, sources in self.looks if thing[0] in sources] if thing[0] in self.whole else []
        return max((at for at in (*self.seen.get(thing, ()), *polls) if at <= moment), default=None)

    def _look(self, lake: Lake, dataset: str, at: datetime) -> None:
        contract = get(dataset)
        with lake.stage(contract, f"{dataset}-{at:%m%d%H%M}") as stage:
            stage.poll()
            if dataset in self.whole:
                stage.cover()
            for thing in self.lives:
                message = self.said(thing, at) if thing[0] == dataset else None
                if message in (None, GONE):
                    continue
                self.seen.setdefault(thing, []).append(at)
                if isinstance(message, Said):
                    row = written(thing, message)
                    day = new_york_day(row[AVAILABLE_AT]) if contract.partitioned else None
                    stage.add(day, pa.Table.from_pylist([row], staged_schema(contract)), extracted=1)
                else:
                    rule = contract.gap_rules[0]
                    stage.add(None, None, [StagedGap(rule.type, rule.reason, evidence(thing))], extracted=1)
            lake.publish(stage, at)


def evidence(thing: Thing) -> str:
    """Return the locator of a thing in its source."""
    dataset, company, number = thing
    return f"made:{dataset}/{company}/{number}"


def written(thing: Thing, message: Said) -> Row:
    """Return a thing's row as its source writes it."""
    dataset, company, number = thing
    write = next(writers[dataset] for writers, _ in FAMILIES.values() if dataset in writers)
    proof = {"available_at_source": get(dataset).source_tag, "evidence": evidence(thing)}
    return (
        write(company, number, message)
        | proof
        | {AVAILABLE_AT: message.written if is_dated(dataset) else message.since}
    )


def is_dated(dataset: str) -> bool:
    """Return whether a source dates its changes itself."""
    return dataset == "benzinga_news"


def thing_of(dataset: str, row: Row) -> Thing:
    """Return the thing that a stored row is about."""
    _, company, number = row["evidence"].rpartition(":")[2].split("/")
    return dataset, int(company), int(number)


def lived(seed: int) -> History:
    """Return the history of a seed."""
    rng = Random(f"unions/{seed}")
    lives = {
        (dataset, company, number): tuple(_life(rng, number))
        for writers, count in FAMILIES.values()
        for company in COMPANIES
        for number in range(count)
        for dataset in writers
        if rng.random() < 0.85
    }
    begin = FIRST + timedelta(days=9)
    instants = [begin + (LAST - begin) * ((place + rng.random()) / LOOKS) for place in range(LOOKS)]
    looks = tuple((at, tuple(name for name in SOURCES if rng.random() < 0.8)) for at in instants)
    whole = sorted(WHOLE & set(SOURCES))
    return History(seed, lives, looks, frozenset(name for name in whole if rng.random() < 0.5))


def _life(rng: Random, number: int) -> Iterator[Event]:
    since = happened(number) + rng.choice(DELAYS)
    message = Said(rng.randrange(1, 40), False, since, since)
    at = since + (timedelta(days=rng.uniform(5, 60)) if rng.random() < 0.35 else timedelta(minutes=1))
    yield Event(at, message)
    for _ in range(rng.randrange(5)):
        at += timedelta(days=rng.expovariate(1 / 25), minutes=1)
        change = rng.choice(("value", "value", "astray", GONE, UNREADABLE, "back"))
        if change in (GONE, UNREADABLE):
            yield Event(at, change)
            continue
        if change != "back":
            statement = {"value": rng.randrange(1, 40)} if change == "value" else {"astray": not message.astray}
            message = replace(message, **statement, written=at.replace(microsecond=0))
        yield Event(at, message)


def rows_of(lake: Lake) -> dict[str, pa.Table]:
    """Return every stored row of a lake, by dataset."""
    snapshot = lake.snapshot()
    return {name: _read(snapshot.files(name), get(name).arrow_schema) for name in DATASETS}


def gaps_of(lake: Lake) -> dict[str, pa.Table]:
    """Return every stored gap of a lake, by dataset."""
    snapshot = lake.snapshot()
    return {name: _read(snapshot.files(gap_table_name(name)), GAP_SCHEMA) for name in DATASETS}


def _read(files: Iterable[DataFile], schema: pa.Schema) -> pa.Table:
    tables = (pq.read_table(file.path, partitioning=None) for file in files)
    return pa.concat_tables([schema.empty_table(), *(table.select(schema.names).cast(schema) for table in tables)])
