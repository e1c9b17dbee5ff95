"""The two clocks and the calendar arithmetic every dataset shares.

`available_at` is the instant the content became public, `observed_at` the instant the lake first saw it; both are
aware UTC datetimes in microseconds. Business dates are other columns. Nothing here reads the exchange calendar.
"""

from datetime import date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

from pitlake.errors import BadInstant
from pitlake.gate.rules import InstantFault
from pitlake.gate.rules import parse_instant as parse_strict

AVAILABLE_AT = "available_at"
OBSERVED_AT = "observed_at"
NEW_YORK = ZoneInfo("America/New_York")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def instant(text: str | datetime, field: str = "as_of") -> datetime:
    """An aware UTC datetime from strict ISO-8601 text or an aware datetime. Raises BadInstant naming the fault."""
    if isinstance(text, datetime):
        if text.tzinfo is None or text.utcoffset() is None:
            raise BadInstant(field, "naive", "the datetime has no time zone")
        return _in_range(text, field)
    try:
        return parse_strict(text)
    except InstantFault as fault:
        raise BadInstant(field, fault.fault, fault.detail) from None


def _in_range(moment: datetime, field: str) -> datetime:
    try:
        return moment.astimezone(timezone.utc)
    except OverflowError:
        raise BadInstant(field, "out_of_range", "outside the years 1 to 9999 in UTC") from None


def iso(moment: datetime) -> str:
    """The one spelling pitlake writes: UTC, microseconds only when there are any, `Z`."""
    return moment.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def micros(moment: datetime) -> int:
    """Microseconds since the Unix epoch."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def from_micros(count: int) -> datetime:
    """The aware UTC datetime so many microseconds after the Unix epoch."""
    return EPOCH + timedelta(microseconds=count)


def new_york_day(moment: datetime) -> date:
    """The New York calendar day an instant falls on."""
    return moment.astimezone(NEW_YORK).date()


def new_york_month(moment: datetime) -> str:
    """The New York month ("YYYY-MM") an instant falls in: the lake's partition."""
    day = new_york_day(moment)
    return f"{day.year:04d}-{day.month:02d}"


def start_of_new_york_day(day: date) -> datetime:
    """00:00 New York of a day, in UTC."""
    return datetime.combine(day, time(), NEW_YORK).astimezone(timezone.utc)


def end_of_new_york_day(day: date) -> datetime:
    """00:00 New York of the next day, in UTC: when a date-only publication date counts as public."""
    return start_of_new_york_day(day + timedelta(days=1))


def now() -> datetime:
    """The wall clock, in UTC. The only place the kernel reads it."""
    return datetime.now(timezone.utc)
