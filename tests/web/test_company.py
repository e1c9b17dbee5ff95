"""A company's page: a user's own tables, one line for all empty parts, and the search by a company's name."""

import html
import re
import shutil
from datetime import date

import pyarrow as pa
import pytest

from pipelines.demo.lake import built
from pitlake.clock import instant
from pitlake.lake import Lake
from pitlake.web.address import Address
from tests.doors.conftest import AS_OF
from tests.web.browsing import browsing

T = instant(AS_OF)
OWN = [
    ("QBG", date(2024, 3, 31), 0.9, "2024-02-01T12:00:00Z"),
    ("QBG", date(2024, 3, 31), 1.1, "2024-04-01T12:00:00Z"),  # restated
    ("QBG", date(2024, 12, 31), 1.25, "2024-04-02T12:00:00Z"),  # about a future day
    ("QZP", date(2024, 3, 31), 7.75, "2024-04-02T12:00:00Z"),
    ("QBG", date(2024, 6, 30), 99.5, "2024-05-02T12:00:00Z"),  # public after T
]


@pytest.fixture(scope="module")
def client(market_lake, tmp_path_factory):
    lake = Lake(shutil.copytree(market_lake, tmp_path_factory.mktemp("company") / "lake"))
    rows = [dict(zip(("symbol", "quarter", "eps", "at"), row, strict=True)) for row in OWN]
    lake.mount(pa.Table.from_pylist(rows), "guesses", key=["symbol", "quarter"], available_at="at", valid_at="quarter")
    lake.mount(pa.table({"id": [1], "at": ["2024-01-01T00:00:00Z"]}), "plain", key="id", available_at="at")
    with browsing(lake.root) as client:
        yield client


def section(client, company, mark):
    page = client.get(Address(T, company).url()).text
    return re.search(rf"{mark}.*?</section>", page, re.DOTALL)


def test_a_company_page_shows_a_mounted_table_and_marks_rows_about_days_after_t(client):
    own = section(client, "QBG", 'id="h-own-1"')[0]
    assert "guesses · all rows" in own
    assert re.findall(r'data-l="eps" class="num">([^<]+)<', own) == ["1.25", "1.10"]
    assert "1 of them are about days after T." in own
    (link,) = re.findall(r'href="(/table[^"]+)"', own)
    rows = client.get(html.unescape(link).replace("/table?", "/table.json?")).json()["rows"]
    assert [row["eps"] for row in rows] == [1.25, 1.1]
    (reply,) = client.get(Address(T, "QZP").url("/at.json")).json()["company"]["own"]
    assert (reply["name"], [row["eps"] for row in reply["rows"]]) == ("guesses", [7.75])
    assert section(client, "ZZZ", 'id="h-own-1"') is None


def test_datasets_without_rows_are_listed_in_a_single_line_at_the_foot(client):
    page = client.get(Address(T, "QBG").url()).text
    (line,) = re.findall(r"<summary><h2[^>]*>(.*?)</h2>", page)
    assert line == "Nothing was public at T of: calls, estimates, macro, planned dates"
    assert not re.search(r'id="h-(est|mac|plan)"', page)
    assert '<p class="void">' not in page
    nothing = client.get(Address(T, "ZZZ").url()).text
    assert "<details open><summary><h2" in nothing
    assert "<code>pitlake sync --tickers ZZZ</code>" in nothing


PATHS = ["/at", "/compare", "/history", "/ask", "/companies", "/tables", "/table", "/row", "/sql"]


@pytest.mark.parametrize("path", PATHS)
def test_moving_t_on_any_page_preserves_the_rest_of_its_address(client, path):
    query = {"as_of": AS_OF, "ticker": "QBG", "with": "2024-04-01T00:00:00Z", "question": "bars", "q": "a"}
    query |= {"dataset": "guesses", "k_symbol": "QBG", "k_quarter": "2024-03-31", "sql": "FROM guesses"}
    query |= {"of": "prices.close", "k_entity_kind": "company", "k_entity_id": "0000000001", "k_date": "2024-04-26"}
    page = client.get(path, params=query)
    assert page.status_code == 200
    bar = re.search(r'<div class="asof".*?</form>', page.text, re.DOTALL)[0]
    fields = {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)"[^>]*? value="([^"]*)"', bar)}
    assert fields.keys() >= {"as_of", "date", "time", "day"}
    moved = client.get(path, params=fields | {"date": "2024-04-29"})
    assert moved.status_code == 303
    there = client.get(moved.headers["location"])
    assert "as_of=2024-04-30T00%3A00%3A00Z" in moved.headers["location"]
    assert "Monday 29 April 2024, 20:00 New York" in there.text
    assert path == "/compare" or query.keys() <= fields.keys()


def follow(client, page, words):
    """Return the page behind the link whose text contains these words."""
    (link,) = [link for link, text in re.findall(r'<a [^>]*?href="([^"]+)"[^>]*>(.*?)</a>', page) if words in text][:1]
    return client.get(html.unescape(link)).text


def test_apples_restatement_is_found_from_its_name_in_three_clicks(tmp_path):
    lake = built(tmp_path / "lake", lambda _step: None)
    with browsing(lake.root, home=Address(instant("2010-01-26T14:30:00Z"), "GE")) as client:
        first = client.get("/", follow_redirects=True).text
        companies = follow(client, first, "Companies")
        as_of = re.search(r'name="as_of" value="([^"]+)"', companies)[1]
        content = client.get("/companies", params={"as_of": as_of, "q": "apple"}).text
        apple = follow(client, content, "APPLE INC")
        history = follow(client, apple, "36,537 m")
    values = re.findall(r'<data value="([^"]+)">', history)
    assert [float(value) for value in values] == [42_905e6, 36_537e6]
    assert "+17.43 %" in history
