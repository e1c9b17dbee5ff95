"""Dividends and splits of Polygon: exact, page by page, dated by the end of their day."""

from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.feeds import dating
from pipelines.fetch import asking, operations
from pitlake.clock import NEW_YORK
from pitlake.errors import BadInput

UTC = timezone.utc


def test_dividends_keep_every_digit_over_pages(answers):
    outcomes = answers("polygon_dividends", tickers=("QAU",)).outcomes()
    amounts = [outcome.values["cash_amount_text"] for outcome in outcomes if hasattr(outcome, "values")]
    assert amounts == ["0.485", "0.485", "0.48515625", "0.485"]
    assert [outcome.reason for outcome in outcomes if hasattr(outcome, "reason")] == ["no declaration date"]


def test_a_dividend_is_public_at_the_end_of_its_declaration_day(answers):
    first = answers("polygon_dividends", tickers=("QAU",)).rows()[0]
    assert first.available_at == datetime(2024, 2, 16, 5, tzinfo=UTC)
    assert (first.values["ex_dividend_date"], first.values["ordinal"]) == (date(2024, 3, 14), 0)


def test_pages_left_behind_are_a_gap(answers):
    reasons = answers("polygon_dividends", tickers=("QAU",), max_pages=1).reasons()
    assert reasons == ["more pages than asked for"]


def dividend(**changes):
    return {
        "ticker": "QAU", "cash_amount": 0.5, "declaration_date": "2024-05-02", "ex_dividend_date": "2024-06-14",
        "dividend_type": "CD", "frequency": 4,
    } | changes  # fmt: skip


def unproven(_ticker, _after, _until):
    return None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("recurring", "CD"), ("special", "SC"), ("supplemental", "SC"), ("irregular", "UNKNOWN"), (None, "UNKNOWN")],
)
def test_an_amount_stated_as_paid_keeps_its_date_whatever_splits_follow(answers, kind, expected):
    newer = dividend(distribution_type=kind, split_adjusted_cash_amount=0.125, historical_adjustment_factor=0.98)
    del newer["dividend_type"]
    feed = answers("polygon_dividends", tickers=("QAU",), options={"version": "v1"})
    [row] = feed.rows({"results": [newer]}, splits=unproven)
    assert row.available_at == datetime(2024, 5, 3, 4, tzinfo=UTC)
    assert (row.values["cash_amount"], row.values["dividend_type"]) == (0.5, expected)
    [older] = answers("polygon_dividends", tickers=("QAU",)).rows({"results": [dividend()]}, splits=unproven)
    assert older.available_at > row.available_at


def test_a_version_selects_the_list(answers):
    paths = []

    def fetch(request):
        paths.append(request.path)
        raise StopIteration

    for version in ("v3", "v1"):
        feed = answers("polygon_splits", tickers=("QAU",), options={"version": version})
        with pytest.raises(RuntimeError):
            list(feed.feed.collect(feed.feed.units(feed.scope)[0], fetch))
    assert paths == ["/v3/reference/splits", "/stocks/v1/splits"]
    feed = answers("polygon_splits", tickers=("QAU",), options={"version": "v2"})
    with pytest.raises(BadInput, match="there is no version 'v2'; choose from v3, v1"):
        list(feed.feed.collect(feed.feed.units(feed.scope)[0], fetch))


def test_an_older_dividend_keeps_its_ordinal_when_a_newer_one_joins_it(answers):
    results = [dividend(cash_amount=0.1, declaration_date="2024-05-20"), dividend(cash_amount=0.5)]
    rows = answers("polygon_dividends", tickers=("QAU",)).rows({"results": results})
    assert [(row.values["ordinal"], row.values["cash_amount"]) for row in rows] == [(1, 0.1), (0, 0.5)]


def test_one_split_spelled_in_two_ways_is_kept_once(answers):
    split = {"ticker": "QBRY", "execution_date": "2024-06-10", "split_from": 1, "split_to": 10}
    splits = answers("polygon_splits", tickers=("QBRY",))
    answer = {"results": [split, split, split | {"split_to": 10.0, "id": "P2"}]}
    assert (len(splits.rows(answer)), splits.reasons(answer)) == (2, ["stated twice"])


def test_dividends_of_one_day_are_told_apart_by_amount(answers):
    results = [dividend(cash_amount=0.7), dividend(cash_amount=0.5), dividend(cash_amount=0.7)]
    rows = answers("polygon_dividends", tickers=("QAU",)).rows({"results": results})
    assert [(row.values["ordinal"], row.values["cash_amount"]) for row in rows] == [(1, 0.7), (0, 0.5), (1, 0.7)]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ticker": "PEP"}, "record is about another ticker"),
        ({"ticker": None}, "record is about another ticker"),
        ({"declaration_date": ""}, "no declaration date"),
        ({"declaration_date": 20240502}, "no declaration date"),
        ({"declaration_date": "1970-01-01"}, "no declaration date"),
        ({"declaration_date": "0001-01-01"}, "no declaration date"),
        ({"ex_dividend_date": "soon"}, "no ex-date"),
        ({"cash_amount": None}, "no amount"),
        ({"cash_amount": -0.5}, "no amount"),
        ({"cash_amount": "much"}, "no amount"),
        ({"frequency": "often"}, "frequency is unreadable"),
        ({"pay_date": "2024-02-30"}, "pay_date is unreadable"),
        ({"declaration_date": "2031-01-01"}, "not public yet"),
    ],
)
def test_a_dividend_that_cannot_be_read_is_a_gap(answers, changes, reason):
    assert answers("polygon_dividends", tickers=("QAU",)).reasons({"results": [dividend(**changes)]}) == [reason]


def test_a_split_is_public_when_the_first_bar_on_its_basis_is(answers):
    [split] = answers("polygon_splits", tickers=("QBRY",)).rows()
    assert split.available_at == datetime(2024, 6, 10, 20, tzinfo=UTC)
    assert (split.values["split_from"], split.values["split_to"]) == (1.0, 10.0)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"split_to": 0}, "no ratio"),
        ({"split_from": "one"}, "no ratio"),
        ({"execution_date": None}, "no execution date"),
        ({"execution_date": "1970-01-01"}, "no execution date"),
        ({"execution_date": "2026-06-10"}, "not public yet"),
    ],
)
def test_a_split_that_cannot_be_read_is_a_gap(answers, changes, reason):
    split = {"ticker": "QBRY", "execution_date": "2024-06-10", "split_from": 1, "split_to": 10} | changes
    assert answers("polygon_splits", tickers=("QBRY",)).reasons({"results": [split]}) == [reason]


def test_a_ticker_is_asked_for_in_its_own_case(answers):
    preferred = answers("polygon_dividends", tickers=("BACpK ",))
    assert [unit.name for unit in preferred.feed.units(preferred.scope)] == ["BACpK"]
    answer = {"results": [dividend(ticker="BACpK"), dividend(ticker="BACPK")]}
    assert [row.values["ticker"] for row in preferred.rows(answer)] == ["BACpK"]
    assert preferred.reasons(answer) == ["record is about another ticker"]


@pytest.mark.parametrize(
    ("source", "symbol", "requested"),
    [
        ("polygon", "BACpK", "BACpK"),
        ("massive", "BACpK", "BACpK"),
        ("polygon", "qau", "QAU"),
        ("yahoo", "brk-b", "BRK-B"),
        ("alphavantage", "BACpK", "BACPK"),
    ],
)
def test_only_polygon_s_symbols_keep_their_case(source, symbol, requested):
    op = {"yahoo": "earnings", "alphavantage": "earnings"}.get(source, "dividends")
    for names in ({"symbol": symbol}, {"tickers": symbol}):
        question = asking.read({"source": source, "op": op, **names})
        assert operations.operation(question).scope(question).tickers == (requested,)


def test_a_scope_names_tickers_or_days(answers):
    splits = answers("polygon_splits")
    with pytest.raises(BadInput):
        splits.feed.units(splits.scope)


@settings(max_examples=300, deadline=None)
@given(st.integers(946_684_800, 1_893_456_000))
def test_no_day_is_early(second):
    truth = datetime.fromtimestamp(second, UTC)
    day = truth.astimezone(NEW_YORK).date()
    instant = dating.end_of_day_text(day.isoformat())
    assert truth < instant <= truth + dating.DATE_ONLY_BOUND
    assert instant - timedelta(microseconds=1) < dating.end_of_day(day + timedelta(days=1))
