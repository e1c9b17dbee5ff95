"""Access to the pages: hosts, origins and the token. GET changes nothing."""

import re

import pytest

from pitlake.clock import instant
from pitlake.errors import BadInput
from pitlake.web import serve
from pitlake.web.address import Address
from pitlake.web.app import ServerSettings
from pitlake.web.guard import HEADERS
from tests.doors.conftest import AS_OF
from tests.web.browsing import BASE, TOKEN, browsing

FORM = {"as_of": AS_OF, "ticker": "QBG", "question": "filings"}
HOME = Address(instant(AS_OF), "QBG")
OWN = {"origin": BASE}
COOKIE = {"cookie": f"pitlake_token={TOKEN}"}


@pytest.fixture(scope="module")
def lake(market_lake):
    return market_lake


@pytest.fixture(scope="module")
def client(lake):
    with browsing(lake) as client:
        yield client


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.evil.example",
        "",
        "[::2]:8765",
        "[::1]evil",
        "[::1].evil",
        "[::1]:x",
    ],
)
def test_requests_with_a_foreign_host_header_are_refused(client, host):
    assert client.get("/unlock", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost", "[::1]:8765", "localhost:1"])
def test_requests_with_a_local_host_header_are_answered(client, host):
    assert client.get("/unlock", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        OWN,
        COOKIE,
        {**COOKIE, "origin": "http://evil.example"},
        {**COOKIE, "origin": "null"},
        {**COOKIE, "origin": "http://127.0.0.1:9999"},
        {**OWN, "cookie": "pitlake_token=wrong"},
        {**OWN, "cookie": "pitlake_token="},
        {**OWN, "cookie": f"other={TOKEN}"},
        {**OWN, "cookie": "===="},
        {**OWN, "cookie": f"====; pitlake_token={TOKEN}x"},
    ],
)
def test_no_receipt_is_stored_without_the_token_and_the_same_origin(client, lake, headers):
    before = list((lake / "_lake").rglob("*"))
    assert client.post("/receipts", data=FORM, headers=headers).status_code == 403
    assert list((lake / "_lake").rglob("*")) == before


def test_the_token_lets_a_browser_in(client):
    refused = client.post("/unlock", data={"token": "wrong"}, headers=OWN)
    assert refused.status_code == 400
    assert "set-cookie" not in refused.headers
    let_in = client.post("/unlock", data={"token": TOKEN}, headers=OWN)
    cookie = let_in.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    client.cookies.clear()
    assert TOKEN not in client.get("/unlock", headers=COOKIE).text
    assert "This browser has the token" in client.get("/unlock", headers=COOKIE).text
    assert "This browser has the token" not in client.get("/unlock").text


@pytest.mark.parametrize("path", ["/receipts", "/at", "/compare", "/history", "/ask", "/"])
def test_get_changes_nothing_and_post_to_a_page_is_not_allowed(client, lake, path):
    before = sorted(lake.rglob("*"))
    client.get(path, params=FORM, headers=COOKIE)
    if path != "/receipts":
        assert client.post(path, data=FORM, headers=OWN | COOKIE).status_code == 405
    assert sorted(lake.rglob("*")) == before


@pytest.mark.parametrize("path", ["/unlock", "/nowhere", "/static/pitlake.css", HOME.url()])
def test_every_response_has_the_security_headers(client, path):
    answer = client.get(path)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "unsafe" not in answer.headers["content-security-policy"]
    if "html" in answer.headers["content-type"]:
        assert not re.search(r"\son\w+=|\sstyle=|javascript:|https?://", answer.text)


def test_a_large_form_is_refused(client):
    answer = client.post("/unlock", content=b"token=" + b"x" * (1 << 17), headers=OWN)
    assert answer.status_code == 400


def test_serving_on_all_interfaces_needs_allow_host(client, lake):
    with pytest.raises(BadInput, match="--allow-host"):
        serve.serve(ServerSettings(client.pool, HOME, TOKEN), "0.0.0.0", 0, print)
