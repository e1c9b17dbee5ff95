"""Implements `pitlake backfill earnings`: selects releases and runs them. Imported when the command runs."""

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from os import environ
from pathlib import Path
from typing import Self

import dagster as dg

from assets.derived.bundle_assets import bundle_assets
from assets.derived.earnings_bundles import ANCHORS, Event, as_of, events
from pipelines.earnings import BUNDLES, earnings_bundles, one_run, register
from pipelines.partitions import EARNINGS
from pitlake import clock
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from resources.lake import LakeResource

HOME = "DAGSTER_HOME"
ASKED = "pitlake/asked"
"""The tag with the typed command."""
# Dagster logs a failed step in dozens of lines; `backfill` says one line instead.
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass(frozen=True)
class Wanted:
    """The selected releases, and the anchors of their snapshots."""

    tickers: frozenset[str]
    first: date
    last: date
    anchors: tuple[str, ...]

    @classmethod
    def parsed(cls, tickers: str | None, first: str | None, last: str | None, anchors: str | None) -> Self:
        """Parse the command's options. Raises BadInput, which gives the option."""
        choice = cls(
            frozenset(name.upper() for name in _named("--tickers", tickers)),
            _day("--from", first, date.min),
            _day("--to", last, date.max),
            tuple(dict.fromkeys(_named("--anchors", anchors))) or ANCHORS,
        )
        if choice.first > choice.last:
            raise BadInput("--from", "is after --to", "swap them")
        for anchor in choice.anchors:
            try:
                as_of(clock.now(), anchor)
            except BadInput as problem:
                raise BadInput("--anchors", problem.problem, problem.next_step) from None
        return choice

    @property
    def command(self) -> str:
        """Return the command line for exactly this selection."""
        options = {
            "--tickers": ",".join(sorted(self.tickers)),
            "--from": "" if self.first == date.min else self.first.isoformat(),
            "--to": "" if self.last == date.max else self.last.isoformat(),
            "--anchors": "" if self.anchors == ANCHORS else ",".join(self.anchors),
        }
        return " ".join(("pitlake backfill earnings", *(f"{name} {value}" for name, value in options.items() if value)))

    def includes(self, event: Event) -> bool:
        day = clock.new_york_day(event.event_at)
        return (not self.tickers or event.ticker in self.tickers) and self.first <= day <= self.last


def backfill(root: str | None, choice: Wanted, say: Callable[[str], None]) -> dict[str, int]:
    """Build the selected releases in one run and report the reasons for a failure. Return the numbers of releases and
    failed runs, and the lake version.

    Raises BadInput if no release matches, and for an invalid DAGSTER_HOME.
    """
    lake = Lake(root)
    releases = events(lake)
    chosen = [event for event in releases if choice.includes(event)]
    absent = choice.tickers - {event.ticker for event in releases}
    if absent:
        raise BadInput("--tickers", f"the lake has no releases of {', '.join(sorted(absent))}", "leave them out")
    if not chosen:
        raise BadInput(
            "--from, --to", "there are no releases between them", "materialise earnings_events, or widen the range"
        )
    with ExitStack() as running:
        instance = running.enter_context(_instance(running))
        register(instance, chosen)
        request = one_run(instance, [event.key for event in chosen])
        say(f"one run of {len(chosen)} releases: {chosen[0].key} to {chosen[-1].key}")
        options = {name: request["run_config"].get("ops", {}).get(name, {}).get("config", {}) for name in BUNDLES}
        options["earnings_snapshots"] = options["earnings_snapshots"] | {"anchors": list(choice.anchors)}
        wiring = dg.Definitions(
            assets=bundle_assets(EARNINGS),
            jobs=[earnings_bundles],
            resources={"lake": LakeResource(root=lake.location)},
            executor=dg.in_process_executor,
        )
        result = wiring.resolve_job_def(earnings_bundles.name).execute_in_process(
            instance=instance,
            run_config=QUIET | {"ops": {name: {"config": config} for name, config in options.items()}},
            tags=request["tags"] | {ASKED: choice.command},
            raise_on_error=False,
        )
        if not result.success:
            for event in result.filter_events(lambda event: event.is_step_failure):
                data = event.step_failure_data
                error = data.error.cause or data.error if data.error else None
                described = data.user_failure_data.description if data.user_failure_data else None
                reason = described or (error.message if error else "") or "unknown error"
                say(f"{event.step_key} failed: {' '.join(reason.split())}")
            in_dagster = f"run {result.run_id} in Dagster's user interface"
            say(f"the run's log: {in_dagster if environ.get(HOME) else f'name {HOME} to keep it'}")
    return {"releases": len(chosen), "failed": int(not result.success), "version": lake.head()}


def _instance(running: ExitStack) -> dg.DagsterInstance:
    home = environ.get(HOME)
    if not home:
        return dg.DagsterInstance.local_temp(running.enter_context(tempfile.TemporaryDirectory()))
    if not Path(home).is_absolute() or not Path(home).is_dir():
        problem = "is relative" if not Path(home).is_absolute() else "is not a directory"
        raise BadInput(HOME, problem, "give Dagster's directory as an absolute path, or leave it out")
    try:
        return dg.DagsterInstance.get()
    except dg.DagsterError as error:
        problem = f"has no valid dagster.yaml ({type(error).__name__})"
        raise BadInput(HOME, problem, "run `dagster instance info` to see why") from None


def _named(option: str, text: str | None) -> list[str]:
    """Return the items of an option's comma-separated list, or [] if it was not given."""
    names = [part.strip() for part in (text or "").split(",") if part.strip()]
    if text is not None and not names:
        raise BadInput(option, "names nothing", "name some, or leave the option out for all")
    return names


def _day(option: str, text: str | None, default: date) -> date:
    try:
        return default if text is None else date.fromisoformat(text)
    except ValueError:
        raise BadInput(option, f"{text!r} is not a date", "give a date such as 2024-05-22") from None
