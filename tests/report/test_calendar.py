"""The shades of the report's calendar follow the numbers, and its texts are readable."""

from datetime import date
from xml.etree import ElementTree as ET

import pytest

from pitlake.report.calendar import calendars, shade_bounds
from pitlake.report.measures import Day
from pitlake.report.site import age, code, percent, span


def drawn(picture):
    return ET.fromstring(str(picture))


def test_a_calendar_has_a_cell_per_day_that_is_darker_for_more_rows():
    days = {date(2024, 1, day): Day(day) for day in range(1, 11)} | {date(2024, 2, 29): Day(0, 0, {"no_data": 2})}
    [(year, picture)] = calendars(days)
    cells = [cell for cell in drawn(picture).iter("rect") if cell.get("class") != "none"]
    shades = [cell.get("class") for cell in cells]
    assert year == 2024
    assert shades == ["s1", "s1", "s2", "s2", "s3", "s3", "s4", "s4", "s5", "s5", "s0 gap"]
    assert [cell.find("title").text for cell in (cells[0], cells[-1])] == [
        "Mon 01 Jan 2024: 1 rows", "Thu 29 Feb 2024: 0 rows, 2 no data",
    ]  # fmt: skip


def test_days_of_the_same_volume_share_a_shade():
    assert shade_bounds([7, 7, 7]) == [7]
    assert shade_bounds([]) == []


def test_a_calendar_shows_the_newest_years():
    days = {date(year, 1, 1): Day(1) for year in range(1990, 2025)}
    assert [year for year, _ in calendars(days)] == [2024, 2023, 2022, 2021, 2020, 2019]
    assert calendars({}) == []


@pytest.mark.parametrize(("share", "text"), [(0, "0.0 %"), (0.0004, "< 0.1 %"), (0.9996, "> 99.9 %"), (0.25, "25.0 %")])
def test_shares_are_never_rounded_to_nothing_or_all(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(("seconds", "text"), [(5, "5.0 s"), (150, "2.5 minutes"), (86_400, "24.0 hours")])
def test_durations_are_shown_in_a_readable_unit(seconds, text):
    assert span(seconds) == text


def test_a_missing_instant_is_shown_as_never():
    assert age(None, None) == "never"


def test_texts_of_contracts_are_escaped():
    assert str(code("a `b<` <c>")) == "a <code>b&lt;</code> &lt;c&gt;"
