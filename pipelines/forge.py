"""Forge's schedules: hourly settlement, and runs of the agent at the times in the settings.

A run decides as of its scheduled instant, so a late run sees no later data. A retried run continues its decision
from the tape. Without a model, a schedule skips the run and states the reason.
"""

import asyncio
import json
import os
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import dagster as dg
from pydantic import Field

from forge.agent.occasions import ALERT, OCCASIONS, RETROSPECTIVE, occasion_text
from forge.agent.session import Trigger
from forge.core.config import Schedules
from forge.core.timetable import Slot, timetable
from forge.desk import brief, desk
from forge.evolution.proposing import PREFIX, describe, propose
from forge.fs import ForgeFS
from forge.model.budget import total_spent
from forge.providers.base import At
from forge.tracking.alerts import alerts
from forge.tracking.calibration import calibrate
from forge.tracking.receipts import recorded_cut_offs
from forge.tracking.settlement import settle
from forge.tracking.untaken import track_untaken
from forge.tracking.work import execute_and_close
from forge.walk.plan import TRIGGERS, Walk
from forge.walk.report import page
from forge.walk.run import run
from pipelines.schedules import in_new_york
from pitlake.clock import instant, iso, now
from pitlake.errors import BadInput, LakeNotFound
from resources.forge import ForgeResource
from resources.lake import LakeResource

GROUP = "forge"
SLOTS = {
    "morning": ("forge_morning", "The morning review, on days with a session."),
    "eod": ("forge_end_of_day", "The review after the close, on days with a session."),
    "weekly": ("forge_weekly", "The week's retrospective."),
}
"""Name and description of the schedule of each trigger."""
TRACKED = ("forge_settlements", "forge_outcomes", "forge_counterfactuals", "forge_calibration")


class Instant(dg.Config):
    """The instant of a run. Schedules fill it in."""

    as_of: str = Field(default="", description="ISO-8601 instant with its offset; blank: now.")

    @property
    def at(self) -> datetime:
        return instant(self.as_of) if self.as_of else now()


class Occasion(Instant):
    """The occasion of a run of the agent."""

    occasion: str = Field(description=f"One of {', '.join(OCCASIONS)}.")
    alerts: list[str] = Field(default=[], description="The alerts that wake the agent.")


@dg.asset(group_name=GROUP, owners=["team:forge"], description="Settlements of every View whose day has ended.")
def forge_settlements(config: Instant, lake: LakeResource, forge: ForgeResource) -> dg.MaterializeResult[None]:
    """Settle due Views, and publish memory."""
    with closing(forge.opened()) as memory:
        cut_offs = recorded_cut_offs(forge.tape())
        settlements = settle(memory, At(as_of=config.at, lake=lake.open().root), cut_offs)
        flushed = memory.flush()
    lines = [
        f"{settlement.id} {settlement.view} {settlement.status} {settlement.value or settlement.reason}"
        for settlement in settlements
    ]
    return dg.MaterializeResult(
        metadata={
            "as of": iso(config.at),
            "settled": sum(settlement.status != "unanswered" for settlement in settlements),
            "unanswered": sum(settlement.status == "unanswered" for settlement in settlements),
            "settlements": dg.MetadataValue.md("\n".join(f"- {line}" for line in lines) or "none were due"),
            "memory version": flushed.version or 0,
        }
    )


@dg.asset(
    group_name=GROUP,
    owners=["team:forge"],
    description="Fills that Forge executed, and results at the target, the stop or the last day, by unadjusted bars.",
)
def forge_outcomes(config: Instant, lake: LakeResource, forge: ForgeResource) -> dg.MaterializeResult[None]:
    """Execute approved Expressions, close exits, and publish memory."""
    with closing(forge.opened()) as memory:
        at = At(as_of=config.at, lake=lake.open().root)
        changes, gaps = execute_and_close(memory, at, forge.desk.config.account)
        memory.flush()
    return dg.MaterializeResult(metadata=_summary(config.at, "executed or closed", changes, gaps))


@dg.asset(
    group_name=GROUP,
    owners=["team:forge"],
    deps=[forge_outcomes],
    description="The results that trades not taken would have had.",
)
def forge_counterfactuals(config: Instant, lake: LakeResource, forge: ForgeResource) -> dg.MaterializeResult[None]:
    """Start and continue trades not taken, and publish memory."""
    with closing(forge.opened()) as memory:
        settings = forge.desk.config.counterfactuals
        trades, gaps = track_untaken(memory, At(as_of=config.at, lake=lake.open().root), settings)
        memory.flush()
    lines = [f"{trade.id} {trade.expression or trade.view} {trade.decision_type} {trade.status}" for trade in trades]
    return dg.MaterializeResult(metadata=_summary(config.at, "tracked", lines, gaps))


@dg.asset(
    group_name=GROUP,
    owners=["team:forge"],
    deps=[forge_settlements],
    description="How the forecasts of each category came out, compared with chance.",
)
def forge_calibration(config: Instant, forge: ForgeResource) -> dg.MaterializeResult[None]:
    """Measure forecasts, and publish memory."""
    with closing(forge.opened()) as memory:
        calibrations = calibrate(memory, config.at)
        memory.flush()
    return dg.MaterializeResult(
        metadata={
            "as of": iso(config.at),
            **{
                row.id: f"{row.forecasts} forecasts, {row.status}, ECE {row.ece} of {row.null_ece}"
                for row in calibrations
            },
        }
    )


def _summary(
    at: datetime, name: str, changes: list[str], gaps: list[str]
) -> dict[str, dg.MetadataValue[Any] | str | int]:
    """Return a run's changes and failures, for the UI."""
    text = "\n".join(f"- {line}" for line in changes)
    missing = "\n".join(f"- {line}" for line in gaps)
    return {
        "as of": iso(at),
        name: len(changes),
        "gaps": len(gaps),
        "what": dg.MetadataValue.md(text or "nothing changed"),
        "why not": dg.MetadataValue.md(missing or "nothing was missing"),
    }


tracking = dg.define_asset_job(
    "forge_tracking",
    selection=dg.AssetSelection.groups(GROUP),
    description="Settle due Views, follow trades taken and not taken, and measure forecasts.",
)


class Backtest(dg.Config):
    """The config of a quarter's backtest."""

    triggers: list[str] = Field(default=list(TRIGGERS), description="Which schedules ask.")
    masked: bool = Field(default=False, description="Replace names, tickers and years in everything a model reads.")


@dg.asset(
    group_name="forge_backtests",
    owners=["team:forge"],
    partitions_def=dg.TimeWindowPartitionsDefinition(cron_schedule="0 0 1 1,4,7,10 *", start="2010-01", fmt="%Y-%m"),
    description="A backtest of a quarter as of every scheduled instant, with its own memory.",
)
def forge_backtest(
    context: dg.AssetExecutionContext, config: Backtest, lake: LakeResource, forge: ForgeResource
) -> dg.MaterializeResult[None]:
    """Run the quarter, or resume it after a kill, and write its page."""
    window = context.partition_time_window
    name = f"{context.partition_key}-{'-'.join(config.triggers)}{'-masked' if config.masked else ''}"
    last = window.end.date() - timedelta(days=1)
    ground, plan = forge.ground(lake.open()), forge.desk.config.schedules
    walk = Walk(
        name=name,
        since=window.start.date(),
        until=last,
        triggers=tuple(config.triggers),
        masked=config.masked,
        plan=plan,
    )
    walked = run(walk, ground, context.log.info)
    place = ground.folder / f"{name}.html"
    place.write_text(page([walk], ground), encoding="utf-8")
    return dg.MaterializeResult(
        metadata={
            "decisions": walked.decisions,
            "ends": dg.MetadataValue.json(dict(walked.ends)),
            "requests": walked.spent.calls,
            "tokens": walked.spent.tokens,
            "spent": walked.spent.describe(),
            "page": dg.MetadataValue.path(str(place)),
        }
    )


@dg.op
def take_turn(context: dg.OpExecutionContext, config: Occasion, lake: LakeResource, forge: ForgeResource) -> None:
    """Ask the agent the occasion's question; a started decision continues from its tape."""
    with closing(forge.opened()) as memory:
        files = ForgeFS(memory, memory.hydrate(config.at))
        text = occasion_text(config.occasion, files, config.at, forge.desk.config.schedules, config.alerts)
        decision = f"D-{config.occasion}-{config.at:%Y%m%dT%H%M%SZ}"
        agent = forge.agent(memory, lake.open())
        if decision in agent.tape.decisions():
            text = ""
        trigger: Trigger = "alert" if config.occasion == ALERT else "schedule"
        turn = agent.ask(text, config.at, decision=decision, trigger=trigger, on_progress=context.log.info)
        decided = asyncio.run(turn)
        fetched = agent.fetched(decision)
        proposals = []
        if config.occasion == RETROSPECTIVE:
            run = f"{PREFIX}{config.occasion}-{config.at:%Y%m%dT%H%M%SZ}"
            proposals = asyncio.run(propose(agent, run, trigger="schedule"))
    gaps = [f"- {fetch['label']}: {gap['reason']}" for fetch in fetched for gap in fetch["gaps"]]
    context.add_output_metadata(
        {
            "decision": decided.decision,
            "as of": decided.receipt.as_of,
            "end": decided.end,
            "exposure": decided.receipt.exposure,
            "spent": total_spent(agent.tape, agent.config, decision).describe(),
            "gaps": dg.MetadataValue.md("\n".join(gaps) or "nothing was missing"),
            "answer": dg.MetadataValue.md(decided.answer),
            "proposed skill changes": dg.MetadataValue.md(
                "\n".join(f"- {describe(proposal)}" for proposal in proposals) or "none"
            ),
            "receipt": dg.MetadataValue.json(decided.receipt.__dict__),
        }
    )


@dg.job(description="One turn of the agent, as of its scheduled instant.")
def forge_turn() -> None:
    """Ask the agent."""
    take_turn()


def turn_at(context: dg.ScheduleEvaluationContext, occasion: str) -> dg.RunRequest | dg.SkipReason:
    """Return a run of the agent as of the scheduled instant, if a model is available."""
    if absent := desk().routing.missing("agent"):
        return dg.SkipReason(f"no model: {absent}")
    at = iso(context.scheduled_execution_time)
    return dg.RunRequest(run_key=at, run_config={"ops": {"take_turn": {"config": {"as_of": at, "occasion": occasion}}}})


@dg.op
def send_brief(config: Instant, lake: LakeResource, forge: ForgeResource) -> None:
    """Send the first page of the day to the channels in FORGE_NOTIFY."""
    with closing(forge.opened()) as memory:
        page = brief.brief(forge.desk, memory, At(as_of=config.at, lake=lake.open().root))
    brief.send(page.title, page.lines())


@dg.job(description="The first page of the day, sent to the channels in FORGE_NOTIFY.")
def forge_brief() -> None:
    """Send the brief."""
    send_brief()


@dg.sensor(
    job_name=forge_turn.name,
    minimum_interval_seconds=15 * 60,
    description="Sends each new alert once to the channels in FORGE_NOTIFY, and wakes the agent, within its budgets.",
)
def forge_alerts(
    context: dg.SensorEvaluationContext, lake: LakeResource, forge: ForgeResource
) -> dg.RunRequest | dg.SkipReason:
    """Report and ask about alerts that the last tick did not see. An alert that was over counts as new again."""
    at, own = now(), forge.desk
    try:
        with closing(forge.opened()) as memory:
            current = alerts(memory.hydrate(at), At(as_of=at, lake=lake.open().root).pinned(), own.config)
    except LakeNotFound:
        return dg.SkipReason("there is no lake yet")
    names = [f"{alert.kind}: {alert.subject}" for alert in current]
    seen = json.loads(context.cursor or "[]")
    new = [str(alert) for alert, name in zip(current, names, strict=True) if name not in seen]
    if new and os.environ.get(brief.VARIABLE):
        brief.send(f"Forge: {len(new)} new alerts", new)
    context.update_cursor(json.dumps(names))
    if not new:
        return dg.SkipReason("no new alerts")
    if absent := own.routing.missing("agent"):
        return dg.SkipReason(f"{len(new)} new alerts; no model: {absent}")
    config = {"as_of": iso(at), "occasion": ALERT, "alerts": new}
    return dg.RunRequest(run_key=iso(at), run_config={"ops": {"take_turn": {"config": config}}})


def asking(slot: Slot) -> dg.ScheduleDefinition:
    name, description = SLOTS[slot.trigger]

    def decide(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        due = slot.due(slot.day(context.scheduled_execution_time))
        return turn_at(context, slot.occasion) if due else dg.SkipReason("no session today")

    clocked = dg.schedule(
        name=name, job=forge_turn, cron_schedule=slot.cron, execution_timezone=slot.zone, description=description
    )
    return clocked(decide)


def briefing(slot: Slot) -> dg.ScheduleDefinition:
    def decide(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        at = iso(context.scheduled_execution_time)
        if not os.environ.get(brief.VARIABLE) or not slot.due(slot.day(context.scheduled_execution_time)):
            return dg.SkipReason(f"no session today, or {brief.VARIABLE} is not set")
        return dg.RunRequest(run_key=at, run_config={"ops": {"send_brief": {"config": {"as_of": at}}}})

    clocked = dg.schedule(
        name="forge_morning_brief", job=forge_brief, cron_schedule=slot.cron, execution_timezone=slot.zone,
        description="Sends the first page of the day, on days with a session.",
    )  # fmt: skip
    return clocked(decide)


@in_new_york(tracking, "0 * * * *")
def forge_hourly(context: dg.ScheduleEvaluationContext, lake: LakeResource) -> dg.RunRequest | dg.SkipReason:
    """Settle, follow and measure every hour, once there is a lake."""
    try:
        lake.open().head()
    except LakeNotFound:
        return dg.SkipReason("there is no lake yet")
    at = iso(context.scheduled_execution_time)
    config = {"config": {"as_of": at}}
    return dg.RunRequest(run_key=at, run_config={"ops": dict.fromkeys(TRACKED, config)})


def schedules() -> list[dg.ScheduleDefinition]:
    """Return Forge's schedules in the settings' time zone. With invalid settings, they use the defaults; only the
    schedules and runs that need the settings report the error.
    """
    try:
        plan = desk().config.schedules
    except BadInput:
        plan = Schedules()
    slots = timetable(plan)
    return [*map(asking, slots), briefing(slots[0]), forge_hourly]
