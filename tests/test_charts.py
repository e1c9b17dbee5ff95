"""Charts are well-formed, show their numbers, and end at their instant."""

import re
from datetime import date, datetime, timedelta, timezone
from xml.etree import ElementTree as ET

import pytest

from pitlake.bars import Bar, bar_chart
from pitlake.charts import (
    FULL_WIDTH,
    HALF_WIDTH,
    LONG_LABELS,
    SQUARE,
    TICKS,
    ForecastBand,
    Level,
    day_text,
    line_chart,
    number_text,
    reliability_chart,
    slider_marks,
    sparkline,
    ticks,
    vintage_chart,
)

T = datetime(2024, 5, 22, 20, 30, tzinfo=timezone.utc)
DAYS = [(date(2024, 1, 2) + timedelta(days=number), 50.0 + number) for number in range(90)]
HOSTILE = "<b>\"&'"


def drawn(chart):
    return ET.fromstring(chart)


def positions(chart, css):
    """Return the horizontal positions of the vertical lines of a CSS class."""
    return [float(line.get("x1")) for line in drawn(chart).iter("line") if line.get("class") == css]


@pytest.mark.parametrize(
    "charts",
    [
        [sparkline([1, 3, 2], HOSTILE)],
        line_chart(DAYS, T, FULL_WIDTH, HOSTILE, levels=[Level(HOSTILE, 60.0, "good")], events=[T], compared_with=T),
        line_chart([(T - timedelta(days=900), 1.5), (T, 0.0)], T, HALF_WIDTH, HOSTILE, stepped=True),
        vintage_chart([(day, T - timedelta(days=9), value) for day, value in DAYS], DAYS[5][0], T, LONG_LABELS),
        reliability_chart(
            [ForecastBand(0.3, 0.5, 0.4, 0.6, 0.2, 0.4), ForecastBand(0.8, 0.8, 0.7, 0.9, 0.7, 0.9)], SQUARE
        ),
        [bar_chart([Bar(HOSTILE, [("rows", 3)])], HOSTILE), bar_chart([Bar(HOSTILE, [("", 3)])], HOSTILE, lying=True)],
        [slider_marks(date(2024, 1, 1), date(2024, 12, 31), T, [T])],
    ],
    ids=["sparkline", "line", "steps", "vintages", "reliability", "bars", "slider"],
)
def test_every_chart_is_well_formed_and_lies_within_its_size(charts):
    for chart in charts:
        svg = drawn(chart)
        assert chart.__html__() == chart
        width, height = [float(size) for size in svg.get("viewBox", "0 0 1e9 1e9").split()[2:]]
        for shape in svg.iter():
            for name, size in (
                ("x", width),
                ("x1", width),
                ("cx", width),
                ("y", height),
                ("y1", height),
                ("cy", height),
            ):
                assert 0 <= float(shape.get(name, 0)) <= size
            corners = [corner.split(",") for corner in shape.get("points", "").split()]
            assert [c for c in corners if not (0 <= float(c[0]) <= width and 0 <= float(c[1]) <= height)] == []


def test_charts_of_too_few_values_are_empty():
    assert not sparkline([1.0], "one value")
    assert not any(line_chart([], T, FULL_WIDTH, "none"))
    assert not any(vintage_chart([], T.date(), T, LONG_LABELS))
    assert not any(reliability_chart([], SQUARE))
    assert not list(drawn(bar_chart([], "none")))


def test_a_line_chart_ends_at_its_as_of_and_its_label_states_the_values():
    wide, narrow = line_chart(DAYS, T, FULL_WIDTH, "Closes", levels=[Level("stop", 40.0, "bad")])
    assert positions(wide, "k-t") == [FULL_WIDTH[0].width - FULL_WIDTH[0].right]
    assert drawn(wide).get("aria-label") == (
        "Closes from 2 Jan 2024 to 31 Mar 2024: first 50, lowest 50, highest 139, last 139, stop 40. It ends at T."
    )
    assert [drawn(chart).get("class") for chart in (wide, narrow)] == ["plot wide", "plot narrow"]


def test_steps_hold_a_value_until_the_next_one_and_the_last_until_t():
    before = T - timedelta(days=10)
    chart = line_chart([(before, 1.0), (before + timedelta(days=5), 3.0)], T, HALF_WIDTH, "Value", stepped=True)[0]
    line = next(drawn(chart).iter("polyline")).get("points")
    (x1, y1), (x2, y2), (x3, y3), (x4, y4) = ([float(part) for part in corner.split(",")] for corner in line.split())
    assert (y1, x2, y3) == (y2, x3, y4)
    assert x1 < x2 < x4 == positions(chart, "k-t")[0]
    assert y3 < y1


def test_a_vintage_that_repeats_the_previous_value_has_a_hollow_dot():
    day = date(2024, 3, 31)
    rows = [(day, T - timedelta(days=9 - number), value) for number, value in enumerate((5.0, 5.0, 6.0))]
    dots = [dot.get("class") for dot in drawn(vintage_chart(rows, day, T, LONG_LABELS)[0]).iter("circle")]
    assert dots == ["k-dot t", "k-dot hollow", "k-dot t"]


def test_days_after_t_are_dashed_with_hollow_dots_beyond_the_line_at_t():
    ahead = [(T.date() + timedelta(days=days), 7.0 + days) for days in (30, 60)]
    chart = line_chart([*DAYS, *ahead], T, FULL_WIDTH, "Estimates")[0]
    assert [line.get("class") for line in drawn(chart).iter("polyline")] == ["k-line", "k-line alt"]
    dots = [(dot.get("class"), float(dot.get("cx"))) for dot in drawn(chart).iter("circle")]
    (line,) = positions(chart, "k-t")
    assert [css for css, _ in dots] == ["k-dot t", "k-dot hollow", "k-dot hollow"]
    assert dots[0][1] <= line < dots[1][1] < dots[2][1] == FULL_WIDTH[0].x(1)
    assert drawn(chart).get("aria-label").endswith("2 of them are about days after T.")
    whole = line_chart(ahead, T, FULL_WIDTH, "Estimates")[0]
    assert positions(whole, "k-t") == [FULL_WIDTH[0].with_room_for([30.0]).x(0)]


def test_new_values_are_labelled_beside_their_dots_unless_they_would_overlap():
    day = date(2024, 3, 31)
    rows = [(day, T - timedelta(days=days), value) for days, value in ((90, 5.0), (60, 5.0), (30, 6.0), (29, 7.0))]
    texts = [text.text for text in drawn(vintage_chart(rows, day, T, LONG_LABELS)[1]).iter("text")]
    assert [text for text in texts if text in "567"] == ["7", "5"]


def test_slider_marks_do_not_change_with_events_after_t():
    year = date(2024, 1, 1), date(2024, 12, 31)
    marks = slider_marks(*year, T, [T - timedelta(days=9), T])
    assert marks == slider_marks(*year, T, [T - timedelta(days=9), T, T + timedelta(days=1)])
    assert marks.count("k-mark") == 2


def test_the_parts_of_a_bar_are_stacked():
    chart = bar_chart([Bar("2024-01", (("rows", 30), ("revisions", 10))), Bar("<2>", (("rows", 20),))], "Rows & more")
    rects = [(r.get("class"), float(r.get("y")), float(r.get("height"))) for r in drawn(chart).iter("rect")]
    assert rects == [("rows", 25, 75), ("revisions", 0, 25), ("rows", 50, 50)]
    assert [title.text for title in drawn(chart).iter("title")] == ["2024-01: 30 rows, 10 revisions", "<2>: 20 rows"]


@pytest.mark.parametrize(
    ("low", "high"),
    [(105.0, 105.0), (0.0, 0.0), (-3.0, 2.0), (1e9, 1.1e12), (0.01, 0.02), (-5.0, -5.0), (0, 4e-9), (0, 40), (0, 39.9)],
)
def test_axis_ticks_enclose_the_values_and_stay_few(low, high):
    marks = ticks(low, high)
    assert marks[0] <= low
    assert marks[-1] >= high
    assert 2 <= len(marks) <= 2 * TICKS


def test_a_long_value_has_room_beside_its_chart():
    points = [(T - timedelta(days=9), 26_044e6), (T, 26_100e6)]
    for chart in line_chart(points, T, HALF_WIDTH, "Revenue", stepped=True):
        values = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="end">([\d,. m]+)</text>', chart)
        assert values
        assert [value for x, value in values if float(x) < 6 * len(value)] == []


def test_numbers_and_days_are_formatted_for_people():
    texts = [number_text(value) for value in (26_044e6, 1.5, 1234.56789, 3, True, None)]
    assert texts == ["26,044 m", "1.50", "1,234.5679", "3", "True", "None"]
    assert (day_text(date(2024, 3, 4)), day_text(None)) == ("4 Mar 2024", "")
