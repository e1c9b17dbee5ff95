"""The queries about macroeconomic series, quotes and notes, on worlds small enough to see the answer."""

from datetime import date

import pytest

AT = "2014-{:02d}-{:02d}T12:30:00Z"


def observation(period, vintage, value, series="GDP", at=None):
    month, day = map(int, vintage.split("-")[1:])
    names = {"series_id": series, "observation_date": period, "vintage_date": vintage, "value": value}
    return names | {"available_at": at or AT.format(month, day), "withdrawn": value is None}


GDP = [
    observation("2013-10-01", "2014-03-27", 17089.6),
    observation("2014-01-01", "2014-04-30", 17149.6),
    observation("2014-01-01", "2014-05-29", 17101.3),
    observation("2014-01-01", "2014-06-25", 17016.0),
]
PANEL = {
    "series": "GDP",
    "observation_date": "2013-12-01",
    "vintage": "2014-02",
    "value": 1.0,
    "available_at": AT.format(2, 3),
}


def test_the_latest_value_is_of_the_newest_period_in_the_vintage_that_was_public(world):
    (row,) = world(AT.format(5, 1), macro_observations=GDP).run("macro_latest", series=["GDP", "NONE"])
    assert (row["value"], row["observation_date"], row["vintage"]) == (17149.6, date(2014, 1, 1), "2014-04-30")
    assert (row["previous_value"], row["previous_date"]) == (17089.6, date(2013, 10, 1))


def test_a_series_of_both_sources_is_told_by_both(world):
    result = world(macro_observations=GDP, macro_panels=[PANEL]).run("macro_latest", series="GDP")
    assert [(row["dataset"], row["value"]) for row in result] == [
        ("macro_observations", 17016.0),
        ("macro_panels", 1.0),
    ]


def test_a_withdrawn_value_is_not_the_latest(world):
    outcome = world(macro_observations=[*GDP, observation("2014-04-01", "2014-07-30", None)])
    assert outcome.run("macro_latest", series="GDP")[0]["observation_date"] == date(2014, 1, 1)


@pytest.mark.parametrize(
    ("at", "values"), [(AT.format(4, 29), []), (AT.format(5, 28), [17149.6]), (AT.format(5, 29), [17149.6, 17101.3])]
)
def test_vintages_are_those_that_were_public_oldest_first(world, at, values):
    result = world(at, macro_observations=GDP).run("macro_vintages", series="GDP", period="2014-01-01")
    assert [row["value"] for row in result] == values
    assert [row["change"] for row in result[1:]] == [pytest.approx(-48.3)] * len(result[1:])


def test_a_release_tells_first_values_from_revisions(world):
    rows = [*GDP, observation("2014-04-01", "2014-07-30", 17294.7), observation("2014-01-01", "2014-07-30", 17044.0)]
    result = world(macro_observations=rows).run("macro_release", day="2014-07-30")
    display = [(row["observation_date"].month, row["value"], row["previous_value"], row["is_first"]) for row in result]
    assert display == [(4, 17294.7, None, True), (1, 17044.0, 17016.0, False)]


def test_a_release_is_of_its_day_in_new_york(world):
    rows = [observation("2014-04-01", "2014-07-30", 1.0, at="2014-07-31T03:59:59Z")]
    outcome = world(macro_observations=rows)
    assert [len(outcome.run("macro_release", day=day)) for day in ("2014-07-30", "2014-07-31")] == [1, 0]
    assert outcome.run("macro_release", day="2014-07-30", series="CPI") == []


def test_a_curve_is_of_one_day_by_maturity(world):
    rows = [
        observation("2014-03-03", "2014-03-04", 2.6, "DGS10"),
        observation("2014-03-03", "2014-03-04", 0.3, "DGS2"),
        observation("2014-03-03", "2014-03-04", 0.1, "DGS3MO"),
        observation("2014-03-04", "2014-03-05", 2.7, "DGS10"),
        observation("2014-03-03", "2014-03-04", 9.9, "DGSX"),
    ]
    outcome = world(macro_observations=rows)
    assert [(row["years"], row["yield"]) for row in outcome.run("macro_curve")] == [
        (0.25, 0.1),
        (2.0, 0.3),
        (10.0, 2.6),
    ]
    assert [row["yield"] for row in outcome.run("macro_curve", day="2014-03-04")] == [2.7]


MAY = AT.format(5, 1)


def quote(instrument, tenor, value, day, at=MAY):
    names = {"kind": "curve", "instrument": instrument, "tenor": tenor, "point": "outright", "measure": "par_rate"}
    return names | {"quoted_on": day, "value": value, "available_at": at}


def test_quotes_are_those_of_each_instrument_s_newest_public_day(world):
    quotes = [
        quote("USD", "2Y", 4.0, "2014-04-01"),
        quote("USD", "10Y", 4.2, "2014-04-02"),
        quote("USD", "2Y", 4.1, "2014-04-02"),
        quote("USD", "2Y", 4.3, "2014-04-02", AT.format(6, 1)),
        quote("EUR", "2Y", 2.0, "2014-04-01"),
        quote("USD", "2Y", 9.0, "2014-04-03", AT.format(9, 1)),
    ]
    outcome = world(AT.format(7, 1), market_quotes=quotes)
    result = [(row["instrument"], row["tenor"], row["value"]) for row in outcome.run("quotes_latest", kind="Curve")]
    assert result == [("EUR", "2Y", 2.0), ("USD", "10Y", 4.2), ("USD", "2Y", 4.3)]
    assert [
        row["value"] for row in outcome.run("quotes_latest", kind="curve", instruments="USD", day="2014-04-01")
    ] == [4.0]


def test_quotes_since_a_day_are_those_of_one_instrument_and_tenor(world):
    quotes = [
        quote("USD", "2Y", 4.0, "2014-04-01"),
        quote("USD", "2Y", 4.1, "2014-04-02"),
        quote("USD", "2Y", 4.3, "2014-04-02", AT.format(6, 1)),
        quote("USD", "10Y", 4.2, "2014-04-02"),
        quote("EUR", "2Y", 2.0, "2014-04-02"),
        quote("USD", "2Y", 9.0, "2014-04-03", AT.format(9, 1)),
    ]
    outcome = world(AT.format(7, 1), market_quotes=quotes)
    question = {"kind": "Curve", "instrument": "USD"}
    result = outcome.run("quotes_range", **question, start_date="2014-04-01", tenor="2Y")
    assert [row["value"] for row in result] == [4.0, 4.3]
    assert [row["value"] for row in outcome.run("quotes_range", **question, start_date="2014-04-02")] == [4.2, 4.3]


def test_notes_are_found_by_time_publisher_and_words(world):
    notes = [
        {
            "note": "a/rates.md",
            "publisher": "a",
            "title": "Rates",
            "text": "duration is cheap",
            "available_at": AT.format(3, 1),
        },
        {"note": "b/fx.md", "publisher": "b", "title": "Dollar", "text": "stronger", "available_at": AT.format(4, 1)},
    ]
    outcome = world(research_notes=notes)
    assert [row["note"] for row in outcome.run("research_latest")] == ["b/fx.md", "a/rates.md"]
    assert [row["text"] for row in outcome.run("research_latest", publisher="a", characters=8)] == ["duration"]
    assert [row["note"] for row in outcome.run("research_search", query="duration")] == ["a/rates.md"]


def test_news_needs_no_ticker(world):
    news = [
        {"id": f"bzNews_{number}", "tickers": tickers, "channels": ["Macro"], "created": AT.format(3, number),
         "available_at": AT.format(3, number)}
        for number, tickers in enumerate((["QBG"], [], ["QZP"]), 1)
    ]  # fmt: skip
    outcome = world(news=news)
    start = {"start_date": "2014-03-02"}
    assert [row["id"] for row in outcome.run("news_latest", limit=2)] == ["bzNews_3", "bzNews_2"]
    assert [row["id"] for row in outcome.run("news_date_range", **start)] == ["bzNews_3", "bzNews_2"]
    assert [row["id"] for row in outcome.run("news_by_channel", channel="macro", **start)] == ["bzNews_3", "bzNews_2"]


def test_a_registry_answers_for_one_model_or_all(world):
    rows = [{"model": name, "source": "https://x.example", "available_at": AT.format(3, 1)} for name in ("m-2", "m-1")]
    outcome = world(model_registry=rows)
    assert [row["model"] for row in outcome.run("model_known")] == ["m-1", "m-2"]
    assert [row["knowledge_cutoff"] for row in outcome.run("model_known", model="m-1")] == [None]


def test_a_history_is_of_one_source_oldest_first_in_the_vintages_of_then(world):
    outcome = world(AT.format(5, 29), macro_observations=GDP, macro_panels=[PANEL])
    result = [(row["dataset"], row["value"]) for row in outcome.run("macro_series", series="GDP")]
    assert result == [("macro_observations", 17089.6), ("macro_observations", 17101.3)]
    assert [row["value"] for row in outcome.run("macro_series", series="GDP", limit=1)] == [17101.3]


def test_pages_and_results_are_found_by_words(world):
    at = {"available_at": AT.format(3, 1)}
    page = at | {"url": "https://a.example", "title": "Rates", "text": "duration"}
    result = at | {"url": "https://b.example", "title": "Dollar", "snippet": "duration and more"}
    actual = world(web_pages=[page], web_results=[result]).run("web_search", query="duration")
    assert {(row["dataset"], row["url"]) for row in actual} == {
        ("web_pages", "https://a.example"), ("web_results", "https://b.example"),
    }  # fmt: skip


def test_estimates_and_grades_come_newest_first(world):
    at = {"available_at": AT.format(3, 1), "ticker": "QBG"}
    estimates = [at | {"horizon": "fiscal year", "fiscal_date_ending": day} for day in ("2014-12-31", "2015-12-31")]
    grades = [at | {"firm": firm, "graded_at": AT.format(2, day)} for day, firm in enumerate("ab", 1)]
    outcome = world(av_estimates=estimates, yahoo_upgrades=grades)
    assert [row["fiscal_date_ending"].year for row in outcome.run("estimates_latest", ticker="qbg")] == [2015, 2014]
    assert [row["firm"] for row in outcome.run("grades_latest", ticker="QBG", limit=1)] == ["b"]
