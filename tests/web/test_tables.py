"""Pages of any dataset: a mounted table and a built-in one, with rows up to T and none later."""

import html
import io
import re
import shutil

import pyarrow.parquet as pq
import pytest

from pitlake.clock import instant
from pitlake.lake import Lake
from pitlake.web import tables
from tests.doors.conftest import AS_OF
from tests.web.browsing import BASE, browsing

ROWS = [
    {"ticker": "QBG", "period": "2024-12-31", "eps": 1.2, "published_at": "2024-02-01T12:00:00Z"},
    {"ticker": "QBG", "period": "2024-03-31", "eps": 0.9, "published_at": "2024-02-01T12:00:00Z"},
    {"ticker": "QBG", "period": "2024-03-31", "eps": 1.1, "published_at": "2024-04-01T12:00:00Z"},
    {"ticker": "QBG", "period": "2023-12-31", "eps": 0.8, "published_at": "2024-01-15T12:00:00Z"},
    {"ticker": "<b>X</b>", "period": "2024-03-31", "eps": 7.7, "published_at": "2024-02-01T12:00:00Z"},
    {"ticker": "QBG", "period": "2024-06-30", "eps": 99.5, "published_at": "2024-05-02T12:00:00Z"},
]
OPTIONS = {"key": ("ticker", "period"), "available_at": "published_at", "valid_at": "period"}


@pytest.fixture(scope="module")
def client(market_lake, tmp_path_factory):
    import pandas as pd

    root = shutil.copytree(market_lake, tmp_path_factory.mktemp("tables") / "lake")
    frame = pd.DataFrame(ROWS)
    frame["published_at"] = pd.to_datetime(frame["published_at"])
    frame["period"] = pd.to_datetime(frame["period"]).dt.date
    Lake(root).mount(frame, "estimates", **OPTIONS)
    with browsing(root) as client:
        yield client


def get(client, path, **query):
    return client.get(path, params={"as_of": AS_OF} | query)


def test_only_tables_with_rows_public_at_t_are_listed(client):
    page = get(client, "/tables")
    assert "/table?as_of=2024-05-01T00%3A00%3A00Z&dataset=estimates" in page.text
    names = {holding["dataset"] for holding in get(client, "/tables.json").json()["holdings"]}
    assert {"estimates", "news"} <= names
    before = client.get("/tables.json", params={"as_of": "2024-01-01T00:00:00Z"}).json()["holdings"]
    assert "estimates" not in {holding["dataset"] for holding in before}
    assert "estimates" not in client.get("/tables.json", params={"as_of": "2024-01-01T00:00:00Z"}).text


def test_a_mounted_table_shows_its_newest_rows_as_of_t_and_nothing_later(client):
    answer = get(client, "/table.json", dataset="estimates").json()
    assert sorted(row["eps"] for row in answer["rows"]) == [0.8, 1.1, 1.2, 7.7]
    page = get(client, "/table", dataset="estimates").text
    assert "99.5" not in page
    assert "<b>X</b>" not in page
    instants = [instant(row["available_at"]) for row in answer["rows"]]
    assert max(instants) <= instant(AS_OF)


def test_an_entity_is_charted_and_rows_since_an_instant_can_be_selected(client):
    page = get(client, "/table", dataset="estimates", entity="QBG").text
    assert '<svg class="plot' in page
    assert "1 of them are about days after T" in page
    assert "7.7" not in page
    assert "k-line" not in get(client, "/table", dataset="xbrl_facts", entity="0000000001").text  # many numbers per day
    rows = get(client, "/table.json", dataset="estimates", since="2024-03-01T00:00:00Z").json()["rows"]
    assert [row["eps"] for row in rows] == [1.1]


def eps(client, **query):
    """Return the values of the column eps on a page, in order."""
    answer = get(client, "/table.json", dataset="estimates", **query).json()
    return [row["eps"] for row in answer["rows"]]


def test_following_a_column_head_sorts_the_rows_by_that_column(client):
    page = get(client, "/table", dataset="estimates").text
    (head,) = re.findall(r'<a href="([^"]+)">eps</a>', page)
    falling = client.get(html.unescape(head))
    assert eps(client, sort="-eps") == [7.7, 1.2, 1.1, 0.8]
    assert 'aria-sort="descending"' in falling.text
    (again,) = re.findall(r'<a href="([^"]+)">eps ↓</a>', falling.text)
    assert 'aria-sort="ascending"' in client.get(html.unescape(again)).text
    assert eps(client, sort="eps") == [0.8, 1.1, 1.2, 7.7]
    assert eps(client, sort="available_at")[0] == 0.8


@pytest.mark.parametrize(
    ("where", "test", "value", "result"),
    [
        ("eps", "at least", "1.2", [1.2, 7.7]),
        ("eps", "at most", "0.8", [0.8]),
        ("period", "is", "2023-12-31", [0.8]),
        ("period", "is not", "2024-03-31", [0.8, 1.2]),
        ("ticker", "contains", "<B>", [7.7]),
        ("ticker", "is", "' OR true --", []),
        ("available_at", "at least", "2024-03-01T00:00:00Z", [1.1]),
    ],
)
def test_rows_are_filtered_by_a_column(client, where, test, value, result):
    assert sorted(eps(client, where=where, test=test, value=value)) == result
    page = get(client, "/table", dataset="estimates", where=where, test=test, value=value).text
    (link,) = re.findall(r'<a href="(/sql[^"]+)">as SQL', page)
    rows = client.get(html.unescape(link).replace("/sql?", "/sql.json?")).json()
    assert sorted(row[rows["columns"].index("eps")] for row in rows["rows"]) == result


def test_rows_are_paginated(client, monkeypatch):
    monkeypatch.setattr(tables, "MOST_ROWS", 3)
    query = {"dataset": "estimates", "sort": "eps"}
    first = get(client, "/table", **query).text
    assert "Rows 1 to 3 of 4" in first
    (link,) = re.findall(r'rel="next" href="([^"]+)"', first)
    second = client.get(html.unescape(link)).text
    assert "Rows 4 to 4 of 4" in second
    assert "7.7" in second
    assert ('rel="next"' in second, 'rel="prev"' in second) == (False, True)
    assert eps(client, sort="eps", turn="2") == [7.7]
    response = get(client, "/sql.json", sql="SELECT eps FROM estimates ORDER BY eps", turn="2").json()
    assert (response["rows"], response["more"]) == ([[7.7]], False)


def test_reader_sql_is_answered_as_of_t_and_does_not_affect_later_queries(client):
    def told(sql):
        return get(client, "/sql.json", sql=sql).json()

    assert told("SELECT max(eps) AS most FROM estimates")["rows"] == [[7.7]]
    assert told("SELECT count(*) FROM news WHERE available_at > as_of()")["rows"] == [[0]]
    answer = get(client, "/sql.parquet", sql="SELECT eps FROM estimates")
    assert sorted(pq.read_table(io.BytesIO(answer.content))["eps"].to_pylist()) == [0.8, 1.1, 1.2, 7.7]
    get(client, "/sql", sql="CREATE OR REPLACE TEMP TABLE estimates AS SELECT 1 AS eps; SELECT 2")
    get(client, "/sql", sql="CREATE TEMP MACRO as_of() AS now(); SET VARIABLE x = 1; SELECT 3")
    assert told("SELECT max(eps), getvariable('x') FROM estimates")["rows"] == [[7.7, None]]
    page = get(client, "/sql", sql="SELECT '<script>' AS a").text
    assert '<td title="&lt;script&gt;">&lt;script&gt;</td>' in page


def test_a_row_leads_to_all_of_its_revisions(client):
    page = get(client, "/table", dataset="estimates", entity="QBG").text
    links = [link.replace("&amp;", "&") for link in re.findall(r'href="(/row[^"]+)"', page)]
    revisions = [client.get(link, headers={"accept": "application/json"}).json()["rows"] for link in links]
    assert sorted([row["eps"] for row in rows] for rows in revisions) == [[0.8], [1.1, 0.9], [1.2]]


@pytest.mark.parametrize("dataset", ["news", "prices", "xbrl_facts", "reports"])
def test_row_links_work_for_every_kind_of_key(client, dataset):
    page = get(client, "/table", dataset=dataset).text
    link = re.search(r'href="(/row[^"]+)"', page)[1].replace("&amp;", "&")
    assert len(client.get(link, headers={"accept": "application/json"}).json()["rows"]) >= 1


def test_a_table_can_be_downloaded_as_parquet(client):
    answer = get(client, "/table.parquet", dataset="estimates")
    assert sorted(pq.read_table(io.BytesIO(answer.content))["eps"].to_pylist()) == [0.8, 1.1, 1.2, 7.7]


@pytest.mark.parametrize(
    ("path", "query", "problem"),
    [
        ("/table", {}, "dataset: missing"),
        ("/table", {"dataset": "estimate"}, "did you mean estimates"),
        ("/table", {"dataset": "estimates", "column": "epz"}, "did you mean eps"),
        ("/table", {"dataset": "estimates", "since": "yesterday"}, "since: "),
        ("/table", {"dataset": "estimates", "sort": "-epz"}, "did you mean eps"),
        ("/table", {"dataset": "estimates", "where": "epz", "value": "1"}, "did you mean eps"),
        ("/table", {"dataset": "estimates", "where": "eps", "value": "1", "test": "like"}, "choose one of is, is not"),
        ("/table", {"dataset": "estimates", "where": "eps", "value": "much"}, "'much' to DOUBLE"),
        ("/table", {"dataset": "estimates", "turn": "0"}, "turn: '0' is not a page"),
        ("/table", {"dataset": "estimates", "turn": f"000000001{'9' * 5000}"}, "turn: '000000001999"),
        ("/sql", {"sql": "SELECT 'infinity'::TIMESTAMPTZ"}, "outside the years 1 to 9999"),
        ("/sql", {"sql": "SELECT epz FROM estimates"}, 'Candidate bindings: "eps"'),
        ("/sql", {"sql": "FROM read_csv('/etc/passwd')"}, "pitlake mount"),
        ("/table.xlsx", {"dataset": "estimates"}, "use csv or parquet"),
        ("/tables", {"as_of": "2999-01-01T00:00:00Z"}, "as_of: is in the future"),
    ],
)
def test_an_invalid_request_is_refused_and_the_problem_named(client, path, query, problem):
    answer = client.get(path, params={"as_of": AS_OF} | query)
    assert answer.status_code == 400
    assert problem in html.unescape(answer.text)


def test_time_controls_never_redirect_to_another_host(client):
    moved = client.get(f"{BASE}//example.org/at?as_of={AS_OF}&date=2024-04-01")
    assert moved.headers["location"].startswith("/example.org/at?")
