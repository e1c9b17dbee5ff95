"""The result of each catalogue query, on worlds small enough to work it out by hand."""

from datetime import date

import pytest

DAY, AT = "2024-03-{:02d}T12:00:00Z", "2014-{:02d}-{:02d}T12:30:00Z"
LATE = "2024-12-31T00:00:00Z"


def article(number, day=1, **more):
    times = {"created": DAY.format(day), "available_at": DAY.format(day)}
    return {"id": f"bzNews_{number}", "title": str(number), "tickers": ["QBG"]} | times | more


def filing(number, day=1, **more):
    names = {"accession_no": f"acc-{number}", "form_type": "8-K", "role": "primary_filer", "ticker": "QBG"}
    return names | {"tickers": ["QBG"], "created": DAY.format(day), "available_at": DAY.format(day)} | more


def call(number, day, ticker="QBG", **more):
    names = {"transcript_id": f"{ticker}_{number}", "ticker": ticker, "company_name": str(number)}
    return names | {"conference_datetime": DAY.format(day), "available_at": DAY.format(day)} | more


def exchange(number, sequence, day, text, ticker="QBG"):
    said = f'[{{"role":"question","text":"{text}"}},{{"role":"answer","text":"yes"}}]'
    times = {"conference_datetime": DAY.format(day), "available_at": DAY.format(day)}
    return {"transcript_id": f"{ticker}_{number}", "ticker": ticker, "sequence": sequence, "exchanges": said} | times


def bar(day, close=1.0, symbol="QBG", kind="company", entity="1", **more):
    names = {"entity_kind": kind, "entity_id": entity, "symbol": symbol, "date": f"2024-03-{day:02d}", "close": close}
    return names | {"available_at": DAY.format(day)} | more


def fact(value, day, **more):
    return {
        "accession_no": f"acc-{day}", "form_type": "10-Q", "cik": "1", "ticker": "QBG", "concept": "us-gaap:Revenues",
        "label": "Revenues", "value": value, "value_number": float(value), "decimals": "-3", "unit": "iso4217:USD",
        "period_type": "duration", "period_start": "2023-10-01", "period_end": "2023-12-31", "is_numeric": True,
        "available_at": DAY.format(day),
    } | more  # fmt: skip


def action(number, **more):
    return {"ticker": "QBG", "available_at": DAY.format(number)} | more


def observation(period, vintage, value, series="GDP", at=None):
    month, day = map(int, vintage.split("-")[1:])
    names = {"series_id": series, "observation_date": period, "vintage_date": vintage, "value": value}
    return names | {"available_at": at or AT.format(month, day), "withdrawn": value is None}


def quote(instrument, tenor, value, day, at="2014-05-01T12:30:00Z"):
    names = {"kind": "curve", "instrument": instrument, "tenor": tenor, "point": "outright", "measure": "par_rate"}
    return names | {"quoted_on": day, "value": value, "available_at": at}


QBG, SINCE_3, SINCE_2 = {"ticker": "QBG"}, {"start_date": "2024-03-03"}, {"start_date": "2014-03-02"}
RESULTS, NEW_YEAR, REVENUES = (
    ["Item 2.02: Results of Operations"],
    date(2014, 1, 1),
    {"concept_qname": "us-gaap:Revenues"},
)
NEWS = [article(1, 1), article(2, 3), article(3, 2, tickers=["AAA", "QBG"]), article(4, 4, tickers=["QZP"])]
EDITED = [article(1, title="draft"), article(1, title="final", available_at=DAY.format(9))]
MACRO_NEWS = [
    article(
        number, tickers=tickers, channels=["Macro"], created=AT.format(3, number), available_at=AT.format(3, number)
    )
    for number, tickers in enumerate((["QBG"], [], ["QZP"]), 1)
]
REPORTS = [
    filing(1, 1, items=[*RESULTS, "Item 9.01: Exhibits"]), filing(2, 2, items=["Item 5.02: Departure"]),
    filing(3, 3, form_type="10-Q", items=None), filing(4, 4, role="referenced", items=RESULTS),
    filing(5, 5, form_type="8-K/A", items=RESULTS),
]  # fmt: skip
CALLS = [call(1, 1), call(2, 8), call(3, 9, "QZP")]
EXCHANGES = [
    exchange(1, 0, 1, "old capex"), *(exchange(2, number, 8, f"topic {number}") for number in (10, 2, 0)),
    exchange(3, 0, 9, "capex", "QZP"),
]  # fmt: skip
BARS = [bar(4, 4.0), bar(5, 5.0), bar(5, 9.0, entity="2", kind="industry"), bar(6, 6.0, "XRT")]
CORRECTED = [bar(4, 4.0), bar(4, 4.5, available_at=DAY.format(9))]
COMPANIES = [{"cik": "1", "ticker": "QBG", "name": "Bogmarsh", "available_at": DAY.format(9)}]
OIL = {"members": "a:OilMember", "member_count": 1, "dimensions": "a:Axis"}
SEGMENTS = {
    "reports": [
        filing(n, n, form_type="10-Q", period_of_report=end) for n, end in ((1, "2023-12-31"), (5, "2024-03-31"))
    ],
    "xbrl_facts": [
        fact("1", 1, **OIL), fact("2", 5, **OIL),
        fact("3", 5, members="a:OilMember|a:UsMember", member_count=2, dimensions="a:Axis|a:Place"),
        fact("4", 5, period_start="2024-01-01", period_end="2024-03-30", **OIL),
        fact("5", 5, period_start="2023-04-01", period_end="2024-03-31", **OIL),
        fact("6", 5, members="a:GasMember", member_count=1, dimensions="a:Axis"),
    ],
}  # fmt: skip
OF_OIL = QBG | REVENUES | {"member_qnames": "a:OilMember"}
GDP = [
    observation("2013-10-01", "2014-03-27", 17089.6), observation("2014-01-01", "2014-04-30", 17149.6),
    observation("2014-01-01", "2014-05-29", 17101.3), observation("2014-01-01", "2014-06-25", 17016.0),
]  # fmt: skip
PANEL = {"series": "GDP", "observation_date": "2013-12-01", "vintage": "2014-02", "value": 1.0,
         "available_at": AT.format(2, 3)}  # fmt: skip
CURVE = [
    observation("2014-03-03", "2014-03-04", 2.6, "DGS10"), observation("2014-03-03", "2014-03-04", 0.3, "DGS2"),
    observation("2014-03-03", "2014-03-04", 0.1, "DGS3MO"), observation("2014-03-04", "2014-03-05", 2.7, "DGS10"),
    observation("2014-03-03", "2014-03-04", 9.9, "DGSX"),
]  # fmt: skip
QUOTES = [
    quote("USD", "2Y", 4.0, "2014-04-01"), quote("USD", "10Y", 4.2, "2014-04-02"),
    quote("USD", "2Y", 4.1, "2014-04-02"), quote("USD", "2Y", 4.3, "2014-04-02", AT.format(6, 1)),
    quote("EUR", "2Y", 2.0, "2014-04-01"), quote("USD", "2Y", 9.0, "2014-04-03", AT.format(9, 1)),
]  # fmt: skip
NOTES = [
    {"note": "a/rates.md", "publisher": "a", "title": "Rates", "text": "duration is cheap",
     "available_at": AT.format(3, 1)},
    {"note": "b/fx.md", "publisher": "b", "title": "Dollar", "text": "stronger", "available_at": AT.format(4, 1)},
]  # fmt: skip
PUBLIC = {"available_at": AT.format(3, 1)}
USD, FOUND = {"kind": "Curve", "instrument": "USD"}, {"query": "duration"}
CASES = {
    "news of a company comes newest first however many it names": (LATE, {"news": NEWS}, [
        ("news_latest", QBG, "title", ["2", "3", "1"]), ("news_latest", {"ticker": "qbg", "limit": 1}, "title", ["2"]),
        ("news_date_range", QBG | {"start_date": DAY.format(2)}, "title", ["2", "3"]),
        ("news_date_range", QBG | {"start_date": "2024-03-02"}, "title", ["2", "3"]),
        ("news_date_range", QBG | SINCE_3, "title", ["2"])]),
    "a channel is found by part of its name in any case": (
        LATE, {"news": [article(1, channels=["Earnings Beats"]), article(2, channels=["News"]),
                        article(3, channels=None)]},
        [("news_by_channel", QBG | {"start_date": "2024-01-01", "channel": "earn"}, "title", ["1"])]),
    "an edited article before its edit": ("2024-03-05T00:00:00Z", {"news": EDITED}, [
        ("news_latest", QBG, "title", ["draft"])]),
    "an edited article": (LATE, {"news": EDITED}, [("news_latest", QBG, "title", ["final"])]),
    "an article retagged away from a company": (
        LATE, {"news": [article(1), article(1, tickers=["QZP"], available_at=DAY.format(9))]},
        [("news_latest", QBG, "title", []), ("news_latest", {"ticker": "QZP"}, "title", ["1"])]),
    "news needs no ticker": (LATE, {"news": MACRO_NEWS}, [
        ("news_latest", {"limit": 2}, "title", ["3", "2"]), ("news_date_range", SINCE_2, "title", ["3", "2"]),
        ("news_by_channel", {"channel": "macro"} | SINCE_2, "title", ["3", "2"])]),
    "filings that only refer to a company are not its": (LATE, {"reports": REPORTS}, [
        ("report_latest", QBG, "accessionNo", ["acc-5", "acc-3", "acc-2", "acc-1"]),
        ("report_range", QBG | SINCE_3, "accessionNo", ["acc-5", "acc-3"]),
        ("report_earnings", QBG, "accessionNo", ["acc-1"])]),
    "calls come newest first": (LATE, {"transcripts": CALLS, "qa_exchanges": EXCHANGES}, [
        ("transcript_range", QBG | {"start_date": "2024-03-01"}, "company_name", ["2", "1"]),
        ("transcript_latest", QBG, "company_name", ["2"]), ("transcript_qa_latest", QBG, "sequence", [0, 2, 10])]),
    "the newest call of then": ("2024-03-05T00:00:00Z", {"transcripts": CALLS}, [
        ("transcript_latest", QBG, "company_name", ["1"])]),
    "exchanges are searched by what was said not by their JSON": (LATE, {"qa_exchanges": EXCHANGES}, [
        ("transcript_search_qa", QBG | {"query": "capex"}, "sequence", [0]),
        ("transcript_search_qa", QBG | {"query": "role OR question"}, "sequence", [])]),
    "bars come once a day": (LATE, {"prices": BARS}, [
        ("entity_price_series", QBG, "close", [5.0, 4.0]),
        ("entity_price_range", QBG | {"start_date": "2024-03-04"}, "close", [4.0, 5.0]),
        ("entity_latest_price", QBG, "close", [5.0])]),
    "the first print of a bar": ("2024-03-08T00:00:00Z", {"prices": CORRECTED}, [
        ("entity_latest_price", QBG, "close", [4.0])]),
    "a corrected bar": (LATE, {"prices": CORRECTED}, [("entity_latest_price", QBG, "close", [4.5])]),
    "dividends and splits come newest first": (LATE, {
        "dividends": [action(n, dividend_id=f"QBG_{n}", declaration_date=f"2024-03-0{n}", cash_amount=n / 10)
                      for n in (1, 2)],
        "splits": [action(n, split_id=f"QBG_{n}", execution_date=f"2024-03-0{n}", split_from=1.0, split_to=n + 1.0)
                   for n in (1, 2)]}, [
        ("entity_dividends", QBG, "cash_amount", [0.2, 0.1]), ("entity_splits", QBG, "split_to", [3.0, 2.0])]),
    "a company once it was observed": (LATE, {"companies": COMPANIES}, [("entity_company", QBG, "name", ["Bogmarsh"])]),
    "a company before it was observed": ("2024-03-08T00:00:00Z", {"companies": COMPANIES}, [
        ("entity_company", QBG, "name", [])]),
    "a metric has one row a period, as its newest filing states it": (LATE, {"xbrl_facts": [
        fact("1", 1), fact("2", 5), fact("3", 3, period_start="2024-01-01", period_end="2024-02-29")]},
        [("xbrl_metric", QBG | REVENUES, "value", ["2", "3"])]),
    "metrics leave out members, texts and other forms": (LATE, {"xbrl_facts": [
        fact("1", 1), fact("2", 1, concept="a:Text", is_numeric=False),
        fact("3", 1, concept="a:Part", members="a:M", member_count=1),
        fact("4", 1, concept="a:Other", form_type="8-K")]},
        [("xbrl_all_metrics", QBG, "value", ["1"])]),
    "a concept is found by the words of its label with its newest fact": (LATE, {"xbrl_facts": [
        fact("1", 1), fact("2", 5), fact("3", 2, concept="us-gaap:CostOfRevenue", label="Cost of revenue"),
        fact("4", 2, concept="us-gaap:Assets", label="Assets")]},
        [("xbrl_concept_search", QBG | {"query": "revenues cost"}, ("concept_qname", "value"),
          [("us-gaap:Revenues", "2"), ("us-gaap:CostOfRevenue", "3")])]),
    "segments take the least qualified, then the newest fact of each quarter": (LATE, SEGMENTS, [
        ("xbrl_segments", OF_OIL, ("quarter", "member_label", "value", "dimensionality"),
         [(date(2024, 3, 31), "Oil", "4", 1), (date(2023, 12, 31), "Oil", "2", 1)]),
        ("xbrl_segments", OF_OIL | {"num_quarters": 1}, "value", ["4"])]),
    "the latest value is of the newest period in the vintage that was public": (
        AT.format(5, 1), {"macro_observations": GDP},
        [("macro_latest", {"series": ["GDP", "NONE"]},
          ("value", "observation_date", "vintage", "previous_value", "previous_date"),
          [(17149.6, NEW_YEAR, "2014-04-30", 17089.6, date(2013, 10, 1))])]),
    "a series of both sources has rows of both": (LATE, {"macro_observations": GDP, "macro_panels": [PANEL]}, [
        ("macro_latest", {"series": "GDP"}, ("dataset", "value"),
         [("macro_observations", 17016.0), ("macro_panels", 1.0)])]),
    "a withdrawn value is not the latest": (
        LATE, {"macro_observations": [*GDP, observation("2014-04-01", "2014-07-30", None)]},
        [("macro_latest", {"series": "GDP"}, "observation_date", [NEW_YEAR])]),
    **{f"vintages up to {at[:10]}, oldest first": (at, {"macro_observations": GDP}, [
        ("macro_vintages", {"series": "GDP", "period": "2014-01-01"}, ("value", "change"), vintages)])
        for at, vintages in ((AT.format(4, 29), []), (AT.format(5, 28), [(17149.6, None)]),
                             (AT.format(5, 29), [(17149.6, None), (17101.3, pytest.approx(-48.3))]))},
    "a release tells first values from revisions": (LATE, {"macro_observations": [
        *GDP, observation("2014-04-01", "2014-07-30", 17294.7), observation("2014-01-01", "2014-07-30", 17044.0)]},
        [("macro_release", {"day": "2014-07-30"}, ("observation_date", "value", "previous_value", "is_first"),
          [(date(2014, 4, 1), 17294.7, None, True), (NEW_YEAR, 17044.0, 17016.0, False)])]),
    "a release is of its day in New York": (
        LATE, {"macro_observations": [observation("2014-04-01", "2014-07-30", 1.0, at="2014-07-31T03:59:59Z")]},
        [("macro_release", {"day": "2014-07-30"}, "value", [1.0]),
         ("macro_release", {"day": "2014-07-31"}, "value", []),
         ("macro_release", {"day": "2014-07-30", "series": "CPI"}, "value", [])]),
    "a curve is of one day by maturity": (LATE, {"macro_observations": CURVE}, [
        ("macro_curve", {}, ("years", "yield"), [(0.25, 0.1), (2.0, 0.3), (10.0, 2.6)]),
        ("macro_curve", {"day": "2014-03-04"}, "yield", [2.7])]),
    "quotes are those of each instrument's newest public day": (AT.format(7, 1), {"market_quotes": QUOTES}, [
        ("quotes_latest", {"kind": "Curve"}, ("instrument", "tenor", "value"),
         [("EUR", "2Y", 2.0), ("USD", "10Y", 4.2), ("USD", "2Y", 4.3)]),
        ("quotes_latest", {"kind": "curve", "instruments": "USD", "day": "2014-04-01"}, "value", [4.0]),
        ("quotes_range", USD | {"start_date": "2014-04-01", "tenor": "2Y"}, "value", [4.0, 4.3]),
        ("quotes_range", USD | {"start_date": "2014-04-02"}, "value", [4.2, 4.3])]),
    "notes are found by time, publisher and words": (LATE, {"research_notes": NOTES}, [
        ("research_latest", {}, "note", ["b/fx.md", "a/rates.md"]),
        ("research_latest", {"publisher": "a", "characters": 8}, "text", ["duration"]),
        ("research_search", FOUND, "note", ["a/rates.md"])]),
    "a registry answers for one model or all": (
        LATE, {"model_registry": [PUBLIC | {"model": name, "source": "https://x.example"} for name in ("m-2", "m-1")]},
        [("model_known", {}, "model", ["m-1", "m-2"]),
         ("model_known", {"model": "m-1"}, "knowledge_cutoff", [None])]),
    "a history is of one source, oldest first, in the vintages of then": (
        AT.format(5, 29), {"macro_observations": GDP, "macro_panels": [PANEL]},
        [("macro_series", {"series": "GDP"}, ("dataset", "value"),
          [("macro_observations", 17089.6), ("macro_observations", 17101.3)]),
         ("macro_series", {"series": "GDP", "limit": 1}, "value", [17101.3])]),
    "estimates and grades come newest first": (LATE, {
        "av_estimates": [QBG | PUBLIC | {"horizon": "fiscal year", "fiscal_date_ending": day}
                         for day in ("2014-12-31", "2015-12-31")],
        "yahoo_upgrades": [QBG | PUBLIC | {"firm": firm, "graded_at": AT.format(2, day)}
                           for day, firm in enumerate("ab", 1)]},
        [("estimates_latest", {"ticker": "qbg"}, "fiscal_date_ending", [date(2015, 12, 31), date(2014, 12, 31)]),
         ("grades_latest", QBG | {"limit": 1}, "firm", ["b"])]),
}  # fmt: skip
"""By name: the instant, the rows of the world, and the queries, each with values, columns and expected rows."""


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_query_returns_the_expected_rows(world, case):
    as_of, rows, questions = case
    outcome = world(as_of, **rows)
    for query, values, columns, due in questions:
        names = (columns,) if isinstance(columns, str) else columns
        answer = [tuple(row[name] for name in names) for row in outcome.run(query, **values)]
        assert answer == [each if isinstance(each, tuple) else (each,) for each in due], query


@pytest.mark.parametrize(
    ("query", "dataset", "key"),
    [
        ("report_search_sections", "report_sections", "section_name"),
        ("report_search_exhibits", "exhibits", "exhibit_number"),
    ],
)
def test_filing_texts_are_searched_and_previewed_by_their_first_500_characters(world, query, dataset, key):
    parts = [
        {"accession_no": f"acc-{n}", "ticker": "QBG", key: f"part {n}", "content": text, "available_at": DAY.format(n)}
        for n, text in ((1, "hedge " * 200), (2, "drilling"), (4, "hedge"))
    ]
    result = world(reports=REPORTS, **{dataset: parts}).run(query, ticker="QBG", query="hedge")
    assert [(row[key], len(row["content_preview"])) for row in result] == [("part 1", 500)]


def test_pages_and_results_are_found_by_words(world):
    page = PUBLIC | {"url": "https://a.example", "title": "Rates", "text": "duration"}
    result = PUBLIC | {"url": "https://b.example", "title": "Dollar", "snippet": "duration and more"}
    actual = world(web_pages=[page], web_results=[result]).run("web_search", query="duration")
    assert {(row["dataset"], row["url"]) for row in actual} == {
        ("web_pages", "https://a.example"), ("web_results", "https://b.example"),
    }  # fmt: skip


def snapshot(world, section, **rows):
    """Return one section of an earnings snapshot: the value and the evidence by name."""
    result = world("2024-03-31T12:00:00Z", **rows).run("earnings_snapshot", ticker="QBG")
    return {row["name"]: (row["value"], row["evidence_ids"]) for row in result if row["section"] == section}


def test_a_snapshot_takes_a_single_bar_per_day_and_no_return_across_entities(world):
    sector = {"entity": "9", "kind": "sector"}
    bars = [bar(day, close, evidence=f"industry {day}") for day, close in ((4, 4.0), (5, 5.0), (6, 6.0))]
    bars += [bar(day, 1000.0, evidence=f"sector {day}", **sector) for day in (4, 5, 6)]
    assert snapshot(world, "returns", prices=bars) == {"last 1 bars": (pytest.approx(20), ["industry 5", "industry 6"])}
    assert snapshot(world, "prices", prices=bars)["2024-03-05"] == (5.0, ["industry 5"])
    assert snapshot(world, "returns", prices=[bars[0], bars[4], bars[2]]) == {}


@pytest.mark.parametrize("source", ["news", "benzinga_news"])
def test_snapshots_and_panels_count_an_article_once_from_its_first_publication(world, source):
    stated = [
        (1, "2024-03-30T12:00:00Z", "b"), (1, "2024-03-30T12:00:00Z", "a"), (1, "2024-03-30T12:00:00Z", "a"),
        (1, "2024-03-31T12:00:00Z", "edit"), (2, "2024-03-01T12:00:00Z", "just too old"),
        (2, "2024-03-30T12:00:00Z", "edit"), (3, "2024-03-01T12:00:00.000001Z", "just in time"),
    ]  # fmt: skip
    texts = [article(number, available_at=at, evidence=evidence) for number, at, evidence in stated]
    assert snapshot(world, "news", **{source: texts}) == {f"{source} in 30 days": (2.0, ["a", "just in time"])}
    (row,) = world(**{source: texts}).run("panel", pairs=[("QBG", "2024-03-31T12:00:00Z")])
    assert row["news_count"] == 2
