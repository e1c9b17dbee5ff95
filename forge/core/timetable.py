"""When the settings have the agent asked: the same for schedules and for walk-forward runs."""

from dataclasses import dataclass
from datetime import date, datetime, time
from zoneinfo import ZoneInfo

from forge.core.config import DAYS, Schedules
from pitlake.clock import instant
from pitlake.exchange import session


@dataclass(frozen=True)
class Slot:
    """A time of day at which an occasion is due, on the settings' clock. trigger: what walks call it; days: weekdays, 0
    is Monday; traded: only on days with a session.
    """

    trigger: str
    occasion: str
    time: str
    days: tuple[int, ...]
    traded: bool
    zone: str

    @property
    def cron(self) -> str:
        """It as cron has it, where 0 is Sunday."""
        hour, minute = self.time.split(":")
        return f"{int(minute)} {int(hour)} * * {','.join(str((day + 1) % 7) for day in self.days)}"

    def due(self, day: date) -> bool:
        """Whether it is due on a day of the settings' clock."""
        return day.weekday() in self.days and not (self.traded and session(day) is None)

    def day(self, at: datetime) -> date:
        """The day of the settings' clock that an instant lies in."""
        return at.astimezone(ZoneInfo(self.zone)).date()

    def at(self, day: date) -> datetime:
        """The instant it is due at on a day."""
        return instant(datetime.combine(day, time.fromisoformat(self.time), ZoneInfo(self.zone)))


def timetable(plan: Schedules) -> tuple[Slot, ...]:
    """The slots of a week."""
    weekdays, retrospective = tuple(range(5)), (DAYS.index(plan.retrospective_day),)
    return (
        Slot("morning", "morning_review", plan.morning_time, weekdays, True, plan.timezone),
        Slot("eod", "end_of_day", plan.eod_time, weekdays, True, plan.timezone),
        Slot("weekly", "weekly_retrospective", plan.retrospective_time, retrospective, False, plan.timezone),
    )
