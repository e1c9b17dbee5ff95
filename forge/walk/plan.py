"""The plan of a walk-forward run: a period, the triggers in it, and their instants."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Literal

from forge.core.clock import Simulated
from forge.core.config import Schedules
from forge.core.timetable import timetable
from pitlake.clock import end_of_new_york_day, past
from pitlake.errors import BadInput

TRIGGERS = ("morning", "eod", "weekly")
Every = Literal["whole", "quarter", "month"]
MONTHS = {"quarter": 3, "month": 1}


@dataclass(frozen=True, kw_only=True)
class Walk:
    """A run. Raises BadInput for a period without a trigger, or a period that has not ended.

    since, until: the first and last day. masked: whether names of companies and times are masked. again: whether the
    run only repeats another run, to measure noise. plan: the schedule.
    """

    name: str
    since: date
    until: date
    triggers: tuple[str, ...] = TRIGGERS
    masked: bool = False
    again: bool = False
    plan: Schedules = field(default_factory=Schedules)

    def __post_init__(self) -> None:
        Simulated(self.name, past(end_of_new_york_day(self.until), "to"))
        if unknown := [trigger for trigger in self.triggers if trigger not in TRIGGERS]:
            raise BadInput("triggers", f"{unknown[0]!r} is not a trigger", f"choose from {', '.join(TRIGGERS)}")
        if not self.occasions():
            raise BadInput("from", "the period has no trigger", "give a start before the end, and triggers")

    @property
    def ends(self) -> datetime:
        """The end of the run's last day in New York, after which no question is asked."""
        return max(end_of_new_york_day(self.until), *(at for at, _ in self.occasions()))

    def occasions(self) -> list[tuple[datetime, str]]:
        """Return the instants of the run in order, each with its occasion."""
        slots = [slot for slot in timetable(self.plan) if slot.trigger in self.triggers]
        return sorted((slot.at(day), slot.occasion) for day in self._days() for slot in slots if slot.due(day))

    def split(self, every: Every) -> list["Walk"]:
        """Split into independent runs, one per calendar month or quarter, each with its own memory."""
        if every == "whole":
            return [self]
        parts: dict[str, list[date]] = {}
        for day in self._days():
            number = (day.month - 1) // MONTHS[every] + 1
            parts.setdefault(f"{day.year}-{'q' if every == 'quarter' else ''}{number:02d}", []).append(day)
        runs = ((name, replace(self, name="part", since=days[0], until=days[-1])) for name, days in parts.items())
        return [replace(run, name=f"{self.name}-{name}") for name, run in runs]

    def _days(self) -> Iterator[date]:
        return (self.since + timedelta(days=number) for number in range((self.until - self.since).days + 1))
