"""Yahoo's earnings and ratings are never dated early, regardless of what their times of day mean."""

from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.external.yahoo import _dates
from pitlake.clock import NEW_YORK
from pitlake.errors import Unreadable

UTC = timezone.utc


MOMENTS = st.integers(946_684_800, 1_893_456_000).map(lambda second: datetime.fromtimestamp(second, UTC))
SPELLINGS = {
    "an instant in UTC": lambda truth: truth.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
    "an instant in New York": lambda truth: truth.astimezone(NEW_YORK).isoformat(sep=" "),
    "New York's clock called UTC": lambda truth: truth.astimezone(NEW_YORK).strftime("%Y-%m-%dT%H:%M:%SZ"),
    "New York's day as UTC midnight": lambda truth: truth.astimezone(NEW_YORK).strftime("%Y-%m-%dT00:00:00Z"),
    "that midnight shown in New York": lambda truth: datetime.combine(
        truth.astimezone(NEW_YORK).date(), datetime.min.time(), UTC
    ).astimezone(NEW_YORK).isoformat(sep=" "),
    "the day that midnight shows": lambda truth: (truth.astimezone(NEW_YORK).date() - timedelta(days=1)).isoformat(),
    "the day": lambda truth: truth.astimezone(NEW_YORK).date().isoformat(),
}  # fmt: skip


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS)
@settings(max_examples=150, deadline=None)
@given(MOMENTS)
def test_no_event_is_available_early_however_its_time_is_spelled(spelled, truth):
    text = spelled(truth)
    instant = _dates.of_text(text)
    bound = _dates.DAY_BOUND if len(text) == len("2024-01-01") else _dates.INSTANT_BOUND
    assert truth <= instant.available_at <= truth + bound


def test_times_without_a_time_zone_are_unreadable():
    for text in ("2024-07-18T22:00:00", "2024-07-18 22:00:00", "", None, 5, date(2024, 7, 18)):
        with pytest.raises(Unreadable):
            _dates.of_text(text)
