"""When an item was published: the later of two readings, and nothing where it can't be read."""

from datetime import date, datetime, timezone
from zoneinfo import ZoneInfo

import pytest

from pitlake.clock import iso
from pitlake.proxy.times import Undated, names_later_day, published, stray_instants

NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("spelled", "form", "zone", "instant"),
    [
        ("2024-02-15", "iso", None, "2024-02-16T05:00:00Z"),
        ("20240215", "iso", None, "2024-02-16T05:00:00Z"),
        ("2024-02-15", "iso", ZoneInfo("Asia/Tokyo"), "2024-02-15T15:00:00Z"),
        ("2024-02-15T10:00:00Z", "iso", None, "2024-02-15T10:00:00Z"),
        ("2024-02-15 10:00:00+01:00", "iso", None, "2024-02-15T09:00:00Z"),
        ("2024-02-15T10:00:00", "iso", NEW_YORK, "2024-02-15T15:00:00Z"),
        ("20240215T103000", "iso", NEW_YORK, "2024-02-15T15:30:00Z"),
        ("2024-02-15T10:00:00.1234561Z", "iso", None, "2024-02-15T10:00:00.123457Z"),
        ("2024-02-15T00:00:00", "iso", None, "2024-02-16T05:00:00Z"),
        ("2024-02-15T00:00:00Z", "iso", None, "2024-02-16T05:00:00Z"),  # the later of both ends
        ("2024-02-15T00:00:00-05:00", "iso", None, "2024-02-16T05:00:00Z"),
        ("2024-11-03T01:30:00", "iso", NEW_YORK, "2024-11-03T06:30:00Z"),
        ("2024-03-10T02:30:00", "iso", NEW_YORK, "2024-03-10T07:30:00Z"),
        ("Thu, 15 Feb 2024 10:00:00 GMT", "rfc2822", None, "2024-02-15T10:00:00Z"),
        (1708000000, "epoch", None, "2024-02-15T12:26:40Z"),
        (1708000000.25, "epoch", None, "2024-02-15T12:26:40.250000Z"),
        ("1708000000", "epoch", None, "2024-02-15T12:26:40Z"),
        (1708000000123, "epoch_ms", None, "2024-02-15T12:26:40.123000Z"),
        ("15.02.2024", "%d.%m.%Y", None, "2024-02-16T05:00:00Z"),
        ("15.02.2024 10:00", "%d.%m.%Y %H:%M", NEW_YORK, "2024-02-15T15:00:00Z"),
    ],
)
def test_a_time_is_read_as_the_later_instant(spelled, form, zone, instant):
    assert iso(published(spelled, form, zone)) == instant


@pytest.mark.parametrize(
    ("spelled", "form"),
    [
        ("2024-02-15T10:00:00", "iso"),  # no zone
        ("2024-02-30", "iso"),
        ("2024-02-15T25:00:00Z", "iso"),
        ("2024", "iso"),
        ("9999-12-31", "iso"),
        ("1970-01-01", "iso"),
        ("0001-01-01T00:00:00Z", "iso"),
        ("yesterday", "iso"),
        ("2 hours ago", "iso"),
        (None, "iso"),
        (True, "epoch"),
        (0, "epoch"),
        (1708000000123, "epoch"),  # milliseconds
        (1708000000, "epoch_ms"),  # seconds would be read as 1970
        (float("nan"), "epoch"),
        (["2024-02-15"], "iso"),
        ("15 Feb", "%d %b"),
        ("not a date", "rfc2822"),
    ],
)
def test_what_can_not_be_read_is_undated(spelled, form):
    with pytest.raises(Undated):
        published(spelled, form, None)


def test_an_item_states_times_at_any_depth_and_under_any_name():
    item = {
        "published": "2024-02-01",
        "thread": [{"x": {"said": "2024-02-03T10:00:00Z"}}],
        "modified_at": 1707134400,
        "volume": 1707134400,
        "note": "see 2024-02-20",
        "maturity": "2030-01-01",
        "Mon, 05 Feb 2024 10:00:00 GMT": 1,
    }
    instants = sorted(map(iso, stray_instants(item, None, frozenset({"maturity"}))))
    assert instants == [
        "2024-02-02T05:00:00Z",
        "2024-02-03T10:00:00Z",
        "2024-02-05T10:00:00Z",
        "2024-02-05T12:00:00Z",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "updated 2024-03-05", "Updated March 5, 2024", "5th of March 2024", "5-Mar-2024", "03/05/2024", "31/12/2024",
        "in April 2024", "https://e.org/2024/03/05/x", "img_20240305.png", "2024年3月5日", "２０２４-０３-０５",
        "Feb. 16, 2024",
    ],
)  # fmt: skip
def test_a_text_that_names_a_later_day_is_seen(text):
    assert names_later_day(text, date(2024, 2, 15))


@pytest.mark.parametrize(
    "text",
    ["", "calm", "15 February 2024", "2024-02-15", "marketing 2025", "revenue of 2025", "99/99/2024", "order 20249999"],
)
def test_a_text_that_names_no_later_day_passes(text):
    assert not names_later_day(text, datetime(2024, 2, 15, tzinfo=timezone.utc).date())
