"""Forge's scheduled questions: mornings, evenings and weekly, as of the scheduled instant."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from forge.core.config import Schedules
from forge.fs import ForgeFS

RETROSPECTIVE = "weekly_retrospective"
"""The occasion after which changes of skills are proposed."""
OCCASIONS = {
    "morning_review": (
        "Morning review — {day}.\nBudget: ~{settings.morning_budget} analyses.\n\nScan overnight moves. "
        "Check stale Views (>{settings.staleness_days} days). Prioritize by position-weighted attention."
    ),
    "end_of_day": (
        "End of day review — {day}.\nBudget: ~{settings.eod_budget} analyses.\n\nReview today's moves. "
        "Update Views if warranted. Record Observations. Flag items for tomorrow."
    ),
    RETROSPECTIVE: (
        "Weekly retrospective — {day}.\n{outcomes} new outcomes. {completed} completed counterfactuals.\n\n"
        "Load retrospective skill. Analyze honestly. Produce PK entries. Update calibration. "
        "Propose skill edits only with strong evidence."
    ),
}


def occasion_text(occasion: str, files: ForgeFS, at: datetime, settings: Schedules) -> str:
    """Return an occasion's question, with counts of the week up to the instant. Raises KeyError if unknown."""
    day = at.astimezone(ZoneInfo(settings.timezone)).date()
    outcomes = files.list_dir("/memory/outcomes/", f"since:{day - timedelta(days=7)}")
    completed = files.list_dir("/memory/counterfactuals/", "status:completed")
    counted = {"outcomes": len(outcomes), "completed": len(completed)}
    return OCCASIONS[occasion].format(day=day, settings=settings, **counted)
