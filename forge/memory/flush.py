"""Flushing: publishes new rows of the journal, through the ordinary gate and an audit of memory.

A row that differs from its journal becomes a gap; the other rows are published.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

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
from pitlake.session import Catalogue, Session, connect

if TYPE_CHECKING:
    from pitlake.lake.publishing.audit import CheckResult
    from pitlake.lake.publishing.stage import Staged, StagedGap

_STORED = ", ".join(name for name in Row.__dataclass_fields__ if name != "written_at")


@dataclass(frozen=True)
class Flushed:
    """The result of a flush. version: the new lake version. rows: the number of published rows. faults: the gaps."""

    version: int
    rows: int
    faults: tuple[Fault, ...] = ()


def flush(journal: Journal, lake: Lake) -> Flushed:
    """Publish new rows. Raises ClocksMixed, BadInput if the lake is another journal's, and the errors of a publish."""
    newest = newest_published(lake, journal)
    rows = journal.rows(newest.seq if newest else 0)
    if not rows:
        return Flushed(lake.head() if newest else 0, 0)
    sound, faults = chain.judge(rows, newest, newest.chain if newest else journal.start)
    with lake.stage(contracts()[MEMORY], f"flush-{rows[-1].seq}") as stage:
        stage.add(None, staged_table(sound, journal), map(gap, faults), extracted=len(sound) + len(faults))
        published = lake.publish(stage, audits=[memory_audit(newest, journal)])
    return Flushed(published.version, len(sound), tuple(faults))


def open_session(lake: Lake, as_of: datetime | None, version: int | None = None) -> Session:
    """Open a session on memory as of an instant, or on all of memory. Raises LakeNotFound."""
    return connect(
        as_of,
        version=version,
        lake=lake,
        open_mode=as_of is None,
        datasets=[MEMORY],
        catalogue=Catalogue(contracts(), views()),
    )


def stored_rows(session: Session, where: str = "true", values: dict[str, object] | None = None) -> list[Row]:
    """Return the rows of a session on memory, in order of seq."""
    result = session.sql(
        f"SELECT epoch_us(available_at) AS written_at, {_STORED} FROM {MEMORY}_revisions WHERE {where} ORDER BY seq",
        values or {},
    ).arrow()
    columns = [result[name].to_pylist() for name in Row.__dataclass_fields__]
    return [Row(*values) for values in zip(*columns, strict=True)]


def newest_published(lake: Lake, journal: Journal) -> Row | None:
    """Return the newest published row, or None. Raises ClocksMixed, BadInput if the lake is another journal's."""
    try:
        session = open_session(lake, None)
    except LakeNotFound:
        return None
    with session:
        for name, clock in journals(session):
            if clock != journal.clock.name:
                raise ClocksMixed("this lake", clock, journal.clock.name)
            if name != journal.name:
                step = "set FORGE_JOURNAL to that one; if it is lost, run `pitlake forge rebuild`"
                raise BadInput("journal", "is not the one that this memory was published from", step)
        return next(iter(stored_rows(session, f"seq = (SELECT max(seq) FROM {MEMORY}_revisions)")), None)


def journals(session: Session) -> list[tuple[str, str]]:
    """Return the journals of the rows in a session on memory, by name and clock."""
    rows = session.sql(f"SELECT DISTINCT journal, clock FROM {MEMORY}_revisions").rows()
    return [(str(name), str(clock)) for name, clock in rows]


def staged_table(rows: Sequence[Row], journal: Journal) -> pa.Table:
    from pitlake.lake.publishing.stage import staged_schema

    schema = staged_schema(contracts()[MEMORY])
    columns = {name: [getattr(row, name) for row in rows] for name in Row.__dataclass_fields__}
    count = len(rows)
    columns |= {
        "available_at": [from_micros(row.written_at) for row in rows],
        "available_at_source": [SOURCE] * count,
        "evidence": [locator(row.session, row.seq) for row in rows],
        "journal": [journal.name] * count,
        "clock": [journal.clock.name] * count,
    }
    return pa.table({name: columns[name] for name in schema.names}, schema=schema)


def locator(session: str, seq: int) -> str:
    """Return a row's locator in the lake."""
    return f"forge:{session}:{seq}"


def gap(fault: Fault) -> "StagedGap":
    from pitlake.lake.publishing.stage import StagedGap

    return StagedGap("no_data" if fault.wrong == "lost" else "unverifiable", fault.wrong, locator("", fault.seq))


def memory_audit(newest: Row | None, journal: Journal) -> "Callable[[Staged, datetime], Iterable[CheckResult]]":
    """Return memory's audit: no row is older than the newest published one, and every row matches its hash."""

    from pitlake.lake.publishing.audit import CheckResult

    def audit(staged: "Staged", _: datetime) -> Iterable[CheckResult]:
        columns = {name: staged.rows[name].to_pylist() for name in Row.__dataclass_fields__ if name != "written_at"}
        columns["written_at"] = [micros(at) for at in staged.rows["available_at"].to_pylist()]
        rows = [Row(*values) for values in zip(*(columns[name] for name in Row.__dataclass_fields__), strict=True)]
        rows.sort(key=lambda row: row.seq)
        at, seq = (newest.written_at, newest.seq) if newest else (-1, 0)
        older = [row for row in rows if row.written_at <= at or row.seq <= seq]
        foreign = sum(name != journal.name for name in staged.rows["journal"].to_pylist())
        foreign += sum(name != journal.clock.name for name in staged.rows["clock"].to_pylist())
        broken = [row for row in rows if not chain.is_intact(row)]
        rising = all(earlier.written_at < later.written_at for earlier, later in pairwise(rows))
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
