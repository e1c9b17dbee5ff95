"""Articles, calls, dividends and splits of several sources: each appears once, as in its preferred source at T."""

from datetime import datetime, timedelta, timezone
from random import Random

import pytest

from tests.catalogue.conftest import World
from tests.catalogue.test_sources import CIK, COMPANY, at, at_instants, by_dataset

SEEDS = range(6)
HOURS = range(0, 24, 3)
CALL = datetime(2024, 1, 5, 15, tzinfo=timezone.utc)
ACTIONS = {"dividends": ("dividends", "polygon_dividends"), "splits": ("splits", "polygon_splits")}


def statements(sources, seed):
    """Return the hour from which a source states a thing, as (source, thing, hour) in random order."""
    random = Random(seed)
    places = [(source, thing) for source in sources for thing in range(6)]
    return [(*place, random.randrange(24)) for place in random.sample(places, 9)]


def preferred(sources, statement, hour):
    """Return the preferred source of each thing stated by an hour."""
    public = [(source, thing) for source, thing, since in statement if since <= hour]
    return {thing: min((s for s, other in public if other == thing), key=sources.index) for _, thing in public}


def article(source, number, hour):
    names = {"id": f"bzNews_{number}" if source == "news" else str(number), "tickers": ["ACME"]}
    return source, names | {"created": at(hour), "channels": ["Oil"], "available_at": at(hour), "evidence": source}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("news_latest", {"limit": 99}),
        ("news_date_range", {"start_date": at(0)}),
        ("news_by_channel", {"start_date": at(0), "channel": "oil"}),
    ],
)
def test_an_article_is_shown_once_from_the_graph_or_else_benzinga(name, values):
    sources = ("news", "benzinga_news")
    for seed in SEEDS:
        statement = statements(sources, seed)
        rows = by_dataset([article(*each) for each in statement])
        for hour in HOURS:
            answers = World(at(hour), rows).run(name, ticker=COMPANY, **values)
            display = {int(row["id"].removeprefix("bzNews_")): row["source"] for row in answers}
            assert display == preferred(sources, statement, hour)
            assert len(answers) == len(display)
            assert [row["evidence"] for row in answers] == [row["source"] for row in answers]


def test_a_panel_counts_an_article_of_two_sources_once():
    for seed in SEEDS:
        statement = statements(("news", "benzinga_news"), seed)
        world = World(at(99), by_dataset([article(*each) for each in statement]))
        counted = {row["at"]: row["news_count"] for row in at_instants(world, "panel", HOURS)}
        assert list(counted.values()) == [
            len({thing for _, thing, since in statement if since <= hour}) for hour in HOURS
        ]


def call(source, number, hour):
    start = CALL + timedelta(days=90 * number, hours=2 * (source == "transcripts"))
    statement = {"ticker": "ACME", "fiscal_year": 2024, "fiscal_quarter": number + 1, "evidence": source}
    statement["available_at"] = (start + timedelta(days=1, hours=hour)).isoformat()
    if source == "transcripts":
        return source, statement | {"transcript_id": f"ACME_{number}", "conference_datetime": start.isoformat()}
    return source, statement | {"exchange": "NASDAQ", "call_start": start.isoformat()}


def test_a_call_is_shown_once_from_the_graph_or_else_earningscall():
    sources = ("transcripts", "call_transcripts")
    for seed in SEEDS:
        statement = [(source, thing, hour) for source, thing, hour in statements(sources, seed) if thing < 4]
        rows = by_dataset([call(*each) for each in statement])
        answers = World("2026-01-01T00:00:00Z", rows).run("transcript_range", ticker=COMPANY, start_date="2024-01-01")
        display = {row["fiscal_quarter"] - 1: row["source"] for row in answers}
        assert display == preferred(sources, statement, 24)
        assert [row["fiscal_quarter"] for row in answers] == sorted((n + 1 for n in display), reverse=True)
        (newest,) = World("2026-01-01T00:00:00Z", rows).run("transcript_latest", ticker=COMPANY)
        assert newest == answers[0]


@pytest.mark.parametrize(
    ("hours", "quarter", "is_same"),
    [
        (0, None, True),
        (0.5, 3, True),
        (-3, 1, True),
        (-3, 3, False),
        (0.6, None, False),
        (4, 1, False),
        (4, None, False),
    ],
)
def test_only_calls_at_about_the_same_time_count_as_the_same_call(hours, quarter, is_same):
    """An earnings call is the same as the graph's call that starts with it, but not as another event of that day."""
    source, statement = call("call_transcripts", 0, 0)
    other = call("transcripts", 0, 0)[1] | {"fiscal_quarter": quarter}
    other["conference_datetime"] = (CALL + timedelta(hours=hours)).isoformat()
    answers = World("2026-01-01T00:00:00Z", {source: [statement], "transcripts": [other]}).run(
        "transcript_range", ticker=COMPANY, start_date="2024-01-01"
    )
    assert {row["source"] for row in answers} == {"transcripts"} | (set() if is_same else {source})


@pytest.mark.parametrize(("quarter", "sources"), [(1, 1), (2, 2), (None, 2)])
def test_a_call_without_a_start_time_is_matched_by_its_quarter(quarter, sources):
    source, statement = call("call_transcripts", 0, 0)
    del statement["call_start"]
    other = call("transcripts", 0, 0)[1] | {"fiscal_quarter": quarter}
    answers = World("2026-01-01T00:00:00Z", {source: [statement], "transcripts": [other]}).run(
        "transcript_range", ticker=COMPANY, start_date="2024-01-01"
    )
    assert len(answers) == sources


def test_a_call_without_a_start_time_is_ordered_by_its_publication():
    rows = [call("call_transcripts", number, 0) for number in range(3)]
    del rows[2][1]["call_start"]
    answers = World("2026-01-01T00:00:00Z", by_dataset(rows)).run("transcript_latest", ticker=COMPANY)
    assert [(row["fiscal_quarter"], row["conference_datetime"]) for row in answers] == [(3, None)]


def action(source, number, hour):
    day = f"2024-0{number + 1}-10"
    names = {"ticker": "ACME", "available_at": at(hour), "evidence": source}
    if source.startswith("polygon"):
        names["ordinal"] = number
    elif number % 2:
        names |= {"cik": CIK, "ticker": "FORMER"}
    if source.endswith("splits"):
        return source, names | {"split_id": day, "execution_date": day, "split_from": 1.0, "split_to": number + 2.0}
    kind = "Regular" if source == "dividends" else "CD"
    names |= {"dividend_id": day, "dividend_type": kind, "ex_dividend_date": day, "declaration_date": day}
    return source, names | {"frequency": "Quarterly" if source == "dividends" else 4, "cash_amount": 0.1}


def test_a_dividend_is_shown_once_from_the_graph_or_else_polygon():
    sources = ACTIONS["dividends"]
    for seed in SEEDS:
        statement = statements(sources, seed)
        rows = by_dataset([action(*each) for each in statement])
        for hour in HOURS:
            answers = World(at(hour), rows).run("entity_dividends", ticker=COMPANY)
            assert {row["date"].month - 1: row["source"] for row in answers} == preferred(sources, statement, hour)
            assert {row["dividend_type"] for row in answers} <= {"Regular"}
            assert {row["frequency"] for row in answers} <= {"Quarterly"}
            assert len({row["date"] for row in answers}) == len(answers)


def test_a_split_is_shown_once_by_the_statement_that_was_public_first():
    sources = ACTIONS["splits"]
    for seed in SEEDS:
        statement = statements(sources, seed)
        rows = by_dataset([action(*each) for each in statement])
        for hour in HOURS:
            answers = World(at(hour), rows).run("entity_splits", ticker=COMPANY)
            public = sorted(
                (since, sources.index(source), thing) for source, thing, since in statement if since <= hour
            )
            first = {thing: sources[place] for _, place, thing in reversed(public)}
            assert {row["date"].month - 1: row["source"] for row in answers} == first
            assert [row["split_to"] for row in answers] == [row["date"].month + 1 for row in answers]
            assert [row["evidence"] for row in answers] == [row["source"] for row in answers]
            assert len({row["date"] for row in answers}) == len(answers)


def test_contradictory_split_ratios_of_a_day_give_a_split_without_a_ratio():
    rows = [action("splits", 0, 1), action("polygon_splits", 0, 2)]
    rows[1][1]["split_to"] = 9.0
    for hour, ratio in ((1, 2.0), (3, None)):
        (row,) = World(at(hour), by_dataset(rows)).run("entity_splits", ticker=COMPANY)
        assert row["split_to"] == ratio
        assert row["evidence"] == "splits"
