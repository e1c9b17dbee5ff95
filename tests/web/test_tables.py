"""Pages of any dataset: a mounted table and a built-in one, at T and no later."""

import io
import re
import shutil

import pyarrow.parquet as pq
import pytest

from pitlake.clock import instant
from pitlake.lake import Lake
from tests.doors.conftest import AS_OF
from tests.web.browsing import browsing

ROWS = [
    {"ticker": "NOG", "period": "2024-03-31", "eps": 0.9, "published_at": "2024-02-01T12:00:00Z"},
    {"ticker": "NOG", "period": "2024-03-31", "eps": 1.1, "published_at": "2024-04-01T12:00:00Z"},
    {"ticker": "NOG", "period": "2023-12-31", "eps": 0.8, "published_at": "2024-01-15T12:00:00Z"},
    {"ticker": "<b>X</b>", "period": "2024-03-31", "eps": 7.7, "published_at": "2024-02-01T12:00:00Z"},
    {"ticker": "NOG", "period": "2024-06-30", "eps": 99.5, "published_at": "2024-05-02T12:00:00Z"},
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


def test_the_tables_of_t_are_listed_and_no_other(client):
    page = get(client, "/tables")
    assert "/table?as_of=2024-05-01T00%3A00%3A00Z&dataset=estimates" in page.text
    names = {holding["dataset"] for holding in get(client, "/tables.json").json()["holdings"]}
    assert {"estimates", "news"} <= names
    before = client.get("/tables.json", params={"as_of": "2024-01-01T00:00:00Z"}).json()["holdings"]
    assert "estimates" not in {holding["dataset"] for holding in before}
    assert "estimates" not in client.get("/tables.json", params={"as_of": "2024-01-01T00:00:00Z"}).text


def test_a_mounted_table_shows_the_newest_rows_of_t_and_nothing_later(client):
    answer = get(client, "/table.json", dataset="estimates").json()
    assert sorted(row["eps"] for row in answer["rows"]) == [0.8, 1.1, 7.7]
    page = get(client, "/table", dataset="estimates").text
    assert "99.5" not in page
    assert "<b>X</b>" not in page
    instants = [instant(row["available_at"]) for row in answer["rows"]]
    assert max(instants) <= instant(AS_OF)


def test_an_entity_is_drawn_and_new_rows_can_be_told_apart(client):
    page = get(client, "/table", dataset="estimates", entity="NOG").text
    assert "<svg" in page
    assert "7.7" not in page
    assert "<svg" not in get(client, "/table", dataset="xbrl_facts", entity="0000000001").text  # many numbers a day
    rows = get(client, "/table.json", dataset="estimates", since="2024-03-01T00:00:00Z").json()["rows"]
    assert [row["eps"] for row in rows] == [1.1]


def test_a_row_leads_to_all_of_its_revisions(client):
    page = get(client, "/table", dataset="estimates", entity="NOG").text
    links = [link.replace("&amp;", "&") for link in re.findall(r'href="(/row[^"]+)"', page)]
    revisions = [client.get(link, headers={"accept": "application/json"}).json()["rows"] for link in links]
    assert sorted([row["eps"] for row in rows] for rows in revisions) == [[0.8], [1.1, 0.9]]


@pytest.mark.parametrize("dataset", ["news", "prices", "xbrl_facts", "reports"])
def test_a_row_of_every_kind_of_key_is_found_again(client, dataset):
    page = get(client, "/table", dataset=dataset).text
    link = re.search(r'href="(/row[^"]+)"', page)[1].replace("&amp;", "&")
    assert len(client.get(link, headers={"accept": "application/json"}).json()["rows"]) >= 1


def test_every_row_comes_as_parquet(client):
    answer = get(client, "/table.parquet", dataset="estimates")
    assert sorted(pq.read_table(io.BytesIO(answer.content))["eps"].to_pylist()) == [0.8, 1.1, 7.7]


@pytest.mark.parametrize(
    ("path", "query", "problem"),
    [
        ("/table", {}, "dataset: missing"),
        ("/table", {"dataset": "estimate"}, "did you mean estimates"),
        ("/table", {"dataset": "estimates", "column": "epz"}, "did you mean eps"),
        ("/table", {"dataset": "estimates", "since": "yesterday"}, "since: "),
        ("/table.xlsx", {"dataset": "estimates"}, "use csv or parquet"),
        ("/tables", {"as_of": "2999-01-01T00:00:00Z"}, "as_of: is in the future"),
    ],
)
def test_what_is_wrong_is_one_sentence(client, path, query, problem):
    answer = client.get(path, params={"as_of": AS_OF} | query)
    assert answer.status_code == 400
    assert problem in answer.text
