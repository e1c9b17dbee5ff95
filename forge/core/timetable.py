"""The scheduled times of the agent according to the settings, for both Dagster and walk-forward runs."""

from dataclasses import dataclass
from datetime import date, datetime, time
from zoneinfo import ZoneInfo

from forge.core.config import DAYS, Schedules
from pitlake.clock import instant
from pitlake.exchange import session


@dataclass(frozen=True)
class Slot:
    """A time of day at which an occasion is due, in the settings' time zone.

    trigger: the name in walk-forward runs. days: weekdays, with Monday as 0. traded: whether the occasion is due only
    on days with a trading session.
    """

    trigger: str
    occasion: str
    time: str
    days: tuple[int, ...]
    traded: bool
    zone: str

    @property
    def cron(self) -> str:
        """The slot as a cron expression, in which Sunday is 0."""
        hour, minute = self.time.split(":")
        return f"{int(minute)} {int(hour)} * * {','.join(str((day + 1) % 7) for day in self.days)}"

    def due(self, day: date) -> bool:
        return day.weekday() in self.days and not (self.traded and session(day) is None)

    def day(self, at: datetime) -> date:
        """Return the day of an instant in the slot's time zone."""
        return at.astimezone(ZoneInfo(self.zone)).date()

    def at(self, day: date) -> datetime:
        """Return the instant at which the slot is due on a day."""
        return instant(datetime.combine(day, time.fromisoformat(self.time), ZoneInfo(self.zone)))


def timetable(plan: Schedules) -> tuple[Slot, ...]:
    weekdays, retrospective = tuple(range(5)), (DAYS.index(plan.retrospective_day),)
    return (
        Slot("morning", "morning_review", plan.morning_time, weekdays, True, plan.timezone),
        Slot("eod", "end_of_day", plan.eod_time, weekdays, True, plan.timezone),
        Slot("weekly", "weekly_retrospective", plan.retrospective_time, retrospective, False, plan.timezone),
    )
