"""Feeds of figures turn each response into dated rows, and into gaps with reasons."""

from datetime import date

import pytest

from assets.extraction import Gap, Row
from pitlake.errors import BadInput
from tests.answers import at, yahoo_events, yahoo_ratings


def dividend(**changes):
    return {
        "ticker": "QAU", "cash_amount": 0.5, "declaration_date": "2024-05-02", "ex_dividend_date": "2024-06-14",
        "dividend_type": "CD", "frequency": 4,
    } | changes  # fmt: skip


def of_all(*records):
    return {"results": list(records)}


def quarters(*changes):
    quarter = {"fiscalDateEnding": "2024-03-31", "reportedDate": "2024-04-25", "reportedEPS": "1.53"}
    return {"quarterlyEarnings": [quarter | each for each in changes], "annualEarnings": []}


HEAD, CALENDAR = "timestamp,open,high,low,close,volume\n", (
    "symbol,name,reportDate,fiscalDateEnding,estimate,currency,timeOfTheDay\n"
)  # fmt: skip
QACB, QAU, QBRY, FETCHED = {"tickers": ("QACB",)}, {"tickers": ("QAU",)}, {"tickers": ("QBRY",)}, at("2024-07-09T12:00")
WEEK, MONTH = (QAU | {"options": {"period": period}} for period in ("week", "month"))
SPRING = {"date_from": date(2024, 5, 1), "date_to": date(2024, 6, 1)}
JULY_8, DAY = f"{HEAD}2024-07-08,1,1,1,1,1", {"Time Series (Daily)": {"2024-07-08": {"1. open": "1"}}}
UNFINISHED, UNREADABLE, TWICE = "bar was unfinished when fetched", "the answer is unreadable", "stated twice"
OTHER, NO_DAY = "record is about another ticker", "event date is missing or unreadable"
RATING = {"epochGradeDate": 1720008011, "firm": "Harbor Lane", "toGrade": "Buy", "action": "up"}
SPLIT = {"ticker": "QBRY", "execution_date": "2024-06-10", "split_from": 1, "split_to": 10}
SPECIFIC, FIRST_IN = (
    {"open": 63.9, "high": 64.1, "low": 63.2, "close": 63.3, "volume": 11208700},
    "2024-07-25T20:00:00Z",
)
OPEN_QUOTES = {
    count: "".join(f"T{n},{chr(34) * (n == 1)}A NAME OF OURS,2024-07-25,2024-06-30,1.34,USD,\n" for n in range(count))
    for count in (3, 4000)  # the second exceeds the limit for one cell
}
TORN = "QACB,ACONBY INC,2024-07-25,2024-06-30,1.34,USD\n,NOBODY,2024-07-25,2024-06-30,,USD,\nQAU,AUBERNE"
CASES = {
    "daily bars are available at the close of their day": (
        "av_daily_bars", QACB, (), {},
        {0: {"available_at": at("2024-07-08T20:00"), "volume": 59100200}, 2: {"available_at": at("2024-07-03T17:00")}}),
    "bars as lines": ("av_daily_bars", QAU, (), {}, {0: SPECIFIC}),
    **{f"a bar is no row: {line}": ("av_daily_bars", QAU, (HEAD + line,), {}, None, [reason]) for line, reason in (
        *((f"{day},1,1,1,1,1", "no session on that day") for day in ("2024-07-04", "2025-01-09", "2924-01-24")),
        ("9999-12-31,1,1,1,1,1", "bar has no readable day"), ("2024-07-09,1,1,1,1,1", UNFINISHED),
        ("07/08/2024,1,1,1,1,1", "bar has no readable day"), ("2024-07-08,1,1,1,None,1", "close is unreadable"),
        ("2024-07-08,1,1,1", "close is unreadable"), ("2024-07-08,1,1,1,1,1.5", "volume is unreadable"))},
    **{f"a broken line swallows others: {broken!r}": (
        "av_daily_bars", QAU, (f"{JULY_8}\n{broken}\n2024-07-03,1,1,1,1,1\n",), {}, [{"date": date(2024, 7, 8)}],
        [UNREADABLE]) for broken in ('"2024-07-05,1,1,1,1,1', "2024-07-05,1,1,1,1,1,234", "2024-07-05,1\r1,1,1,1,1")},
    "a bar is unfinished while one clock says so": (
        "av_daily_bars", QAU, (JULY_8,), {"headers": {"date": "Mon, 08 Jul 2024 19:59:59 GMT"}}, [], [UNFINISHED]),
    "a bar is finished": (
        "av_daily_bars", QAU, (JULY_8,), {"headers": {"date": "Mon, 08 Jul 2024 20:00:00 GMT"}}, [{}], []),
    "bars in an unknown zone": (
        "av_daily_bars", QAU, ({"Meta Data": {"5. Time Zone": "UTC"}} | DAY,), {}, None,
        ["times are in an unknown zone"]),
    "bars of another symbol": (
        "av_daily_bars", QAU, ({"Meta Data": {"2. Symbol": "PEP"}} | DAY,), {}, None, [UNREADABLE]),
    "another month's answer states other prices of a bar": (
        "av_intraday_bars", QAU | SPRING, [f"{HEAD}2024-06-03 10:00:00,1,1,1,{close},5" for close in (1, 2)], {},
        [{"close": 1.0}], [TWICE]),
    **{f"the running period, called by {day} {scope['options']}": (
        "av_period_bars", scope, (f"{HEAD}{day},1,1,1,1,1",), {}, None,
        [UNFINISHED] * (day >= "2024-07-08" or scope is MONTH))
        for scope in (WEEK, MONTH) for day in ("2024-07-08", "2024-07-09", "2024-07-12", "2024-07-05", "2024-07-31")},
    "a period is unfinished until its last close": (
        "av_period_bars", QAU, (f"{HEAD}2024-07-05,1,1,1,1,1",),
        {"headers": {"date": "Fri, 05 Jul 2024 19:59:59 GMT"}}, [], [UNFINISHED]),
    "a period is finished": ("av_period_bars", QAU, (f"{HEAD}2024-07-05,1,1,1,1,1",),
                             {"headers": {"date": "Fri, 05 Jul 2024 20:00:00 GMT"}}, [{}], []),
    **{f"a period's bar is no row: {lines}": ("av_period_bars", QAU, (HEAD + lines,), {}, None, [reason])
       for lines, reason in (
        ("2024-07-03,1,1,1,1,1", "bar ends before its period's last session"),
        ("2024-07-05,1,1,1,1,1\n2024-07-03,1,1,1,2,1", TWICE), ("9999-12-31,1,1,1,1,1", "bar has no readable day"),
        ("9999-12-30,1,1,1,1,1", "no session in that period"), ("July,1,1,1,1,1", "bar has no readable day"),
        ("2024-07-05,1,1,1,,1", "close is unreadable"))},
    **{f"a broken quarter: {changes}": ("av_earnings", QACB, (quarters(changes),), {}, None, [reason])
       for changes, reason in (
        ({"fiscalDateEnding": None}, "no fiscal period end"),
        ({"fiscalDateEnding": "2024-05-31"}, "reported before its period ended"),
        ({"reportedEPS": "1,53x"}, "reported_eps is unreadable"), ({"surprise": ["0.1"]}, "surprise is unreadable"),
        ({"reportTime": 7}, "report_time is unreadable"), ({"reportedDate": "2026-04-25"}, "not public yet"),
        ({"reportedDate": "1970-01-01", "fiscalDateEnding": "1970-01-01"}, "no reported date"),
        ({"reportedDate": "2924-01-24"}, "not public yet"), ({"reportedDate": "9998-12-30"}, "not public yet"),
        ({"reportedDate": "9999-12-31"}, "no reported date"))},
    "a quarter stated twice keeps the first statement": (
        "av_earnings", QACB, (quarters({}, {}, {"reportedEPS": "9"}),), {}, [{"reported_eps": 1.53}] * 2, [TWICE]),
    "estimates are available when fetched and keep every column": (
        "av_estimates", QACB, (), {},
        [{"available_at": FETCHED}, {"available_at": FETCHED, "eps_estimate_average_90_days_ago": 1.3},
         {"available_at": FETCHED, "revenue_estimate_low": None, "horizon": "historical fiscal quarter"}]),
    "an estimate of another shape is no null": (
        "av_estimates", QACB,
        ({"estimates": [{"date": "2024-06-30", "horizon": "fiscal quarter", "eps_estimate_mean": "1.3"},
                        {"horizon": []}]},), {}, None, ["estimate lacks a figure", "no horizon"]),
    "the calendar is available when fetched": (
        "av_earnings_calendar", {}, (), {},
        [{"ticker": name, "estimate": figure, "available_at": FETCHED}
         for name, figure in (("QACB", 1.34), ("QAU", 0.81), ("QFH", None))]),
    **{f"a quote that is not closed swallows no line of {count}": (
        "av_earnings_calendar", {}, (CALENDAR + lines,), {}, [{"ticker": "T0"}], [UNREADABLE])
        for count, lines in OPEN_QUOTES.items()},
    "a torn line of the calendar": (
        "av_earnings_calendar", {}, (CALENDAR + TORN,), {}, None,
        ["line has missing or extra fields", "no symbol", "line has missing or extra fields"]),
    "a line of another company": (
        "av_earnings_calendar", QACB, (f"{CALENDAR}QAU,AUBERNE CO,2024-07-19,2024-06-30,0.81,USD,pre-market",), {},
        None, [OTHER]),
    "dividends keep every digit over pages": (
        "polygon_dividends", QAU, (), {},
        [{"cash_amount_text": "0.485", "available_at": at("2024-02-16T05:00"), "ex_dividend_date": date(2024, 3, 14),
          "ordinal": 0}, *({"cash_amount_text": text} for text in ("0.485", "0.48515625", "0.485"))],
        ["no declaration date"]),
    "pages left behind": ("polygon_dividends", QAU | {"max_pages": 1}, (), {}, None, ["more pages than asked for"]),
    "an older dividend keeps its ordinal when a newer one joins it": (
        "polygon_dividends", QAU, (of_all(dividend(cash_amount=0.1, declaration_date="2024-05-20"), dividend()),), {},
        [{"ordinal": 1, "cash_amount": 0.1}, {"ordinal": 0, "cash_amount": 0.5}]),
    "dividends of one day with different amounts have ordinals of their own": (
        "polygon_dividends", QAU, (of_all(*(dividend(cash_amount=amount) for amount in (0.7, 0.5, 0.7))),), {},
        [{"ordinal": 1, "cash_amount": 0.7}, {"ordinal": 0, "cash_amount": 0.5}, {"ordinal": 1, "cash_amount": 0.7}]),
    **{f"a dividend that cannot be read: {changes}": (
        "polygon_dividends", QAU, (of_all(dividend(**changes)),), {}, None, [reason]) for changes, reason in (
        ({"ticker": "PEP"}, OTHER), ({"ticker": None}, OTHER),
        *(({"declaration_date": text}, "no declaration date") for text in ("", 20240502, "1970-01-01", "0001-01-01")),
        ({"ex_dividend_date": "soon"}, "no ex-date"),
        *(({"cash_amount": amount}, "no amount") for amount in (None, -0.5, "much")),
        ({"frequency": "often"}, "frequency is unreadable"), ({"pay_date": "2024-02-30"}, "pay_date is unreadable"),
        ({"declaration_date": "2031-01-01"}, "not public yet"))},
    "a ticker in its own case": (
        "polygon_dividends", {"tickers": ("BACpK ",)}, (of_all(dividend(ticker="BACpK"), dividend(ticker="BACPK")),),
        {}, [{"ticker": "BACpK"}], [OTHER]),
    "a split is public when the first bar on its basis is": (
        "polygon_splits", QBRY, (), {},
        [{"available_at": at("2024-06-10T20:00"), "split_from": 1.0, "split_to": 10.0}]),
    "one split spelled in two ways is kept once": (
        "polygon_splits", QBRY, (of_all(SPLIT, SPLIT, SPLIT | {"split_to": 10.0, "id": "P2"}),), {}, [{}, {}],
        [TWICE]),
    **{f"a split that cannot be read: {changes}": (
        "polygon_splits", QBRY, (of_all(SPLIT | changes),), {}, None, [reason]) for changes, reason in (
        ({"split_to": 0}, "no ratio"), ({"split_from": "one"}, "no ratio"),
        ({"execution_date": None}, "no execution date"), ({"execution_date": "1970-01-01"}, "no execution date"),
        ({"execution_date": "2026-06-10"}, "not public yet"))},
    "reports are public at the end of their day, and appointments are not": (
        "yahoo_earnings", QACB, (), {},
        [{"event_date": date(2024, month, day), "available_at": at(public)} for month, day, public in (
            (7, 25, "2024-07-26T04:00"), (4, 26, "2024-04-27T04:00"), (1, 25, "2024-01-26T05:00"))],
        ["not public yet", "no reported figure"]),
    **{f"an event that cannot be read: {name}": ("yahoo_earnings", QACB, (answer,), {}, None, [reason])
       for name, answer, reason in (
        *((f"{text}", yahoo_events([text, 1, 1, 1]), NO_DAY)
          for text in ("2024-07-18 22:00:S", None, "1970-01-01T00:00:00Z", "0001-01-01")),
        ("a figure", yahoo_events([FIRST_IN, 1, "1.4x", 1]), "reported_eps is unreadable"),
        ("twice", yahoo_events([FIRST_IN, 1, 1, 1], ["2024-07-25T21:00:00Z", 1, 2, 1]), TWICE),
        ("short", yahoo_events([FIRST_IN, 1, 1]), UNREADABLE),
        ("columns", yahoo_events([FIRST_IN, 1], columns=("startdatetime", "eps")), UNREADABLE),
        ("another company", yahoo_events([FIRST_IN, 1, 1, "PEP"],
                                   columns=("startdatetime", "epsestimate", "epsactual", "ticker")), OTHER))},
    "ratings leave their own day out": (
        "yahoo_upgrades", QACB, (), {},
        {0: {"graded_at": at("2024-07-03T12:00:11"), "available_at": at("2024-07-04T04:00"),
             "current_price_target": 250.0},
         1: {"available_at": at("2024-07-04T04:00")}, 2: {"current_price_target": None}}),
    **{f"a rating that cannot be read: {changes}": (
        "yahoo_upgrades", QACB, (yahoo_ratings(RATING | changes),), {"observed_at": at("2025-12-31T20:00")}, None,
        [reason])
        for changes, reason in (
        *(({"epochGradeDate": when}, "grade date is missing or unreadable")
          for when in (None, 1, 10**20, "2024-07-03")),
        *(({"firm": name}, "no firm") for name in (" ", 7)), ({"toGrade": 7}, "to_grade is unreadable"),
        ({"currentPriceTarget": "high"}, "current_price_target is unreadable"),
        ({"epochGradeDate": 1767200000}, "not public yet"))},
}  # fmt: skip
"""Each case, by name: the feed, its scope, the bodies (if empty, bundled responses), options of the fetch, the rows in
order or by position, and optionally the reasons of the gaps."""


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_answer_becomes_the_expected_rows_and_gaps(answers, case):
    name, scope, bodies, how, due, *reasons = case
    outcomes = answers(name, **scope).outcomes(*bodies, **how)
    rows = [each.values | {"available_at": each.available_at} for each in outcomes if isinstance(each, Row)]
    if due is not None:
        assert isinstance(due, dict) or len(rows) == len(due)
        for place, columns in due.items() if isinstance(due, dict) else enumerate(due):
            assert {column: rows[place][column] for column in columns} == columns
    assert reasons in ([], [[each.reason for each in outcomes if isinstance(each, Gap)]])


@pytest.mark.parametrize(
    ("name", "scope", "message"),
    [
        ("av_period_bars", QAU | {"options": {"period": "quarter"}}, "week, month"),
        *((f"av_{kind}_bars", {"tickers": ("BRK.B", "VOD.LON")}, r"VOD\.LON")
          for kind in ("daily", "intraday", "period")),
        ("av_intraday_bars", QAU | {"date_from": date(2024, 5, 1)}, None),
        ("polygon_splits", {}, None),
    ],
)  # fmt: skip
def test_an_invalid_scope_is_refused_before_any_request(answers, name, scope, message):
    source = answers(name, **scope)
    with pytest.raises(BadInput, match=message):
        source.feed.units(source.scope)
