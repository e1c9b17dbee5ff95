"""The work of `pitlake backfill earnings`: which releases are meant, and their runs. Imported when the command runs."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from os import environ
from typing import Self

import dagster as dg

from assets.derived.bundle_assets import bundle_assets
from assets.derived.earnings_bundles import ANCHORS, Event, as_of, events
from pipelines.earnings import ranges, register, tags
from pipelines.partitions import EARNINGS
from pitlake import clock
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from resources.lake import LakeResource

QUIET = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}


@dataclass(frozen=True)
class Wanted:
    """Which releases, and the anchors of their snapshots."""

    tickers: frozenset[str]
    first: date
    last: date
    anchors: tuple[str, ...]

    @classmethod
    def parsed(cls, tickers: str | None, first: str | None, last: str | None, anchors: str | None) -> Self:
        """From the command's texts. Raises BadInput naming the option."""
        wanted = cls(
            frozenset(part.strip().upper() for part in (tickers or "").split(",") if part.strip()),
            _day("--from", first, date.min),
            _day("--to", last, date.max),
            tuple(part.strip() for part in (anchors or "").split(",") if part.strip()) or ANCHORS,
        )
        if wanted.first > wanted.last:
            raise BadInput("--from", "lies after --to", "swap them")
        for anchor in wanted.anchors:
            as_of(clock.now(), anchor)
        return wanted

    def includes(self, event: Event) -> bool:
        """Whether a release is meant."""
        day = clock.new_york_day(event.event_at)
        return (not self.tickers or event.ticker in self.tickers) and self.first <= day <= self.last


def backfill(root: str | None, wanted: Wanted, say: Callable[[str], None]) -> dict[str, int]:
    """Run it; counts of releases, runs, failed runs, and the lake version. Raises BadInput when no release matches."""
    lake = Lake(root)
    known = events(lake)
    chosen = [event for event in known if wanted.includes(event)]
    absent = wanted.tickers - {event.ticker for event in known}
    if absent:
        raise BadInput("--tickers", f"the lake knows no release of {', '.join(sorted(absent))}", "leave them out")
    if not chosen:
        raise BadInput(
            "--from, --to", "no release lies between them", "materialise earnings_events, or widen the range"
        )
    with ExitStack() as running:
        instance = running.enter_context(_instance(running))
        register(instance, chosen)
        spans = list(ranges(instance, [event.key for event in chosen]))
        failed = 0
        for number, (first, last) in enumerate(spans, 1):
            say(f"run {number} of {len(spans)}: {first} to {last}")
            failed += not _run(instance, lake, wanted.anchors, first, last)
    return {"releases": len(chosen), "runs": len(spans), "failed": failed, "version": lake.head()}


def _run(instance: dg.DagsterInstance, lake: Lake, anchors: Sequence[str], first: str, last: str) -> bool:
    result = dg.materialize(
        bundle_assets(EARNINGS),
        instance=instance,
        resources={"lake": LakeResource(root=lake.location)},
        run_config=QUIET | {"ops": {"earnings_snapshots": {"config": {"anchors": list(anchors)}}}},
        tags=tags(first, last),
        raise_on_error=False,
    )
    return result.success


def _instance(running: ExitStack) -> dg.DagsterInstance:
    if environ.get("DAGSTER_HOME"):
        return dg.DagsterInstance.get()
    return dg.DagsterInstance.local_temp(running.enter_context(tempfile.TemporaryDirectory()))


def _day(option: str, text: str | None, default: date) -> date:
    try:
        return date.fromisoformat(text) if text else default
    except ValueError:
        raise BadInput(option, f"{text!r} is no date", "give one such as 2024-05-22") from None
