"""Queries over several sources return the row of the most preferred public source, regardless of later rows."""

import json
from datetime import date, datetime, timedelta, timezone
from random import Random

import pytest

from pitlake.questions import catalogue
from pitlake.web import questions as pages
from tests.catalogue.conftest import World

CIK = "0000000007"
COMPANY = f"{CIK} ACME"
START = datetime(2024, 1, 1, tzinfo=timezone.utc)
LATER = "2024-12-31T00:00:00Z"
BARS = ("prices", "own_bars", "av_daily_bars")
SEEDS = range(4)


def at(hours):
    return (START + timedelta(hours=hours)).isoformat().replace("+00:00", "Z")


def at_instants(world, name, hours, company=COMPANY, **values):
    """Return the answer to a query of (company, instant) pairs, for the company at each instant."""
    query = catalogue.get(name)
    world.add(query.reads)
    bound = query.bind(values | {"pairs": [("ACME", at(hour)) for hour in hours]})
    listing = [pair | {"company": company} for pair in json.loads(bound["pairs"])]
    return world.ask(query.sql, bound | {"pairs": json.dumps(listing)})


def by_dataset(rows):
    return {name: [row for source, row in rows if source == name] for name, _ in rows}


def bar(source, hours, day, close):
    names = {"entity_kind": "company", "entity_id": CIK, "symbol": "ACME"} if source == "prices" else {"ticker": "ACME"}
    day = (date(2023, 12, 1) + timedelta(days=day)).isoformat()
    outcome = {"date": day, "open": close, "high": close, "low": close, "close": close, "volume": 9}
    return source, names | outcome | {"available_at": at(hours)}


def random_bars(seed):
    """Return bars of all sources, at most one per source and instant."""
    random = Random(seed)
    instants = random.sample([(source, hour) for source in BARS for hour in range(20)], 14)
    return [bar(source, hour, random.randrange(4), float(random.randrange(50, 90))) for source, hour in instants]


def best_bar(rows, hours, day=None):
    """Return the bar of the newest day, or of `day`: the last one by then from the most preferred source."""
    public = [(source, row) for source, row in rows if row["available_at"] <= at(hours)]
    public = [each for each in public if day is None or each[1]["date"] == day]
    if not public:
        return None
    return max(public, key=lambda each: (each[1]["date"], -BARS.index(each[0]), each[1]["available_at"]))


@pytest.mark.parametrize("company", [COMPANY, "ACME"])
def test_bars_as_of_an_event_come_from_the_preferred_source_public_then(company):
    for seed in SEEDS:
        rows = random_bars(seed)
        outcome = World(LATER, by_dataset(rows))
        answers = at_instants(outcome, "panel", range(22), company)
        for hour, answer in enumerate(answers):
            best = best_bar(rows, hour)
            expected = (best[0], best[1]["date"], best[1]["close"]) if best else (None, "None", None)
            assert (answer["price_source"], str(answer["price_date"]), answer["close"]) == expected, (seed, hour)


@pytest.mark.parametrize("name", ["bars_adjusted", "entity_price_series"])
def test_a_series_has_a_bar_per_day_from_the_preferred_source_public_then(name):
    for seed in SEEDS:
        rows, hour = random_bars(seed), 3 + seed % 18
        answers = World(at(hour), by_dataset(rows)).run(name, ticker=COMPANY)
        display = {str(row["date"]): (row["source"], row["entity_id"]) for row in answers}
        days = {row["date"] for _, row in rows}
        best = {day: result for day in days if (result := best_bar(rows, hour, day))}
        assert len(answers) == len(display)
        assert display == {day: (source, CIK) for day, (source, _) in best.items()}, seed
        if name == "entity_price_series":
            assert {str(row["date"]): row["close"] for row in answers} == {
                day: row["close"] for day, (_, row) in best.items()
            }


def test_bars_of_a_ticker_without_a_company_are_shown():
    outcome = World(LATER, by_dataset([bar("av_daily_bars", 1, 0, 10.0), bar("own_bars", 1, 1, 11.0)]))
    rows = outcome.run("entity_price_series", ticker="ACME")
    assert [(row["close"], row["source"]) for row in rows] == [(11.0, "own_bars"), (10.0, "av_daily_bars")]
    assert [row["entity_id"] for row in rows] == ["ACME", "ACME"]


def test_later_bars_change_no_earlier_bar():
    for seed in SEEDS:
        rows = random_bars(seed)
        altered = [(source, row | {"close": row["close"] + 7 * (row["available_at"] > at(10))}) for source, row in rows]
        twins = (at_instants(World(LATER, by_dataset(each)), "panel", range(11)) for each in (rows, altered[::-1]))
        first, second = ([(each["price_date"], each["close"], each["price_source"]) for each in twin] for twin in twins)
        assert first == second, seed


def fact(source, hours, end, accession, value):
    row = {
        "accession_no": accession, "form_type": "10-Q", "cik": CIK, "concept": "us-gaap:Assets", "unit": "USD",
        "period_type": "instant", "period_end": end, "value": str(value), "value_number": float(value),
        "available_at": at(hours),
    }  # fmt: skip
    of_graph = {"unit": "iso4217:USD", "ticker": "ACME", "is_numeric": True, "is_nil": False}
    return source, row | (of_graph | {"dimensions": "", "members": ""} if source == "xbrl_facts" else {})


def random_facts(seed):
    """Return random facts. Each instant has a fact of one source, or both sources' facts from the same filing."""
    random = Random(seed)
    rows = []
    for hour in random.sample(range(20), 10):
        end, accession = random.choice(["2023-09-30", "2023-12-31"]), f"a-{random.randrange(4)}"
        sources = random.choice([["xbrl_facts"], ["sec_facts"], ["sec_facts"], ["sec_facts", "xbrl_facts"]])
        rows += [fact(source, hour, end, accession, random.randrange(100)) for source in sources]
    return rows


def last_statement(rows, hours, end=None):
    """Return the last statement by then of the newest period, or of `end`. EDGAR's counts until the graph has it."""
    public = [(source, row) for source, row in rows if row["available_at"] <= at(hours)]
    public = [each for each in public if end is None or each[1]["period_end"] == end]
    first_of_graph = {}
    for source, row in sorted(public, key=lambda each: each[1]["available_at"]):
        if source == "xbrl_facts":
            first_of_graph.setdefault((row["period_end"], row["accession_no"]), row["available_at"])
    statement = [
        (row["period_end"], row["available_at"], row["value_number"], source)
        for source, row in public
        if source == "xbrl_facts"
        or row["available_at"] < first_of_graph.get((row["period_end"], row["accession_no"]), "9")
    ]
    return max(statement)[2:] if statement else None


@pytest.mark.parametrize("name", ["facts_as_of_event", "panel"])
def test_facts_as_of_an_event_are_the_graphs_or_else_edgars(name):
    for seed in SEEDS:
        rows = random_facts(seed)
        answers = at_instants(World(LATER, by_dataset(rows)), name, range(22), concepts=["us-gaap:Assets"])
        expected = {at(hour): result for hour in range(22) if (result := last_statement(rows, hour))}
        display = {row["at"].isoformat().replace("+00:00", "Z"): row for row in answers}
        if name == "panel":
            values = {instant: json.loads(row["facts"]).get("us-gaap:Assets") for instant, row in display.items()}
            assert values == {at(hour): expected.get(at(hour), (None,))[0] for hour in range(22)}, seed
        else:
            assert {instant: (row["value"], row["source"]) for instant, row in display.items()} == expected, seed


def test_a_fact_is_shown_once_in_its_latest_statement():
    for seed in SEEDS:
        rows, hour = random_facts(seed), 3 + 4 * seed
        answers = World(at(hour), by_dataset(rows)).run("xbrl_all_metrics", ticker=COMPANY)
        ends = {row["period_end"] for _, row in rows}
        expected = {end: result for end in ends if (result := last_statement(rows, hour, end))}
        assert len(answers) == len(expected)
        assert {str(row["period_end"]): (float(row["value"]), row["source"]) for row in answers} == expected, seed


def test_units_of_edgar_are_spelled_as_the_graph_spells_them():
    spelled = {"USD": "iso4217:USD", "USD/shares": "iso4217:USDshares", "shares": "shares", "pure": "pure"}
    rows = [
        ("sec_facts", fact("sec_facts", number, "2023-12-31", "a-1", 1)[1] | {"unit": unit})
        for number, unit in enumerate(spelled)
    ]
    answers = World(LATER, by_dataset(rows)).run("xbrl_all_metrics", ticker=COMPANY)
    assert sorted(row["unit"] for row in answers) == sorted(spelled.values())


def test_a_filing_of_both_sources_is_listed_once_as_in_the_graph():
    edgar = {"form_type": "8-K", "cik": CIK, "items": ["2.02"], "accepted_at": at(1), "available_at": at(1)}
    rows = {
        "reports": [
            edgar
            | {"role": "primary_filer", "tickers": ["ACME"], "accession_no": "a-2", "created": at(3)}
            | {"items": ["Item 2.02: Results"], "available_at": at(3)}
        ],
        "sec_filings": [edgar | {"accession_no": number} for number in ("a-1", "a-2")],
    }
    del rows["reports"][0]["accepted_at"]
    for hour, sources in ((2, ["sec_filings", "sec_filings"]), (4, ["reports", "sec_filings"])):
        answers = World(at(hour), rows).run("report_earnings", ticker=COMPANY)
        assert [row["source"] for row in sorted(answers, key=lambda row: row["source"])] == sources
        assert {row["accessionNo"] for row in answers} == {"a-1", "a-2"}


def test_a_filing_the_graph_reassigns_to_another_company_falls_back_to_edgar():
    edgar = {"form_type": "8-K", "cik": CIK, "accession_no": "a-1", "accepted_at": at(1), "available_at": at(1)}
    statement = edgar | {"role": "primary_filer", "tickers": ["ACME"], "created": at(1)}
    del statement["accepted_at"]
    corrected = statement | {"cik": "0000000009", "tickers": ["OTHER"], "available_at": at(3)}
    rows = {"reports": [statement, corrected], "sec_filings": [edgar]}
    for hour, source in ((2, "reports"), (4, "sec_filings")):
        outcome = World(at(hour), rows)
        (listing,) = outcome.run("report_latest", ticker=COMPANY)
        (display,) = outcome.ask(pages.get("filings").sql, {catalogue.COMPANY: COMPANY})
        assert (listing["source"], display["dataset"]) == (source, source)
