"""Forge's scheduled questions (morning, evening, weekly), and the question about new alerts."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from forge.agent.tools.text import marked
from forge.core.config import Schedules
from forge.fs import ForgeFS

RETROSPECTIVE = "weekly_retrospective"
"""The occasion after which changes to skills are proposed."""
ALERT = "alert"
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
    ALERT: (
        "Alert — {day}.\n\n{alerts}\n\nCheck the Views and Expressions that these alerts are about. "
        "Update them if warranted, and say what needs the portfolio manager."
    ),
}


def occasion_text(occasion: str, files: ForgeFS, at: datetime, settings: Schedules, alerts: Sequence[str] = ()) -> str:
    """Return an occasion's question, with the counts that it mentions. Raises KeyError if unknown.

    alerts: for the occasion of an alert. They contain texts of records, so they are marked as data.
    """
    day = at.astimezone(ZoneInfo(settings.timezone)).date()
    outcomes = files.list_dir("/memory/outcomes/", f"since:{day - timedelta(days=7)}")
    completed = files.list_dir("/memory/counterfactuals/", "status:completed")
    counted = {"outcomes": len(outcomes), "completed": len(completed)}
    alert_data = marked("\n".join(alerts), "alerts")
    return OCCASIONS[occasion].format(day=day, settings=settings, alerts=alert_data, **counted)
