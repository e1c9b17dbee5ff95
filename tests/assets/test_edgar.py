"""Release times of EDGAR filings at every half hour of two years, compared with an independent clock and calendar."""

from datetime import date, datetime, time, timedelta, timezone
from itertools import product

import pytest
from pandas.tseries.holiday import USFederalHolidayCalendar

from assets import edgar
from assets.edgar import MOST_DAYS_UNRELEASED, SHUT_BY_ORDER, days_unreleased, is_business_day, released

HALF_HOUR, DAY = timedelta(minutes=30), timedelta(days=1)
FIRST, LAST = datetime(2024, 1, 1, tzinfo=timezone.utc), datetime(2025, 12, 31, tzinfo=timezone.utc)
SHUT = """
2024-01-01 2024-01-15 2024-02-19 2024-05-27 2024-06-19 2024-07-04 2024-09-02 2024-10-14 2024-11-11 2024-11-28 2024-12-24
2024-12-25 2025-01-01 2025-01-09 2025-01-20 2025-02-17 2025-05-26 2025-06-19 2025-07-04 2025-09-01 2025-10-13 2025-11-11
2025-11-27 2025-12-24 2025-12-25 2025-12-26 2026-01-01
"""
ORDERED = "2024-12-24 2025-01-09 2025-12-24 2025-12-26"
SUMMERS = (("2024-03-10T07", "2024-11-03T06"), ("2025-03-09T07", "2025-11-02T06"))
CUT_OFFS = {"8-K": "17:30", "4": "22:00", "SC 13D/A": "13D"}
DATED_CUT_OFFS = {"17:30": "17:33:00", "22:00": "22:30:00"}
FILED = (None, -1, 0, 1, 5)
at = datetime.fromisoformat


def wall(utc):
    summer = any(first <= utc.isoformat()[:13] < last for first, last in SUMMERS)
    return utc - timedelta(hours=4 if summer else 5)


def oracle(utc, local, form, filed):
    cut_off, today = CUT_OFFS[form], local.date()
    if cut_off == "13D":
        cut_off = "22:00" if today.isoformat() >= "2024-02-05" else "17:30"
    is_open = lambda day: day.isoweekday() <= 5 and day.isoformat() not in SHUT  # noqa: E731
    works, display = is_open(today), today
    if filed is not None:
        cut_off, works = DATED_CUT_OFFS[cut_off], works or filed >= today
    if not works or local.strftime("%H:%M:%S") > f"{cut_off}:00"[:8]:
        display += DAY
        while not is_open(display):
            display += DAY
    if filed is not None and filed > today:
        display = filed if filed.isoformat() in ORDERED else max(display, filed)
    if display == today:
        return utc
    morning = datetime.combine(display, time(7, 30))
    return next(moment for hours in (4, 5) if wall(moment := morning + timedelta(hours=hours)) == morning)


def test_releases_match_the_oracle_at_every_half_hour_of_two_years():
    moved = 0
    for count in range((LAST - FIRST) // HALF_HOUR):
        accepted = FIRST + count * HALF_HOUR
        utc = accepted.replace(tzinfo=None)
        local = wall(utc)
        for form, filed in product(CUT_OFFS, FILED if accepted.hour in (3, 4, 5, 21, 22, 23) else (None,)):
            filing_date = None if filed is None else local.date() + filed * DAY
            at, rule, _ = released.__wrapped__(accepted, form, filing_date)
            assert at.replace(tzinfo=None) == oracle(utc, local, form, filing_date), (accepted, form, filing_date)
            assert at >= accepted
            moved_back = filed is not None and filed <= 0 and at > accepted
            assert rule == ("form_and_clock" if filed is None or moved_back else "filing_date")
            moved += at > accepted
    assert moved > 10_000


@pytest.mark.parametrize(
    ("accepted", "form", "filing_date", "expected"),
    [
        ("2024-05-22T17:30:00-04:00", "8-K", None, "2024-05-22T17:30:00-04:00"),
        ("2024-05-22T17:30:00.000001-04:00", "8-K", None, "2024-05-23T07:30:00-04:00"),
        ("2024-05-22T17:33:00-04:00", "8-K", "2024-05-22", "2024-05-22T17:33:00-04:00"),
        ("2024-05-22T17:33:00.000001-04:00", "8-K", "2024-05-22", "2024-05-23T07:30:00-04:00"),
        ("2024-05-22T17:33:00-04:00", "8-K", "2024-05-23", "2024-05-23T07:30:00-04:00"),
        ("2024-05-22T20:00:00-04:00", "8-K", "2024-05-22", "2024-05-23T07:30:00-04:00"),
        ("2024-05-22T20:00:00-04:00", "8-K", "2024-05-28", "2024-05-28T07:30:00-04:00"),
        ("2024-05-22T20:00:00-04:00", "4", "2024-05-21", "2024-05-22T20:00:00-04:00"),
        ("2024-05-22T22:05:07-04:00", "4", "2024-05-22", "2024-05-22T22:05:07-04:00"),
        ("2024-05-22T22:30:01-04:00", "4", "2024-05-22", "2024-05-23T07:30:00-04:00"),
        ("2024-05-24T20:00:00-04:00", "8-K", "2024-05-25", "2024-05-28T07:30:00-04:00"),
        ("2024-05-25T10:00:00-04:00", "8-K", "2024-05-24", "2024-05-28T07:30:00-04:00"),
        ("2024-05-25T10:00:00-04:00", "8-K", "2024-05-25", "2024-05-25T10:00:00-04:00"),
        ("2018-12-04T18:00:00-05:00", "10-Q", "2018-12-05", "2018-12-05T07:30:00-05:00"),
        ("2024-05-22T16:00:00-04:00", "8-K", "2024-05-23", "2024-05-23T07:30:00-04:00"),
        ("2024-05-22T20:00:00-04:00", "8-K", "2024-05-21", "2024-05-23T07:30:00-04:00"),
        ("2024-02-16T20:45:00-05:00", "10-K", "2024-02-16", "2024-02-20T07:30:00-05:00"),
        ("2018-12-04T18:00:00-05:00", "10-Q", None, "2018-12-06T07:30:00-05:00"),
        ("2025-01-08T18:00:00-05:00", "10-Q", None, "2025-01-10T07:30:00-05:00"),
        ("2025-12-23T18:00:00-05:00", "8-K", None, "2025-12-29T07:30:00-05:00"),
        ("2021-12-30T18:00:00-05:00", "8-K", None, "2022-01-03T07:30:00-05:00"),
        ("2024-10-11T18:00:00-04:00", "8-K", None, "2024-10-15T07:30:00-04:00"),
        ("2024-03-29T10:00:00-04:00", "8-K", None, "2024-03-29T10:00:00-04:00"),
        ("2024-03-08T18:00:00-05:00", "8-K", None, "2024-03-11T07:30:00-04:00"),
        ("2024-06-15T12:00:00-04:00", "4", None, "2024-06-17T07:30:00-04:00"),
        ("2024-06-14T22:00:01-04:00", "4", None, "2024-06-17T07:30:00-04:00"),
    ],
)
def test_filings_on_evenings_holidays_and_closed_days_are_released_as_expected(accepted, form, filing_date, expected):
    filed = date.fromisoformat(filing_date) if filing_date else None
    assert released(at(accepted), form, filed).at == at(expected)


UNTIL_TEN = [
    "3", "3/A", "4", "4/A", "5", "5/A", "144", "144/A", "SC 13D", "SC 13D/A", "SC 13G", "SC 13G/A", "SCHEDULE 13D",
    "SCHEDULE 13D/A", "SCHEDULE 13G", "schedule 13g/a ", "SC 14N", "SC 14N/A", "SC 14N-S", "F-1MEF", "F-3MEF", "F-4MEF",
    "N-14MEF", "N-2MEF", "S-11MEF", "S-1MEF", "S-3MEF", "S-4MEF", "S-BMEF", "SB-2MEF", "POS 462B",
]  # fmt: skip
NOT_UNTIL_TEN = [
    "8-K", "10-K", "6-K", "425", "13F-HR", "SC 13E3", "SC TO-I", "SC 14D9", "40-F", "S-1", "POS AM", "N-3", "", None,
]  # fmt: skip


@pytest.mark.parametrize("form", UNTIL_TEN)
def test_forms_with_a_late_cut_off_are_released_until_ten_in_the_evening(form):
    evening = at("2024-12-19T21:59:59-05:00")
    assert released(evening, form, None).at == evening


@pytest.mark.parametrize("form", NOT_UNTIL_TEN)
def test_other_forms_after_half_past_five_are_released_the_next_morning(form):
    assert released(at("2024-12-19T17:30:01-05:00"), form, None).at == at("2024-12-20T07:30:00-05:00")


@pytest.mark.parametrize(
    ("form", "since"),
    [("4", "2003-06-30"), ("SC 14N", "2010-11-15"), ("144", "2023-03-20"), ("SC 13G/A", "2024-02-05")],
)
def test_a_form_has_its_late_cut_off_only_since_its_rule_took_effect(form, since):
    first = date.fromisoformat(since)
    evening = datetime.combine(first, time(20), edgar.NEW_YORK)
    assert released(evening, form, None).at == evening
    assert released(evening - 3 * DAY, form, None).at > evening - 3 * DAY


def test_the_as_accepted_option_releases_a_filing_at_its_acceptance():
    evening = at("2024-05-24T21:00:00-04:00")
    assert released(evening, "8-K", date(2024, 5, 28), as_accepted=True) == (evening, "acceptance", evening)


def test_the_look_back_for_unreleased_filings_is_never_too_short():
    day = date(1993, 1, 4)
    while day < date(2035, 1, 1):
        evening = datetime.combine(day, time(21), edgar.NEW_YORK)
        display = released.__wrapped__(evening, "8-K", None).at.astimezone(edgar.NEW_YORK).date()
        assert display - day <= days_unreleased(display) * DAY
        assert days_unreleased(day) <= MOST_DAYS_UNRELEASED
        day += DAY


@pytest.mark.parametrize(
    "day",
    [
        "1994-04-27", "2001-12-24", "2003-12-26", "2004-06-11", "2007-01-02", "2007-12-24", "2008-12-26", "2012-12-24",
        "2014-12-26", "2018-12-05", "2018-12-24", "2019-12-24", "2020-12-24", "2024-12-24", "2025-01-09", "2025-12-24",
        "2025-12-26",
    ],
)  # fmt: skip
def test_days_closed_by_order_are_not_business_days(day):
    assert not is_business_day(date.fromisoformat(day))
    assert len(SHUT_BY_ORDER) == 17


def test_federal_holidays_match_those_of_pandas():
    theirs = USFederalHolidayCalendar().holidays(date(edgar.FIRST_YEAR, 1, 1), date(edgar.LAST_YEAR, 12, 31))
    ours = set().union(*map(edgar._holidays, range(edgar.FIRST_YEAR, edgar.LAST_YEAR + 1)))
    assert {stamp.date() for stamp in theirs} == {day for day in ours if day.year <= edgar.LAST_YEAR}


def test_days_closed_by_order_are_weekdays_and_not_already_holidays():
    for day in SHUT_BY_ORDER:
        assert day.weekday() < 5
        assert not is_business_day(day)
        assert day not in edgar._holidays(day.year)


def test_beyond_the_calendar_only_weekends_are_closed():
    assert is_business_day(date(2200, 12, 25))
    assert is_business_day(date(2300, 12, 25)) == (date(2300, 12, 25).weekday() < 5)
    assert released(at("9998-12-31T21:00:00-05:00"), "8-K", None).at.year == 9999
