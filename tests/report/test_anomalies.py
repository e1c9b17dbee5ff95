"""Volume anomalies: a day is compared with earlier days of its weekday, except on holidays of the exchange."""

from datetime import date, timedelta

from pitlake.report.anomalies import anomalies
from tests.every import every

MONDAY = date(2024, 1, 8)


def steady(rows=100, weeks=14):
    """Return this many rows on each weekday of some weeks."""
    days = (MONDAY + timedelta(days=offset) for offset in range(7 * weeks))
    return {day: rows for day in days if day.weekday() < 5}


def test_a_steady_dataset_has_no_anomalies():
    assert anomalies(steady()) == ()
    assert anomalies({}) == ()


def test_a_flood_and_a_drought_are_found_newest_first():
    days = steady() | {date(2024, 3, 5): 300, date(2024, 3, 20): 5}
    result = [(anomaly.day, anomaly.rows, anomaly.usual, anomaly.score > 0) for anomaly in anomalies(days)]
    assert result == [(date(2024, 3, 20), 5, 100, False), (date(2024, 3, 5), 300, 100, True)]


def test_a_missing_day_is_found_but_not_a_holiday():
    days = steady()
    del days[date(2024, 3, 29)]  # Good Friday
    del days[date(2024, 3, 27)]
    assert [anomaly.day for anomaly in anomalies(days)] == [date(2024, 3, 27)]


def test_a_short_history_or_small_numbers_give_no_anomalies():
    early = MONDAY + timedelta(weeks=3)
    assert anomalies(steady(weeks=5) | {early: 900}) == ()
    assert anomalies(steady(rows=1) | {date(2024, 3, 5): 10}) == ()
    assert anomalies(steady(rows=1) | {date(2024, 3, 5): 11})


def test_a_dataset_with_high_variance_has_no_anomalies():
    days = {day: 100 if place % 2 else 400 for place, day in enumerate(steady(weeks=20))}
    assert anomalies(days) == ()


def test_old_days_are_never_reported_as_anomalies():
    days = {day - timedelta(weeks=52 * 5): rows for day, rows in steady().items()} | steady()
    assert every(anomaly.day > date(2021, 1, 1) for anomaly in anomalies(days | {date(2019, 3, 5): 900}))
