"""Yahoo's earnings and ratings: late rather than early, whatever its times of day mean."""

from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.external.yahoo import _dates
from pitlake.clock import NEW_YORK
from pitlake.errors import Unreadable

UTC = timezone.utc


def test_reports_are_public_at_the_end_of_their_day(answers):
    rows = answers("yahoo_earnings", tickers=("QACB",)).rows()
    assert [(row.values["event_date"].isoformat(), row.available_at.isoformat()) for row in rows] == [
        ("2024-07-25", "2024-07-26T04:00:00+00:00"),
        ("2024-04-26", "2024-04-27T04:00:00+00:00"),
        ("2024-01-25", "2024-01-26T05:00:00+00:00"),
    ]


def test_appointments_and_unreported_events_are_gaps(answers):
    reasons = answers("yahoo_earnings", tickers=("QACB",)).reasons()
    assert reasons == ["not public yet", "no reported figure"]


def table(*rows, columns=("startdatetime", "epsestimate", "epsactual", "epssurprisepct")):
    documents = [{"columns": [{"id": name} for name in columns], "rows": list(rows)}]
    return {"finance": {"result": [{"documents": documents}], "error": None}}


@pytest.mark.parametrize(
    ("answer", "reasons"),
    [
        (table(["2024-07-18 22:00:S", 1, 1, 1]), ["event date is missing or unreadable"]),
        (table([None, 1, 1, 1]), ["event date is missing or unreadable"]),
        (table(["1970-01-01T00:00:00Z", 1, 1, 1]), ["event date is missing or unreadable"]),
        (table(["0001-01-01", 1, 1, 1]), ["event date is missing or unreadable"]),
        (table(["2024-07-25T20:00:00Z", 1, "1.4x", 1]), ["reported_eps is unreadable"]),
        (table(["2024-07-25T20:00:00Z", 1, 1, 1], ["2024-07-25T21:00:00Z", 1, 2, 1]), ["stated twice"]),
        (table(["2024-07-25T20:00:00Z", 1, 1]), ["the answer is unreadable"]),
        (table(["2024-07-25T20:00:00Z", 1], columns=("startdatetime", "eps")), ["the answer is unreadable"]),
    ],
)
def test_what_cannot_be_read_is_a_gap(answers, answer, reasons):
    assert answers("yahoo_earnings", tickers=("QACB",)).reasons(answer) == reasons


def test_an_event_of_another_company_is_a_gap(answers):
    answer = table(
        ["2024-07-25T20:00:00Z", 1, 1, "PEP"], columns=("startdatetime", "epsestimate", "epsactual", "ticker")
    )
    assert answers("yahoo_earnings", tickers=("QACB",)).reasons(answer) == ["record is about another ticker"]


def test_ratings_leave_their_own_day_out(answers):
    rows = answers("yahoo_upgrades", tickers=("QACB",)).rows()
    assert rows[0].values["graded_at"] == datetime(2024, 7, 3, 12, 0, 11, tzinfo=UTC)
    assert rows[0].available_at == datetime(2024, 7, 4, 4, tzinfo=UTC)
    assert rows[1].available_at == datetime(2024, 7, 4, 4, tzinfo=UTC), "its UTC day is the later one"
    assert (rows[0].values["current_price_target"], rows[2].values["current_price_target"]) == (250.0, None)


def rating(**changes):
    history = [{"epochGradeDate": 1720008011, "firm": "Harbor Lane", "toGrade": "Buy", "action": "up"} | changes]
    return {"quoteSummary": {"result": [{"upgradeDowngradeHistory": {"history": history}}], "error": None}}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"epochGradeDate": None}, "grade date is missing or unreadable"),
        ({"epochGradeDate": 1}, "grade date is missing or unreadable"),
        ({"epochGradeDate": 10**20}, "grade date is missing or unreadable"),
        ({"epochGradeDate": "2024-07-03"}, "grade date is missing or unreadable"),
        ({"firm": " "}, "no firm"),
        ({"firm": 7}, "no firm"),
        ({"toGrade": 7}, "to_grade is unreadable"),
        ({"currentPriceTarget": "high"}, "current_price_target is unreadable"),
        ({"epochGradeDate": 1767200000}, "not public yet"),
    ],
)
def test_a_rating_that_cannot_be_read_is_a_gap(answers, changes, reason):
    upgrades = answers("yahoo_upgrades", tickers=("QACB",))
    assert upgrades.reasons(rating(**changes), observed_at=datetime(2025, 12, 31, 20, tzinfo=UTC)) == [reason]


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
def test_no_event_is_early_however_its_time_is_spelled(spelled, truth):
    text = spelled(truth)
    instant = _dates.of_text(text)
    bound = _dates.DAY_BOUND if len(text) == len("2024-01-01") else _dates.INSTANT_BOUND
    assert truth <= instant.available_at <= truth + bound


def test_times_of_the_asking_machine_are_unreadable():
    for text in ("2024-07-18T22:00:00", "2024-07-18 22:00:00", "", None, 5, date(2024, 7, 18)):
        with pytest.raises(Unreadable):
            _dates.of_text(text)
