"""Pages as data: the JSON has what the page shows and nothing later, and a question's rows are available as files."""

import io
import json
import re

import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from forge.web import room
from pitlake.clock import instant
from pitlake.session import connect
from pitlake.web.address import Address
from pitlake.web.questions import get
from tests.doors.conftest import AS_OF
from tests.every import every
from tests.web.browsing import browsing

T = instant(AS_OF)
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
ACCEPT = {"accept": "application/json"}
HERE = Address(T, "QBG")
ADDRESSES = [HERE.url(), HERE.url("/compare", **{"with": "2024-03-01T21:00:00Z"}), HERE.url("/ask", question="filings")]


@pytest.fixture(scope="module")
def root(market_lake):
    return market_lake


@pytest.fixture(scope="module")
def client(root):
    with browsing(root, rooms=(room,)) as client:
        yield client


def as_json(url):
    path, _, query = url.partition("?")
    return f"{path}.json?{query}"


@pytest.mark.parametrize("url", ADDRESSES)
def test_pages_are_available_as_json_by_suffix_and_by_accept_header(client, url):
    answer = client.get(as_json(url))
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == client.get(url, headers=ACCEPT).json()
    assert client.get(url, headers={"accept": "text/html,application/json"}).text.startswith("<!doctype html>")
    instants = [instant(text) for text in INSTANT.findall(answer.text)]
    assert len(instants) > 5
    assert max(instants) <= T


def test_figures_in_the_json_match_the_session(client, root):
    company = client.get(as_json(HERE.url())).json()["company"]
    with connect(T, lake=root) as session:
        figures = get("figures").ask(session, session.company("QBG").company).rows()
    assert len(company["figures"]) == len(figures) > 0
    assert {figure["value_number"] for figure in company["figures"]} <= {value for row in figures for value in row}


def test_a_redirect_stays_json(client):
    answer = client.get(as_json(HERE.url("/compare")))
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/compare.json?")
    assert client.get(answer.headers["location"]).json()["page"] == "compare"


def test_errors_are_json_too(client):
    answer = client.get("/at.json?as_of=2999-01-01T00:00:00Z&ticker=QBG")
    assert answer.status_code == 400
    assert "as_of: is in the future" in answer.json()["sentence"]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_all_rows_of_a_question_can_be_downloaded_as_csv_or_parquet(client, root, form):
    answer = client.get(HERE.url(f"/ask.{form}", question="filings"))
    assert answer.headers["content-disposition"] == f'attachment; filename="QBG-filings.{form}"'
    table = (csv.read_csv if form == "csv" else pq.read_table)(io.BytesIO(answer.content))
    with connect(T, lake=root) as session:
        result = get("filings").ask(session, session.company("QBG").company)
    assert table.column_names == result.columns
    assert table.num_rows == len(result) > 0
    assert f"/ask.{form}?" in client.get(HERE.url("/ask", question="filings")).text


def test_an_unsupported_download_format_is_refused(client):
    answer = client.get(HERE.url("/ask.xlsx", question="filings"))
    assert answer.status_code == 400
    assert "rows can&#39;t be downloaded as &#39;xlsx&#39;; use csv or parquet" in answer.text


def test_desk_pages_as_json_leave_out_internal_objects(client, tmp_path, monkeypatch):
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    pages = {path: client.get(f"{path}.json?as_of={AS_OF}") for path in ("/desk", "/desk/approvals", "/desk/skills")}
    assert every(page.status_code == 200 for page in pages.values())
    assert every(page.json()["path"] == path for path, page in pages.items())
    assert not {"day", "desk", "lake"} & json.loads(pages["/desk"].text).keys()
