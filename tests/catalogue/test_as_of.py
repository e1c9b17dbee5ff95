"""Joins as of an instant, compared with a slow computation of the rule: the newest period known then, in its last
statement.
"""

import json
from datetime import date, datetime, timedelta, timezone

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pitlake.errors import BadInput

START = datetime(2024, 1, 1, tzinfo=timezone.utc)
CONCEPTS = ("a:One", "a:Two")


def at(hours):
    return (START + timedelta(hours=hours)).isoformat().replace("+00:00", "Z")


def fact(hours, quarter, value, ticker="QBG", concept="a:One", months=3, accession="acc"):
    end = date(2023, 3, 31) + timedelta(days=91 * quarter)
    return {
        "accession_no": accession, "form_type": "10-Q", "cik": ticker, "ticker": ticker, "concept": concept,
        "unit": "USD", "period_type": "duration",
        "period_start": (end - timedelta(days=int(months * 30.4375) - 1)).isoformat(), "period_end": end.isoformat(),
        "value_number": float(value), "is_numeric": True, "available_at": at(hours),
    }  # fmt: skip


def bar(hours, day, close, symbol="QBG", entity="1"):
    day_of = (date(2023, 12, 1) + timedelta(days=day)).isoformat()
    place = {"entity_kind": "company", "entity_id": entity, "symbol": symbol}
    return place | {"date": day_of, "close": float(close), "available_at": at(hours)}


def newest(rows, hours, period):
    """Return the newest period among the rows public by then, in its last statement; None without rows."""
    existing = [row for row in rows if row["available_at"] <= at(hours)]
    if not existing:
        return None
    return max(
        (row for row in existing if row[period] == max(r[period] for r in existing)), key=lambda r: r["available_at"]
    )


FACTS = st.lists(
    st.builds(
        fact,
        hours=st.integers(0, 20),
        quarter=st.integers(0, 2),
        value=st.integers(1, 99),
        ticker=st.sampled_from(["QBG", "QZP"]),
        concept=st.sampled_from(CONCEPTS),
    ),
    max_size=12,
    unique_by=lambda row: (row["ticker"], row["concept"], row["available_at"]),
)
BARS = st.lists(
    st.builds(
        bar, hours=st.integers(0, 20), day=st.integers(0, 4), close=st.integers(1, 99), symbol=st.sampled_from("AB")
    ),
    max_size=12,
    unique_by=lambda row: (row["symbol"], row["available_at"]),
)
SLOWLY = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@SLOWLY
@given(
    facts=FACTS, asked=st.lists(st.tuples(st.sampled_from(["QBG", "QZP"]), st.integers(0, 22)), min_size=1, max_size=4)
)
def test_facts_as_of_an_event_are_of_the_newest_period_known(world, facts, asked):
    outcome = world(datasets=["xbrl_facts", "sec_facts"], xbrl_facts=facts)
    pairs = [(ticker, at(hours)) for ticker, hours in asked]
    result = outcome.run("facts_as_of_event", pairs=pairs, concepts=list(CONCEPTS))
    expected = []
    for ticker, hours in asked:
        for concept in CONCEPTS:
            series = [row for row in facts if (row["ticker"], row["concept"]) == (ticker, concept)]
            if best := newest(series, hours, "period_end"):
                expected.append((ticker, concept, best["value_number"], best["period_end"]))
    assert [(r["ticker"], r["concept_qname"], r["value"], str(r["period_end"])) for r in result] == expected


@SLOWLY
@given(bars=BARS, asked=st.lists(st.tuples(st.sampled_from("AB"), st.integers(0, 22)), min_size=1, max_size=4))
def test_prices_as_of_an_event_are_of_the_newest_day_known(world, bars, asked):
    outcome = world(datasets=["prices", "own_bars", "av_daily_bars", "splits", "polygon_splits"], prices=bars)
    result = outcome.run("prices_as_of_event", pairs=[(symbol, at(hours)) for symbol, hours in asked])
    best = [newest([row for row in bars if row["symbol"] == symbol], hours, "date") for symbol, hours in asked]
    assert [row["close"] for row in result] == [each and each["close"] for each in best]
    assert [row["ticker"] for row in result] == [symbol for symbol, _ in asked]


def test_a_restatement_of_an_old_period_is_not_taken_for_the_newest(world):
    facts = [fact(1, quarter=0, value=10), fact(5, quarter=1, value=20), fact(9, quarter=0, value=11)]
    outcome = world(xbrl_facts=facts)
    result = outcome.run("facts_as_of_event", pairs=[("QBG", at(10))], concepts=["a:One"])
    assert [row["value"] for row in result] == [20.0]


def test_a_restatement_of_the_newest_period_is_taken_once_public(world):
    outcome = world(xbrl_facts=[fact(1, quarter=0, value=10), fact(5, quarter=0, value=11)])
    question = [("QBG", at(hours)) for hours in (0, 1, 4, 5)]
    result = outcome.run("facts_as_of_event", pairs=question, concepts=["a:One"])
    assert [row["value"] for row in result] == [10.0, 10.0, 11.0]


def test_prior_period_comparatives_do_not_hide_a_filings_own_period(world):
    outcome = world(xbrl_facts=[fact(1, quarter=0, value=10), fact(1, quarter=1, value=20)])
    result = outcome.run("facts_as_of_event", pairs=[("QBG", at(1))], concepts=["a:One"])
    assert [row["value"] for row in result] == [20.0]


def test_a_period_that_had_not_ended_when_it_was_filed_is_left_out(world):
    outcome = world(xbrl_facts=[fact(1, quarter=0, value=10), fact(2, quarter=40, value=99)])
    result = outcome.run("facts_as_of_event", pairs=[("QBG", at(3))], concepts=["a:One"])
    assert [row["value"] for row in result] == [10.0]


def test_quarters_and_years_are_series_of_their_own(world):
    outcome = world(xbrl_facts=[fact(1, quarter=3, value=40, months=12), fact(2, quarter=2, value=10)])
    question = {"pairs": [("QBG", at(3))], "concepts": ["a:One"]}
    assert [(row["months"], row["value"]) for row in outcome.run("facts_as_of_event", **question)] == [
        (3, 10.0),
        (12, 40.0),
    ]
    assert [row["value"] for row in outcome.run("facts_as_of_event", months=12, **question)] == [40.0]


def period(hours, start, end, number, **more):
    return fact(hours, 0, number) | {"period_start": start, "period_end": end} | more


# Fiscal calendars that companies use: (months, previous period, newest period).
CALENDARS = {
    "12-WEEKS": (3, ("2023-01-01", "2023-03-25"), ("2023-03-26", "2023-06-17")),
    "13-WEEKS": (3, ("2023-01-01", "2023-04-01"), ("2023-04-02", "2023-07-01")),
    "14-WEEKS": (3, ("2022-07-03", "2022-10-01"), ("2022-10-02", "2023-01-07")),
    "16-WEEKS": (3, ("2022-07-18", "2022-10-09"), ("2023-01-02", "2023-04-23")),
    "17-WEEKS": (3, ("2022-06-13", "2022-09-04"), ("2022-09-05", "2023-01-01")),
    "12-WEEKS-AFTER-16": (3, ("2022-12-26", "2023-04-16"), ("2023-04-17", "2023-07-09")),
    "24-WEEKS": (6, ("2022-01-02", "2022-06-18"), ("2023-01-01", "2023-06-17")),
    "27-WEEKS": (6, ("2022-01-02", "2022-07-02"), ("2023-01-01", "2023-07-08")),
    "28-WEEKS": (6, ("2022-01-03", "2022-07-17"), ("2023-01-02", "2023-07-16")),
    "29-WEEKS": (6, ("2022-01-03", "2022-07-17"), ("2023-01-02", "2023-07-23")),
    "36-WEEKS": (9, ("2021-12-26", "2022-09-03"), ("2023-01-01", "2023-09-09")),
    "39-WEEKS": (9, ("2022-01-02", "2022-10-01"), ("2023-01-01", "2023-09-30")),
    "40-WEEKS": (9, ("2022-01-03", "2022-10-09"), ("2023-01-02", "2023-10-08")),
    "52-WEEKS": (12, ("2021-01-03", "2022-01-01"), ("2022-01-02", "2022-12-31")),
    "53-WEEKS": (12, ("2021-12-27", "2022-12-25"), ("2022-12-26", "2023-12-31")),
    "52-WEEKS-AFTER-53": (12, ("2021-12-27", "2023-01-01"), ("2023-01-02", "2023-12-31")),
    "MONTHS": (3, ("2022-12-01", "2023-02-28"), ("2023-03-01", "2023-05-31")),
    "A-YEAR-OF-MONTHS": (12, ("2022-03-01", "2023-02-28"), ("2023-03-01", "2024-02-29")),
}


LATE = "2024-06-01T00:00:00Z"


def test_the_newest_fiscal_period_is_found_for_every_length_and_calendar(world):
    facts = [
        period(0, *span, value, ticker=ticker, available_at=LATE)
        for ticker, (_, *spans) in CALENDARS.items()
        for value, span in zip((10, 20), spans, strict=True)
    ]
    outcome = world(xbrl_facts=facts)
    for months in (3, 6, 9, 12):
        newest = {ticker: spans[-1] for ticker, (length, *spans) in CALENDARS.items() if length == months}
        question = {"pairs": [(ticker, LATE) for ticker in newest], "concepts": ["a:One"], "months": months}
        expected = [(ticker, 20.0, months, end) for ticker, (_, end) in newest.items()]
        result = outcome.run("facts_as_of_event", **question)
        assert [(row["ticker"], row["value"], row["months"], str(row["period_end"])) for row in result] == expected
        rows = outcome.run("panel", **question)
        assert [json.loads(row["facts"]) for row in rows] == [{"a:One": 20.0}] * len(newest)
        assert [json.loads(row["fact_filings"])["a:One"] for row in rows] == [
            {"form_type": "10-Q", "accession_no": "acc", "period_start": start, "period_end": end}
            for start, end in newest.values()
        ]


def test_a_period_of_calendar_months_is_counted_in_whole_months(world):
    spans = {
        1: ("2023-01-01", "2023-01-31"),
        2: ("2023-01-01", "2023-02-28"),
        4: ("2023-01-01", "2023-04-30"),  # 120 days; 17 weeks have 119
        5: ("2023-01-01", "2023-05-31"),
        7: ("2023-01-01", "2023-07-31"),
        8: ("2022-11-16", "2023-07-15"),
        10: ("2023-01-01", "2023-10-31"),
        11: ("2023-01-01", "2023-11-30"),
        24: ("2022-01-01", "2023-12-31"),
    }
    outcome = world(xbrl_facts=[period(0, *span, 10, available_at=LATE) for span in spans.values()])
    result = outcome.run("facts_as_of_event", pairs=[("QBG", LATE)], concepts=["a:One"])
    assert [row["months"] for row in result] == list(spans)


YEAR = ("2022-12-26", "2023-12-31")
IN_10_K = {"form_type": "10-K", "accession_no": "annual"}
IN_PROXY = {"form_type": "PRE 14A", "accession_no": "proxy"}
IN_AMENDMENT = {"form_type": "10-K/A", "accession_no": "amended"}


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        (None, [("PRE 14A", 7.0), ("10-K", 10.0), ("10-K", 10.0), ("10-K/A", 11.0)]),
        ("periodic", [("10-K", 10.0), ("10-K", 10.0), ("10-K/A", 11.0)]),
        ("any", [("PRE 14A", 7.0), ("10-K", 10.0), ("PRE 14A", 9.0), ("10-K/A", 11.0)]),
    ],
)
def test_a_periodic_reports_figure_takes_precedence_over_other_forms(world, forms, expected):
    outcome = world(
        xbrl_facts=[
            period(1, *YEAR, 7, **IN_PROXY),
            period(2, *YEAR, 10, **IN_10_K),
            period(3, *YEAR, 9, **IN_PROXY),
            period(4, *YEAR, 11, **IN_AMENDMENT),
        ]
    )
    pairs = [("QBG", at(hours)) for hours in (1, 2, 3, 4)]
    result = outcome.run("facts_as_of_event", pairs=pairs, concepts=["a:One"], months=12, forms=forms)
    assert [(row["formType"], row["value"]) for row in result] == expected
    rows = outcome.run("panel", pairs=pairs, concepts=["a:One"], months=12, forms=forms)
    statement = [(json.loads(row["fact_filings"]), json.loads(row["facts"])) for row in rows]
    assert [(filings["a:One"]["form_type"], facts["a:One"]) for filings, facts in statement if facts] == expected


def test_a_newer_period_of_another_form_counts_until_a_periodic_report_states_it(world):
    facts = [
        period(1, "2022-01-01", "2022-12-31", 5, **IN_10_K),
        period(2, *YEAR, 9, form_type="8-K"),
        period(3, *YEAR, 8, **IN_10_K),
    ]
    question = {"pairs": [("QBG", at(hours)) for hours in (1, 2, 3)], "concepts": ["a:One"]}
    result = world(xbrl_facts=facts).run("facts_as_of_event", **question)
    assert [row["value"] for row in result] == [5.0, 9.0, 8.0]
    result = world(xbrl_facts=facts).run("facts_as_of_event", forms="periodic", **question)
    assert [row["value"] for row in result] == [5.0, 5.0, 8.0]


@pytest.mark.parametrize("query", ["xbrl_metric", "xbrl_all_metrics", "earnings_snapshot"])
def test_a_proxy_statement_hides_no_figure_of_the_annual_report(world, query):
    statement = {"value": "1", "is_nil": False}
    facts = [period(2, *YEAR, 10, **IN_10_K, **statement), period(3, *YEAR, 9, **IN_PROXY, **statement)]
    question = {
        "xbrl_metric": {"concept_qname": "a:One"}, "xbrl_all_metrics": {}, "earnings_snapshot": {"concepts": ["a:One"]}
    }[query]  # fmt: skip
    outcome = world(xbrl_facts=facts)
    (row,) = (each for each in outcome.run(query, ticker="QBG", **question) if each.get("section", "facts") == "facts")
    assert (row.get("formType", row.get("form_type")), row.get("accessionNo", row.get("stated_in"))) == (
        "10-K",
        "annual",
    )


def test_an_unknown_forms_option_is_refused(world):
    with pytest.raises(BadInput, match="periodic_first, periodic, any"):
        world().run("panel", pairs=[("QBG", at(1))], forms="10-K")


@pytest.mark.parametrize("query", ["prices_as_of_event", "facts_as_of_event", "panel"])
def test_an_instant_after_the_as_of_is_refused(world, query):
    concepts = {"concepts": ["a:One"]} if query == "facts_as_of_event" else {}
    world(at(5)).run(query, pairs=[("QBG", at(5))], **concepts)
    with pytest.raises(duckdb.Error, match="after as_of"):
        world(at(5)).run(query, pairs=[("QBG", at(5)), ("QBG", at(6))], **concepts)


def test_a_panel_has_a_row_per_pair_with_the_values_public_then(world):
    news = [
        {"id": f"bzNews_{number}", "tickers": ["QBG"], "available_at": at(hours)} for number, hours in ((1, 2), (2, 4))
    ]
    edited = [{"id": "bzNews_1", "tickers": ["QBG"], "available_at": at(8)}]
    outcome = world(
        prices=[bar(3, 1, 7)],
        xbrl_facts=[fact(1, 0, 10), fact(1, 0, 5, concept="a:Two"), fact(1, 0, 40, months=12)],
        news=news + edited,
    )
    pairs = [("QBG", at(hours)) for hours in (9, 0, 3)] + [("ZZZ", at(9))]
    result = outcome.run("panel", pairs=pairs, concepts=list(CONCEPTS), news_days=1)
    assert [(row["close"], json.loads(row["facts"]), row["news_count"]) for row in result] == [
        (7.0, {"a:One": 10.0, "a:Two": 5.0}, 2),
        (None, {}, 0),
        (7.0, {"a:One": 10.0, "a:Two": 5.0}, 1),
        (None, {}, 0),
    ]
    assert [row["available_at"].isoformat() for row in result] == [
        "2024-01-01T04:00:00+00:00",
        "2024-01-01T00:00:00+00:00",
        "2024-01-01T03:00:00+00:00",
        "2024-01-01T09:00:00+00:00",
    ]
    assert [row["available_at_source"] for row in result] == [
        "neo4j_created",
        "time_series_timestamp",
        "time_series_timestamp",
        "time_series_timestamp",
    ]


def test_news_is_counted_over_the_days_asked_for(world):
    news = [{"id": f"bzNews_{n}", "tickers": ["QBG"], "available_at": at(24 * n)} for n in range(5)]
    outcome = world(news=news)
    counted = {
        days: outcome.run("panel", pairs=[("QBG", at(96))], news_days=days)[0]["news_count"] for days in (1, 2, 30)
    }
    assert counted == {1: 1, 2: 2, 30: 5}


@pytest.mark.parametrize("backwards", [False, True])
def test_a_panel_breaks_ties_between_equal_instants_as_the_views_do(world, backwards):
    order = -1 if backwards else 1
    reply = [{"evidence": "e", "content_hash": bytes([number])} for number in (1, 2, 3)][::order]
    bars = [bar(3, 1, each["content_hash"][0]) | each for each in reply]
    facts = [fact(1, 0, each["content_hash"][0]) | each for each in reply]
    (row,) = world(prices=bars, xbrl_facts=facts).run("panel", pairs=[("QBG", at(9))], concepts=["a:One"])
    assert (row["close"], json.loads(row["facts"])) == (3.0, {"a:One": 3.0})


def unrecorded(ratio, hours=4, days=8):
    """Return bars of one symbol whose close changes on day `hours` by a split that no source recorded."""
    return [bar(day, day, 100 / (ratio if day >= hours else 1)) for day in range(days)]


@pytest.mark.parametrize("query", ["panel", "prices_as_of_event"])
@pytest.mark.parametrize("ratio", [3.0, 0.1])
def test_closes_after_an_unrecorded_split_have_no_split_index(world, query, ratio):
    outcome = world(prices=unrecorded(ratio))
    result = outcome.run(query, pairs=[("QBG", at(hours)) for hours in range(8)])
    assert [row["split_index"] for row in result] == [1.0] * 4 + [None] * 4
    assert [row["close"] for row in result] == [row["close"] for row in unrecorded(ratio)]


@pytest.mark.parametrize("query", ["panel", "prices_as_of_event"])
def test_a_split_published_late_adjusts_closes_from_then_on(world, query):
    reply = {
        "split_id": "N",
        "ticker": "QBG",
        "execution_date": "2023-12-05",
        "split_from": 1.0,
        "split_to": 3.0,
        "available_at": at(6),
    }
    outcome = world(prices=unrecorded(3.0), splits=[reply])
    result = outcome.run(query, pairs=[("QBG", at(hours)) for hours in range(8)])
    assert [row["split_index"] for row in result] == [1.0] * 4 + [None] * 2 + [3.0] * 2


@pytest.mark.parametrize("query", ["panel", "prices_as_of_event"])
def test_a_second_statement_of_a_split_is_cited_only_once_public(world, query):
    reply = {
        "split_id": "N",
        "ticker": "QBG",
        "execution_date": "2023-12-05",
        "split_from": 1.0,
        "split_to": 3.0,
        "available_at": at(4),
    }
    again = reply | {"evidence": "again", "execution_date": "2023-12-06", "available_at": at(6)}
    outcome = world(prices=unrecorded(3.0), splits=[reply | {"evidence": "first"}], polygon_splits=[again])
    result = outcome.run(query, pairs=[("QBG", at(hours)) for hours in range(4, 8)])
    assert [row["evidence_ids"][1:] for row in result] == [["first"]] * 2 + [["again", "first"]] * 2


@pytest.mark.parametrize("query", ["panel", "prices_as_of_event"])
def test_a_split_without_a_price_move_gives_no_split_index(world, query):
    reply = {
        "split_id": "N",
        "ticker": "QBG",
        "execution_date": "2023-12-05",
        "split_from": 1.0,
        "split_to": 3.0,
        "available_at": at(4),
    }
    outcome = world(prices=unrecorded(1.0), splits=[reply])
    result = outcome.run(query, pairs=[("QBG", at(hours)) for hours in range(8)])
    assert [row["split_index"] for row in result] == [1.0] * 4 + [None] * 4
