"""Stable names for records that have none in their source."""

from datetime import date, timedelta
from types import SimpleNamespace

import pytest

from assets.extraction import Row
from assets.feeds.naming import first_dated, name_rows
from pitlake.clock import instant

NAMING = first_dated(("ticker",), "day", moved_at_most=timedelta(days=10), step=timedelta(days=1))
NOON = instant("2024-06-01T16:00:00Z")


@pytest.mark.parametrize(
    ("days", "statements", "names"),
    [
        ([5, 9], [], [5, 9]),
        ([5, 9], [(4, 5)], [4, 9]),
        ([15], [(4, 5)], [4]),  # ten days later
        ([16], [(4, 5)], [16]),  # eleven days later
        ([7, 12], [(4, 5), (13, 13)], [4, 13]),
        ([12, 7], [(4, 5)], [12, 4]),  # the nearer of two days takes the name
        ([4, 30], [(4, 30)], [5, 4]),  # a name in use is not reused
        ([6, 6], [], [6, 6]),  # stated twice
    ],
)
def test_a_record_takes_the_name_of_the_nearest_statement_within_ten_days(days, statements, names):
    outcomes = [(Row({"ticker": "QBG", "day": date(2024, 3, day)}, NOON, f"{day}"), None) for day in days]
    in_lake = [{"ticker": "QBG", "first_stated": date(2024, 3, first), "day": date(2024, 3, day)}
               for first, day in statements]  # fmt: skip
    run = SimpleNamespace(statements=lambda *_: in_lake)
    results = name_rows(NAMING, SimpleNamespace(entity="ticker"), outcomes, run)
    assert [outcome.values["first_stated"].day for outcome, _ in results] == names
