"""What each query of the catalogue answers, on worlds small enough to see the answer."""

import pytest

DAY = "2024-03-{:02d}T12:00:00Z"


def article(number, day=1, **more):
    row = {"id": f"bzNews_{number}", "tickers": ["QBG"], "created": DAY.format(day), "available_at": DAY.format(day)}
    return row | more


def filing(number, day=1, **more):
    return {
        "accession_no": f"acc-{number}",
        "form_type": "8-K",
        "role": "primary_filer",
        "ticker": "QBG",
        "tickers": ["QBG"],
        "created": DAY.format(day),
        "available_at": DAY.format(day),
    } | more


def ids(rows, column="id"):
    return [row[column].rsplit("_", 1)[-1].rsplit("-", 1)[-1] for row in rows]


NEWS = [article(1, 1), article(2, 3), article(3, 2, tickers=["AAA", "QBG"]), article(4, 4, tickers=["QZP"])]


def test_news_of_a_company_comes_newest_first_however_many_companies_it_names(world):
    assert ids(world(news=NEWS).run("news_latest", ticker="QBG")) == ["2", "3", "1"]


def test_a_range_includes_its_first_instant(world):
    outcome = world(news=NEWS)
    assert ids(outcome.run("news_date_range", ticker="QBG", start_date=DAY.format(2))) == ["2", "3"]
    assert ids(outcome.run("news_date_range", ticker="QBG", start_date="2024-03-02")) == ["2", "3"]
    assert ids(outcome.run("news_date_range", ticker="QBG", start_date="2024-03-03")) == ["2"]


def test_the_limit_bounds_the_newest(world):
    assert ids(world(news=NEWS).run("news_latest", ticker="qbg", limit=1)) == ["2"]


def test_a_channel_is_found_by_part_of_its_name_in_any_case(world):
    news = [article(1, channels=["Earnings Beats"]), article(2, channels=["News"]), article(3, channels=None)]
    assert ids(world(news=news).run("news_by_channel", ticker="QBG", start_date="2024-01-01", channel="earn")) == ["1"]


def test_an_edited_article_is_shown_in_its_newest_public_text(world):
    news = [article(1, title="draft"), article(1, title="final", available_at=DAY.format(9))]
    assert [row["title"] for row in world("2024-03-05T00:00:00Z", news=news).run("news_latest", ticker="QBG")] == [
        "draft"
    ]
    assert [row["title"] for row in world(news=news).run("news_latest", ticker="QBG")] == ["final"]


def test_an_article_retagged_away_from_a_company_is_no_longer_its_news(world):
    news = [article(1), article(1, tickers=["QZP"], available_at=DAY.format(9))]
    assert world(news=news).run("news_latest", ticker="QBG") == []
    assert ids(world(news=news).run("news_latest", ticker="QZP")) == ["1"]


REPORTS = [
    filing(1, 1, items=["Item 2.02: Results of Operations", "Item 9.01: Exhibits"]),
    filing(2, 2, items=["Item 5.02: Departure"]),
    filing(3, 3, form_type="10-Q", items=None),
    filing(4, 4, role="referenced", items=["Item 2.02: Results of Operations"]),
    filing(5, 5, form_type="8-K/A", items=["Item 2.02: Results of Operations"]),
]


def test_filings_that_only_refer_to_a_company_are_not_its_filings(world):
    outcome = world(reports=REPORTS)
    assert ids(outcome.run("report_latest", ticker="QBG"), "accessionNo") == ["5", "3", "2", "1"]
    assert ids(outcome.run("report_range", ticker="QBG", start_date="2024-03-03"), "accessionNo") == ["5", "3"]


def test_earnings_reports_are_original_8_ks_with_item_2_02(world):
    assert ids(world(reports=REPORTS).run("report_earnings", ticker="QBG"), "accessionNo") == ["1"]


@pytest.mark.parametrize(
    ("query", "dataset", "key"),
    [
        ("report_search_sections", "report_sections", "section_name"),
        ("report_search_exhibits", "exhibits", "exhibit_number"),
    ],
)
def test_text_of_filings_is_searched_and_shown_by_its_start(world, query, dataset, key):
    parts = [
        {"accession_no": f"acc-{n}", "ticker": "QBG", key: f"part {n}", "content": text, "available_at": DAY.format(n)}
        for n, text in ((1, "hedge " * 200), (2, "drilling"), (4, "hedge"))
    ]
    result = world(reports=REPORTS, **{dataset: parts}).run(query, ticker="QBG", query="hedge")
    assert [(row[key], len(row["content_preview"])) for row in result] == [("part 1", 500)]


def call(number, day, ticker="QBG", **more):
    return {
        "transcript_id": f"{ticker}_{number}",
        "ticker": ticker,
        "conference_datetime": DAY.format(day),
        "available_at": DAY.format(day),
        "company_name": str(number),
    } | more


def exchange(number, sequence, day, text, ticker="QBG"):
    return {
        "transcript_id": f"{ticker}_{number}",
        "ticker": ticker,
        "sequence": sequence,
        "exchanges": f'[{{"role":"question","text":"{text}"}},{{"role":"answer","text":"yes"}}]',
        "conference_datetime": DAY.format(day),
        "available_at": DAY.format(day),
    }


CALLS = [call(1, 1), call(2, 8), call(3, 9, "QZP")]
EXCHANGES = [
    exchange(1, 0, 1, "old capex"),
    *(exchange(2, number, 8, f"topic {number}") for number in (10, 2, 0)),
    exchange(3, 0, 9, "capex", "QZP"),
]


def test_calls_come_newest_first(world):
    outcome = world(transcripts=CALLS)
    assert [r["company_name"] for r in outcome.run("transcript_range", ticker="QBG", start_date="2024-03-01")] == [
        "2",
        "1",
    ]
    assert [r["company_name"] for r in outcome.run("transcript_latest", ticker="QBG")] == ["2"]
    before = world("2024-03-05T00:00:00Z", transcripts=CALLS)
    assert [r["company_name"] for r in before.run("transcript_latest", ticker="QBG")] == ["1"]


def test_the_newest_call_s_exchanges_come_in_the_order_of_the_call(world):
    result = world(transcripts=CALLS, qa_exchanges=EXCHANGES).run("transcript_qa_latest", ticker="QBG")
    assert [row["sequence"] for row in result] == [0, 2, 10]


def test_exchanges_are_searched_by_what_was_said_not_by_their_json(world):
    outcome = world(qa_exchanges=EXCHANGES)
    assert [row["sequence"] for row in outcome.run("transcript_search_qa", ticker="QBG", query="capex")] == [0]
    assert outcome.run("transcript_search_qa", ticker="QBG", query="role OR question") == []


def bar(day, close=1.0, symbol="QBG", kind="company", entity="1", **more):
    return {
        "entity_kind": kind,
        "entity_id": entity,
        "symbol": symbol,
        "date": f"2024-03-{day:02d}",
        "close": close,
        "available_at": DAY.format(day),
    } | more


def test_bars_come_once_a_day_newest_first_or_oldest_first(world):
    bars = [bar(4, 4.0), bar(5, 5.0), bar(5, 9.0, entity="2", kind="industry"), bar(6, 6.0, "XRT")]
    outcome = world(prices=bars)
    assert [row["close"] for row in outcome.run("entity_price_series", ticker="QBG")] == [5.0, 4.0]
    assert [row["close"] for row in outcome.run("entity_price_range", ticker="QBG", start_date="2024-03-04")] == [
        4.0,
        5.0,
    ]
    assert [row["close"] for row in outcome.run("entity_latest_price", ticker="QBG")] == [5.0]


def test_a_corrected_bar_replaces_the_first_print_once_it_is_public(world):
    bars = [bar(4, 4.0), bar(4, 4.5, available_at=DAY.format(9))]
    assert world("2024-03-08T00:00:00Z", prices=bars).run("entity_latest_price", ticker="QBG")[0]["close"] == 4.0
    assert world(prices=bars).run("entity_latest_price", ticker="QBG")[0]["close"] == 4.5


def snapshot(world, section, **rows):
    """What an earnings snapshot says in one section: value and evidence by name."""
    result = world("2024-03-31T12:00:00Z", **rows).run("earnings_snapshot", ticker="QBG")
    return {row["name"]: (row["value"], row["evidence_ids"]) for row in result if row["section"] == section}


def test_a_snapshot_takes_one_bar_a_day_and_no_return_from_one_entity_to_another(world):
    sector = {"entity": "9", "kind": "sector"}
    bars = [bar(day, close, evidence=f"industry {day}") for day, close in ((4, 4.0), (5, 5.0), (6, 6.0))]
    bars += [bar(day, 1000.0, evidence=f"sector {day}", **sector) for day in (4, 5, 6)]
    assert snapshot(world, "returns", prices=bars) == {"last 1 bars": (pytest.approx(20), ["industry 5", "industry 6"])}
    assert snapshot(world, "prices", prices=bars)["2024-03-05"] == (5.0, ["industry 5"])
    assert snapshot(world, "returns", prices=[bars[0], bars[4], bars[2]]) == {}


@pytest.mark.parametrize("source", ["news", "benzinga_news"])
def test_a_snapshot_counts_an_article_once_from_when_it_first_was_public_as_a_panel_does(world, source):
    def told(number, at, evidence):
        return article(number, available_at=at, evidence=evidence)

    texts = [
        told(1, "2024-03-30T12:00:00Z", "b"),
        told(1, "2024-03-30T12:00:00Z", "a"),
        told(1, "2024-03-30T12:00:00Z", "a"),
        told(1, "2024-03-31T12:00:00Z", "edit"),
        told(2, "2024-03-01T12:00:00Z", "just too old"),
        told(2, "2024-03-30T12:00:00Z", "edit"),
        told(3, "2024-03-01T12:00:00.000001Z", "just in time"),
    ]
    assert snapshot(world, "news", **{source: texts}) == {f"{source} in 30 days": (2.0, ["a", "just in time"])}
    (row,) = world(**{source: texts}).run("panel", pairs=[("QBG", "2024-03-31T12:00:00Z")])
    assert row["news_count"] == 2


def test_dividends_and_splits_come_newest_first(world):
    dividends = [
        {
            "dividend_id": f"QBG_{n}",
            "ticker": "QBG",
            "declaration_date": f"2024-03-0{n}",
            "cash_amount": n / 10,
            "available_at": DAY.format(n),
        }
        for n in (1, 2)
    ]
    splits = [
        {
            "split_id": f"QBG_{n}",
            "ticker": "QBG",
            "execution_date": f"2024-03-0{n}",
            "split_from": 1.0,
            "split_to": n + 1.0,
            "available_at": DAY.format(n),
        }
        for n in (1, 2)
    ]
    outcome = world(dividends=dividends, splits=splits)
    assert [row["cash_amount"] for row in outcome.run("entity_dividends", ticker="QBG")] == [0.2, 0.1]
    assert [row["split_to"] for row in outcome.run("entity_splits", ticker="QBG")] == [3.0, 2.0]


def test_a_company_is_known_from_when_it_was_observed(world):
    companies = [{"cik": "1", "ticker": "QBG", "name": "Bogmarsh", "available_at": DAY.format(9)}]
    assert world(companies=companies).run("entity_company", ticker="QBG")[0]["name"] == "Bogmarsh"
    assert world("2024-03-08T00:00:00Z", companies=companies).run("entity_company", ticker="QBG") == []


def fact(value, day, **more):
    return {
        "accession_no": f"acc-{day}",
        "form_type": "10-Q",
        "cik": "1",
        "ticker": "QBG",
        "concept": "us-gaap:Revenues",
        "label": "Revenues",
        "value": value,
        "value_number": float(value),
        "decimals": "-3",
        "unit": "iso4217:USD",
        "period_type": "duration",
        "period_start": "2023-10-01",
        "period_end": "2023-12-31",
        "is_numeric": True,
        "available_at": DAY.format(day),
    } | more


def test_a_metric_is_told_once_a_period_as_its_newest_filing_states_it(world):
    later = {"period_start": "2024-01-01", "period_end": "2024-02-29"}
    facts = [fact("1", 1), fact("2", 5), fact("3", 3, **later)]
    result = world(xbrl_facts=facts).run("xbrl_metric", ticker="QBG", concept_qname="us-gaap:Revenues")
    assert [row["value"] for row in result] == ["2", "3"]


def test_metrics_leave_out_members_texts_and_other_forms(world):
    facts = [
        fact("1", 1),
        fact("2", 1, concept="a:Text", is_numeric=False),
        fact("3", 1, concept="a:Part", members="a:M", member_count=1),
        fact("4", 1, concept="a:Other", form_type="8-K"),
    ]
    assert [row["value"] for row in world(xbrl_facts=facts).run("xbrl_all_metrics", ticker="QBG")] == ["1"]


def test_a_concept_is_found_by_the_words_of_its_label_with_its_newest_fact(world):
    facts = [
        fact("1", 1),
        fact("2", 5),
        fact("3", 2, concept="us-gaap:CostOfRevenue", label="Cost of revenue"),
        fact("4", 2, concept="us-gaap:Assets", label="Assets"),
    ]
    result = world(xbrl_facts=facts).run("xbrl_concept_search", ticker="QBG", query="revenues cost")
    assert [(row["concept_qname"], row["value"]) for row in result] == [
        ("us-gaap:Revenues", "2"),
        ("us-gaap:CostOfRevenue", "3"),
    ]


def test_segments_take_the_least_qualified_then_the_newest_fact_of_each_quarter(world):
    quarters = [
        filing(n, n, form_type="10-Q", period_of_report=end) for n, end in ((1, "2023-12-31"), (5, "2024-03-31"))
    ]
    member = {"members": "a:OilMember", "member_count": 1, "dimensions": "a:Axis"}
    facts = [
        fact("1", 1, **member),
        fact("2", 5, **member),
        fact("3", 5, members="a:OilMember|a:UsMember", member_count=2, dimensions="a:Axis|a:Place"),
        fact("4", 5, period_start="2024-01-01", period_end="2024-03-30", **member),
        fact("5", 5, period_start="2023-04-01", period_end="2024-03-31", **member),
        fact("6", 5, members="a:GasMember", member_count=1, dimensions="a:Axis"),
    ]
    question = {"ticker": "QBG", "concept_qname": "us-gaap:Revenues", "member_qnames": "a:OilMember"}
    result = world(reports=quarters, xbrl_facts=facts).run("xbrl_segments", **question)
    assert [(str(r["quarter"]), r["member_label"], r["value"], r["dimensionality"]) for r in result] == [
        ("2024-03-31", "Oil", "4", 1),
        ("2023-12-31", "Oil", "2", 1),
    ]
    item = world(reports=quarters, xbrl_facts=facts).run("xbrl_segments", num_quarters=1, **question)
    assert [row["value"] for row in item] == ["4"]
