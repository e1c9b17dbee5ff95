"""Flushing: what the journal has and the lake has not is published, by the ordinary gate and an audit of its own.

A row that is not what its journal wrote becomes a gap; the rows beside it are published.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import pyarrow as pa

from forge.core.errors import ClocksMixed
from forge.datasets import MEMORY, contracts, views
from forge.memory import chain
from forge.memory.admission import SOURCE
from forge.memory.chain import Fault, Row
from forge.memory.journal import Journal
from pitlake.clock import from_micros, micros
from pitlake.errors import BadInput, LakeNotFound
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.audit import CheckResult
from pitlake.lake.publishing.stage import Staged, StagedGap, staged_schema
from pitlake.session import Catalogue, Session, connect

_STORED = ", ".join(name for name in Row.__dataclass_fields__ if name != "written_at")


@dataclass(frozen=True)
class Flushed:
    """What a flush did. version: the lake's that shows all of it; rows: how many were published; faults: the gaps."""

    version: int
    rows: int
    faults: tuple[Fault, ...] = ()


def flush(journal: Journal, lake: Lake) -> Flushed:
    """Publish what is new. Raises ClocksMixed, BadInput where the lake is another journal's, what a publish raises."""
    newest = newest_in(lake, journal)
    rows = journal.rows(newest.seq if newest else 0)
    if not rows:
        return Flushed(lake.head() if newest else 0, 0)
    sound, faults = chain.judge(rows, newest, newest.chain if newest else journal.start)
    with lake.stage(contracts()[MEMORY], f"flush-{rows[-1].seq}") as stage:
        stage.add(None, table(sound, journal), map(gap, faults), extracted=len(sound) + len(faults))
        published = lake.publish(stage, audits=[memory_audit(newest, journal)])
    return Flushed(published.version, len(sound), tuple(faults))


def opened(lake: Lake, as_of: datetime | None, version: int | None = None) -> Session:
    """A session on memory; without an instant, on all of it. Raises LakeNotFound."""
    return connect(
        as_of,
        version=version,
        lake=lake,
        open_mode=as_of is None,
        datasets=[MEMORY],
        catalogue=Catalogue(contracts(), views()),
    )


def stored(session: Session, where: str = "true", values: dict[str, object] | None = None) -> list[Row]:
    """The rows a session on memory shows, in order of seq."""
    found = session.sql(
        f"SELECT epoch_us(available_at) AS written_at, {_STORED} FROM {MEMORY}_revisions WHERE {where} ORDER BY seq",
        values or {},
    ).arrow()
    columns = [found[name].to_pylist() for name in Row.__dataclass_fields__]
    return [Row(*one) for one in zip(*columns, strict=True)]


def newest_in(lake: Lake, journal: Journal) -> Row | None:
    """The newest row the lake has; None in an empty lake. Raises ClocksMixed, BadInput for another journal's."""
    try:
        session = opened(lake, None)
    except LakeNotFound:
        return None
    with session:
        for name, clock in owners(session):
            if clock != journal.clock.name:
                raise ClocksMixed("this lake", clock, journal.clock.name)
            if name != journal.name:
                step = "name that one in FORGE_JOURNAL; where it is lost, `pitlake forge rebuild` makes it again"
                raise BadInput("journal", "is not the one that this memory was published from", step)
        return next(iter(stored(session, f"seq = (SELECT max(seq) FROM {MEMORY}_revisions)")), None)


def owners(session: Session) -> list[tuple[str, str]]:
    """The journals whose rows a session on memory shows, by name and clock."""
    found = session.sql(f"SELECT DISTINCT journal, clock FROM {MEMORY}_revisions").rows()
    return [(str(name), str(clock)) for name, clock in found]


def table(rows: Sequence[Row], journal: Journal) -> pa.Table:
    """Rows as they are staged."""
    schema = staged_schema(contracts()[MEMORY])
    told = {name: [getattr(row, name) for row in rows] for name in Row.__dataclass_fields__}
    count = len(rows)
    told |= {
        "available_at": [from_micros(row.written_at) for row in rows],
        "available_at_source": [SOURCE] * count,
        "evidence": [locator(row.session, row.seq) for row in rows],
        "journal": [journal.name] * count,
        "clock": [journal.clock.name] * count,
    }
    return pa.table({name: told[name] for name in schema.names}, schema=schema)


def locator(session: str, seq: int) -> str:
    """How a row is named in the lake."""
    return f"forge:{session}:{seq}"


def gap(fault: Fault) -> StagedGap:
    """What a faulty row becomes."""
    return StagedGap("no_data" if fault.wrong == "lost" else "unverifiable", fault.wrong, locator("", fault.seq))


def memory_audit(newest: Row | None, journal: Journal) -> Callable[[Staged, datetime], Iterable[CheckResult]]:
    """Memory's own audit: nothing older than the newest published row, every row as the journal chained it."""

    def audit(staged: Staged, _: datetime) -> Iterable[CheckResult]:
        rows = _rows(staged.rows)
        at, seq = (newest.written_at, newest.seq) if newest else (-1, 0)
        older = [row for row in rows if row.written_at <= at or row.seq <= seq]
        foreign = sum(name != journal.name for name in staged.rows["journal"].to_pylist())
        foreign += sum(name != journal.clock.name for name in staged.rows["clock"].to_pylist())
        broken = [row for row in rows if not chain.holds(row)]
        rising = all(one.written_at < later.written_at for one, later in pairwise(rows))
        facts: dict[str, int | str] = {
            "older_than_published": len(older),
            "not_as_written": len(broken),
            "of_another_journal": foreign,
            "rising": int(rising),
        }
        yield CheckResult(
            name="memory",
            passed=not older and not broken and not foreign and rising,
            facts=facts,
            examples=tuple(locator(row.session, row.seq) for row in (*older, *broken)[:5]),
        )

    return audit


def _rows(staged: pa.Table) -> list[Row]:
    told = {name: staged[name].to_pylist() for name in Row.__dataclass_fields__ if name != "written_at"}
    told["written_at"] = [micros(at) for at in staged["available_at"].to_pylist()]
    found = [Row(*one) for one in zip(*(told[name] for name in Row.__dataclass_fields__), strict=True)]
    return sorted(found, key=lambda row: row.seq)
