"""A caller's ticker is resolved to the company that had it, and the answer says if hindsight was used."""

from datetime import date

import pytest

from pitlake.questions.tickers import Tickers
from pitlake.session import connect
from tests.derived.conftest import CIK, OTHER, ticker, utc

BEFORE, LATER = utc("2021-06-01T16:00:00-04:00"), utc("2025-06-02T12:00:00+00:00")


@pytest.mark.parametrize(
    ("asked_for", "as_of", "cik", "hindsight"),
    [
        ("OLD", BEFORE, CIK, False),  # the company's ticker at the time
        ("old", BEFORE, CIK, False),
        ("LATE", BEFORE, CIK, True),  # today's ticker of a company that had a different ticker then
        ("LATE", LATER, CIK, False),
        ("OLD", LATER, OTHER, False),  # since reassigned to another company
        ("OLD", None, OTHER, False),
        ("OLDB", BEFORE, CIK, False),  # one CIK, several share classes
        ("OLD", utc("2004-01-01T00:00:00Z"), OTHER, True),  # no company had it yet, so today's company
        ("NOBODY", BEFORE, None, False),
    ],
)
def test_a_ticker_resolves_to_the_company_that_had_it_and_hindsight_is_noted(
    lake, put, asked_for, as_of, cik, hindsight
):
    put(
        "names",
        ticker(CIK, ["OLD", "OLDB"], utc("2012-05-18T00:00:00Z"), "dei"),
        ticker(CIK, ["LATE"], utc("2022-06-09T00:00:00Z")),
        ticker(OTHER, ["OLD"], utc("2024-01-01T00:00:00Z")),
    )
    tickers = Tickers(lake.snapshot())
    company = tickers.resolve(asked_for, as_of)
    assert company.ciks == ((cik,) if cik else ())
    assert ("hindsight" in "".join(company.notes)) == hindsight
    assert ("; not " in "".join(company.notes)) == (asked_for == "OLD" and hindsight)
    public = Tickers(lake.snapshot(), as_of)
    assert public.resolve(asked_for, as_of).ciks == (() if hindsight else company.ciks)


STATED = ticker(CIK, ["ABC"], utc("2020-01-02T00:00:00Z"))
TAKEN = ticker(OTHER, ["ABC"], utc("2022-01-03T00:00:00Z"))
AGAIN = ticker(CIK, ["ABC"], utc("2021-12-01T00:00:00Z"))
LOST = ticker(CIK, [], utc("2020-06-01T00:00:00Z"))
UNPROVEN = "ABC: rows that bear ABC after 2020-01-02T00:00:00Z, stated {} days before, are read with hindsight"


@pytest.mark.parametrize(
    ("statements", "as_of", "days"),
    [
        ([STATED, TAKEN], "2021-07-01T00:00:00Z", 546),
        ([STATED, LOST, TAKEN], "2021-07-01T00:00:00Z", 546),
        ([STATED, LOST], "2021-07-01T00:00:00Z", 546),
        ([STATED], "2020-01-05T00:00:00Z", 3),
        ([STATED], "2020-01-02T21:00:00Z", None),
        ([STATED, AGAIN, TAKEN], "2021-07-01T00:00:00Z", None),
    ],
)
def test_bars_after_the_last_statement_of_a_ticker_are_read_with_hindsight(lake, put, statements, as_of, days):
    put("names", *statements)
    bar = {"ticker": "ABC", "date": date(2020, 1, 2), "close": 10.0, "available_at": utc("2020-01-02T21:00:00Z")}
    put("av_daily_bars", bar, bar | {"date": date(2021, 6, 1), "available_at": utc("2021-06-01T20:00:00Z")})
    with connect(as_of, lake=lake) as session:
        assert session.run("entity_latest_price", ticker="ABC").notes == ((UNPROVEN.format(days),) if days else ())
    with connect(as_of, lake=lake) as session:
        oldest = session.run("names_of_company", ticker="ABC").arrow().to_pylist()[-1]
    assert oldest["age_days"] == (utc(as_of).date() - date(2020, 1, 2)).days


@pytest.mark.parametrize("has_name", [True, False])
@pytest.mark.parametrize("asked_for", ["ABC-B", "abc.b"])
def test_a_share_class_is_searched_for_in_both_spellings(lake, put, has_name, asked_for):
    put("names", *[ticker(CIK, ["ABC-B"], utc("2020-01-02T00:00:00Z"))] * has_name)
    company = Tickers(lake.snapshot()).resolve(asked_for, BEFORE)
    assert {part.partition("/")[0] for part in company.company.split()} - {CIK} == {"ABC-B", "ABC.B"}
