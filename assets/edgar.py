"""EDGAR's release of accepted filings: `released` returns the instant from which a filing could be read.

Most filings accepted after 17:30 New York have the next business day as their filing date (17 CFR 232.13(a)(2)) and are
not shown before that morning. Some forms keep the day of acceptance until 22:00 (17 CFR 232.13(a)(3) and (4)). The
staff may move the date of a late filing back (17 CFR 232.13(b)), but not the morning on which it was shown.
assets.graph._filings and assets.feeds.dating read the acceptance.
"""

import re
from datetime import date, datetime, time, timedelta, timezone
from functools import cache, lru_cache
from typing import NamedTuple

from pitlake.clock import NEW_YORK, new_york_day
from pitlake.datasets._shared import BY_ACCEPTANCE, BY_CLOCK, BY_FILING_DATE

# Filing agents say that evening filings are posted at 06:00; a vendor says not before 07:30.
MORNING = time(7, 30)
CUT_OFF, LATE_CUT_OFF = time(17, 30), time(22)
# A transmission that began before the cut-off may be accepted some minutes later. The kept date proves this.
# After 22:00, when EDGAR accepts no more, such filings are the only ones.
CUT_OFF_IF_DATED, LATE_CUT_OFF_IF_DATED = time(17, 33), time(22, 30)
# The longest time from acceptance to release was at Christmas 2025, when EDGAR was closed for three days.
MOST_DAYS_UNRELEASED = 7

# Days on which federal offices, including EDGAR, were closed by executive order. The exchanges were open on most of
# them.
SHUT_BY_ORDER = frozenset(
    map(
        date.fromisoformat,
        (
            "1994-04-27", "2001-12-24", "2003-12-26", "2004-06-11", "2007-01-02", "2007-12-24", "2008-12-26",
            "2012-12-24", "2014-12-26", "2018-12-05", "2018-12-24", "2019-12-24", "2020-12-24", "2024-12-24",
            "2025-01-09", "2025-12-24", "2025-12-26",
        ),
    )
)  # fmt: skip
# Letters with the staff, draft registrations and draft offering statements become public weeks after their
# acceptance, and no source gives the day. Their amendments, which end in "/A", are withheld as well.
WITHHELD_FORMS = frozenset({"UPLOAD", "CORRESP", "LETTER", "DRS", "DRSLTR", "DOS", "DOSLTR"})
# Forms that holders, bidders, exchanges and EDGAR's staff file about a company, under any name for the company.
_BY_OTHERS = re.compile(
    r"[345]|144|(SC|SCHEDULE) (13[DG]|TO-T|14D1)|DFAN14A|DEFC14A|PREC14A|PX14A6[GN]|425|25-NSE|CERT.*|EFFECT"
    r"|QUALIF|REVOKED|NO ACT|IRANNOTICE|UPLOAD|LETTER"
)
FIRST_YEAR, LAST_YEAR = 1990, 2199
JUNETEENTH_SINCE = 2021
# The holidays of King, Washington, Memorial Day, Labor Day, Columbus and Thanksgiving: month, earliest day, weekday.
_BY_WEEKDAY = ((1, 15, 0), (2, 15, 0), (5, 25, 0), (9, 1, 0), (10, 8, 0), (11, 22, 3))

# The forms that keep their day if filed before 22:00, and since when. Rule 462(b) statements have always kept it.
_UNTIL_TEN = (
    (re.compile(r"[345]|3/A|4/A|5/A"), date(2003, 6, 30)),
    (re.compile(r"SC 14N(-S)?(/A)?|SCHEDULE 14N(-S)?(/A)?"), date(2010, 11, 15)),
    (re.compile(r"144(/A)?"), date(2023, 3, 20)),
    (re.compile(r"(SC|SCHEDULE) 13[DG](/A)?"), date(2024, 2, 5)),
    (re.compile(r"(S|F|N|SB)-(\d+|B)?MEF|POS 462B"), date.min),
)


class Release(NamedTuple):
    """The instant from which a filing could be read, its rule (a value of `release_rule`), and its acceptance."""

    at: datetime
    rule: str
    accepted_at: datetime


@lru_cache(maxsize=16_384)
def released(accepted: datetime, form: str | None, filing_date: date | None, *, as_accepted: bool = False) -> Release:
    """Return the release of a filing.

    A filing date after the day of acceptance decides. A filing accepted too late for its form is not released before
    the next business morning, even if its date is earlier. as_accepted: use the acceptance as the release.
    """
    if as_accepted:
        return Release(accepted, BY_ACCEPTANCE, accepted)
    day = new_york_day(accepted)
    cut_off, cut_off_if_dated = (
        (LATE_CUT_OFF, LATE_CUT_OFF_IF_DATED) if kept_until_ten(form, day) else (CUT_OFF, CUT_OFF_IF_DATED)
    )
    clock_time = accepted.astimezone(NEW_YORK).time()
    if filing_date is None:
        is_in_time = is_business_day(day) and clock_time <= cut_off
    else:
        is_in_time = (is_business_day(day) or filing_date >= day) and clock_time <= cut_off_if_dated
    shown_on = day if is_in_time else next_business_day(day)
    is_dated = filing_date is not None and (filing_date > day or shown_on == day)
    if filing_date is not None and filing_date > day:
        # Such a date proves that EDGAR was open on a day on which other offices were closed.
        shown_on = filing_date if filing_date in SHUT_BY_ORDER else max(shown_on, filing_date)
    at = accepted if shown_on == day else datetime.combine(shown_on, MORNING, NEW_YORK).astimezone(timezone.utc)
    return Release(at, BY_FILING_DATE if is_dated else BY_CLOCK, accepted)


def kept_until_ten(form: str | None, day: date) -> bool:
    """Return whether a form filed before 22:00 of that day has that day as its filing date."""
    since = _kept_since(form or "")
    return since is not None and day >= since


@lru_cache(maxsize=1_024)
def _kept_since(form: str) -> date | None:
    spelled = form.strip().upper()
    return min((since for pattern, since in _UNTIL_TEN if pattern.fullmatch(spelled)), default=None)


def withheld(form: object) -> bool:
    """Return whether filings of a form are withheld at first, so that acceptance and filing date prove nothing."""
    return isinstance(form, str) and form.strip().upper().removesuffix("/A") in WITHHELD_FORMS


def is_by_others(form: object) -> bool:
    """Return whether others file a form about a company. Such a form does not prove the company's name."""
    return isinstance(form, str) and bool(_BY_OTHERS.fullmatch(form.strip().upper().removesuffix("/A")))


def is_business_day(day: date) -> bool:
    """Return whether EDGAR accepts filings on a day: not on weekends, federal holidays and ordered closings."""
    return day.weekday() < 5 and day not in SHUT_BY_ORDER and day not in _holidays(day.year)


def next_business_day(day: date) -> date:
    """Return the first business day after a day."""
    following = day + timedelta(days=1)
    while not is_business_day(following):
        following += timedelta(days=1)
    return following


def days_unreleased(day: date) -> int:
    """Return the maximum number of days between the acceptance of a filing and its release on a given day."""
    before = day
    while is_business_day(day) and not is_business_day(before := before - timedelta(days=1)):
        pass
    return (day - before).days


@cache
def _holidays(year: int) -> frozenset[date]:
    """Return the days of a year on which federal holidays are observed. One may be the next year's New Year's Day."""
    if not FIRST_YEAR <= year <= LAST_YEAR:
        return frozenset()
    fixed = [date(year, 1, 1), date(year, 7, 4), date(year, 11, 11), date(year, 12, 25), date(year + 1, 1, 1)]
    if year >= JUNETEENTH_SINCE:
        fixed.append(date(year, 6, 19))
    shifts = {5: -1, 6: 1}  # A Saturday's holiday is observed on Friday, a Sunday's on Monday.
    days = {holiday + timedelta(days=shifts.get(holiday.weekday(), 0)) for holiday in fixed}
    return frozenset(days) | {_weekday(year, *rule) for rule in _BY_WEEKDAY}


def _weekday(year: int, month: int, earliest: int, weekday: int) -> date:
    """Return the first occurrence of a weekday on or after a day of a month."""
    first = date(year, month, earliest)
    return first + timedelta(days=(weekday - first.weekday()) % 7)
