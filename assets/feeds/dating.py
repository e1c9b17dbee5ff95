"""The rules that date items of outside sources. Each rule states its maximum delay.

No rule is ever early. An ambiguous text is read as its latest meaning. A text without a meaning raises `Unreadable`.
"""

import re
from datetime import date, datetime, time, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple

from pitlake.clock import NEW_YORK, end_of_new_york_day, new_york_day
from pitlake.errors import BadInstant, Unreadable
from pitlake.times import RFC_2822, UNSET_DAYS, later, stated, stated_instant

# The longest New York day has 25 hours, so the end of a day may be late by that much.
DATE_ONLY_BOUND = timedelta(hours=25)
# New York's clock is at most this much behind UTC, so the later of two readings is at most this late.
UNDECIDED_BOUND = timedelta(hours=5)
# If a clock time occurs twice in New York, the second occurrence is used.
FOLD_BOUND = timedelta(hours=1)

# An unset field often contains the year 1, 1900 or the Unix epoch. It would make its record visible at every instant.
# A claim is therefore accepted only from the first plausible year of its kind. ALFRED's vintages and bars may be older;
# they have separate limits.
EVER = datetime.min.replace(tzinfo=timezone.utc)
ONLINE = datetime(1990, 1, 1, tzinfo=timezone.utc)  # articles, pages, files, calls, ratings and reports of earnings
FILED = datetime(1993, 1, 1, tzinfo=timezone.utc)  # EDGAR
LISTED = datetime(1960, 1, 1, tzinfo=timezone.utc)  # dividends and splits, whose histories begin in 1962
# The calendar's last year means "never", and no time can be added to it.
NEVER = datetime(date.max.year, 1, 1, tzinfo=timezone.utc)

OFFSET, NEW_YORK_CLOCK, UTC, LATER, DATE_ONLY, SGML, TWO_READINGS = (
    "offset",
    "new_york_clock",
    "utc",
    "later_reading",
    "date_only",
    "sgml_header",
    "two_readings",
)

_SGML = "%Y%m%d%H%M%S"
_BASIC_DAY = re.compile(r"\d{8}", re.ASCII)
_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)

# EDGAR accepts filings from 06:00 to 22:00 and may date the last ones some minutes later, for example at 22:05, so
# half an hour is added. Read as UTC, 06:00 to 09:59 would be in the middle of the night.
FIRST_NEW_YORK_CLOCK, LAST_SURELY_NEW_YORK = time(6), time(10)
FIRST_SURELY_UTC, LAST_SURELY_UTC = time(22, 30), time(3)
# The Commission's own systems file at any hour, mostly at 00:15.
ANY_HOUR_FORMS = frozenset({"EFFECT", "UPLOAD", "QUALIF", "CERT", "REVOKED", "DEREG", "ORDER", "NO ACT", "IRANNOTICE"})


class Dated(NamedTuple):
    """An instant and the rule that determined it."""

    instant: datetime
    rule: str


def believed(claimed: datetime, since: datetime = ONLINE) -> datetime:
    """Return a claimed instant if it is plausible: not before `since`, and not NEVER. Raises Unreadable."""
    if not since <= claimed < NEVER:
        raise Unreadable("no plausible date")
    return claimed


def day(text: object) -> date:
    """Parse a date in ISO or basic form (2024-02-15, 20240215). Raises Unreadable."""
    spelled = text.strip() if isinstance(text, str) else ""
    if not (_ISO_DAY.fullmatch(spelled) or _BASIC_DAY.fullmatch(spelled)):
        raise Unreadable("no date")
    try:
        return date.fromisoformat(spelled)
    except ValueError:
        raise Unreadable("no date") from None


@lru_cache(maxsize=16_384)
def end_of_day(published: date) -> datetime:
    """Return the end of a New York day, when a date without a time is public. Late by DATE_ONLY_BOUND at most."""
    try:
        return end_of_new_york_day(published)
    except BadInstant:
        raise Unreadable("no date") from None


def end_of_day_text(text: object) -> datetime:
    """Return `end_of_day` of a date in ISO or basic form, as in an exchange's listing. Raises Unreadable."""
    published = day(text)
    if published in UNSET_DAYS:
        raise Unreadable("no plausible date")
    return believed(end_of_day(published), LISTED)


def rfc2822(text: object, since: datetime = ONLINE) -> datetime:
    """Parse a mail or HTTP date with an offset. Exact. `-0000` means no offset and is unreadable. Raises Unreadable."""
    return believed(stated_instant(text, RFC_2822), since)


def iso(text: object, since: datetime = ONLINE) -> datetime:
    """Parse an ISO 8601 instant with seconds and an offset. Exact. Raises Unreadable."""
    return believed(stated_instant(text), since)


def new_york_clock(naive: datetime) -> datetime:
    """Return the instant of a naive New York time.

    If clock changes make the time occur twice or not at all, return the later reading, which is late by FOLD_BOUND at
    most. Raises Unreadable for times outside of the calendar.
    """
    if naive.year == NEVER.year:
        raise Unreadable("outside of the calendar")
    return later(naive, NEW_YORK)


def new_york_at(day_of_release: date, clock_time: time) -> datetime:
    """Return the instant of a New York time on a day, such as 08:30. Exact, except for folds."""
    return new_york_clock(datetime.combine(day_of_release, clock_time))


def edgar_header(text: object) -> Dated:
    """Date the <ACCEPTANCE-DATETIME> of an SGML header, always in New York time. Exact. Raises Unreadable."""
    naive = stated(text, _SGML)
    believed(naive.replace(tzinfo=timezone.utc), FILED)
    if naive.time() == time():
        return Dated(end_of_day(naive.date()), DATE_ONLY)
    return Dated(new_york_clock(naive), SGML)


def edgar(text: object, form: str | None = None) -> Dated:
    """Date the `acceptanceDateTime` of EDGAR's JSON, whose Z means UTC for some filers and New York time for others.

    An offset decides. Midnight in either reading means a day without a time; its end is used, which is late by 24 hours
    and DATE_ONLY_BOUND at most. If only one reading is within EDGAR's hours, that reading is used; filings of the
    Commission itself have no such hours. In all other cases, the later reading is used, late by UNDECIDED_BOUND at
    most. Raises Unreadable.
    """
    naive = wall_clock(text)
    if naive is None:
        return Dated(iso(text, FILED), OFFSET)
    believed(naive.replace(tzinfo=timezone.utc), FILED)
    as_utc, as_new_york = naive.replace(tzinfo=timezone.utc), new_york_clock(naive)
    if naive.time() == time():
        return Dated(end_of_day(naive.date()), DATE_ONLY)
    if as_utc.astimezone(NEW_YORK).time() == time():
        return Dated(end_of_day(new_york_day(as_utc)), DATE_ONLY)
    if (form or "").strip().upper() not in ANY_HOUR_FORMS:
        clock_time = naive.time()
        if FIRST_NEW_YORK_CLOCK <= clock_time < LAST_SURELY_NEW_YORK:
            return Dated(as_new_york, NEW_YORK_CLOCK)
        if clock_time >= FIRST_SURELY_UTC or clock_time < LAST_SURELY_UTC:
            return Dated(as_utc, UTC)
    return Dated(as_new_york, LATER)


def wall_clock(text: object) -> datetime | None:
    """Parse a timestamp of EDGAR's JSON without its time zone; None if it has an offset or no time."""
    try:
        moment = stated(text)
    except Unreadable:
        return None
    has_offset = moment.tzinfo is not None and str(text).rstrip()[-1].isdigit()
    return None if has_offset else moment.replace(tzinfo=None)
