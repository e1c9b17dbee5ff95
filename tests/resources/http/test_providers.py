"""Providers and their secrets: what is sent, what is refused before sending, and what logs may contain."""

import json
import logging
from dataclasses import replace

import pytest

from pitlake.errors import BadInput, CaptureDamaged, Unparsable
from resources.http import client as http_client
from resources.http.capture import CaptureStore, Request
from resources.http.client import HttpClient, captured
from resources.http.csv_lines import cells
from resources.http.provider import KEY_REFUSED, refused
from resources.http.providers import alfred, perplexity
from resources.http.secrets import WIRE_LOGGERS, Mask, spelled
from tests.every import every
from tests.loopback import Answer
from tests.resources.http.conftest import TOY

ASK = Request("/notes", {"q": "x"})
GOOD = Answer({"notes": [1]})
KEY = ("upstream_error", KEY_REFUSED)


def masks():
    return [list(logging.getLogger(name).filters) for name in WIRE_LOGGERS]


def test_a_handshake_is_made_once_and_its_token_is_masked(loopback, client):
    outcome, before = [], masks()

    def handshake(session, provider):
        outcome.append(provider.name)
        return {"crumb": "granted-by-a-handshake"}

    loopback.plays("/notes", Answer({"notes": ["granted-by-a-handshake"]}))
    asking = client("refresh", provider=replace(TOY, handshake=handshake))
    reply = [asking.fetch(Request("/notes", {"q": number})).text() for number in range(3)]
    assert (outcome, {"granted" in text for text in reply}) == (["toy"], {False})
    assert every(len(result) == len(there) + 1 for result, there in zip(masks(), before, strict=True))
    asking.close()
    assert masks() == before


def test_the_client_sleeps_itself_if_no_pause_is_passed(loopback, store, monkeypatch):
    waited = []
    monkeypatch.setattr(http_client.time, "sleep", waited.append)
    loopback.plays("/notes", Answer(b"", 429, {"Retry-After": "3"}), GOOD)
    with HttpClient(TOY, store, "live") as asking:
        assert asking.fetch(ASK).status == 200
    assert [seconds >= 3 for seconds in waited] == [True]


@pytest.mark.parametrize(
    ("variables", "verify"),
    [
        ({}, True),
        ({"CURL_CA_BUNDLE": "/curl.pem"}, "/curl.pem"),
        ({"REQUESTS_CA_BUNDLE": "/own.pem", "CURL_CA_BUNDLE": "/curl.pem"}, "/own.pem"),
    ],
)
def test_certificates_come_from_the_environment_and_are_always_verified(
    loopback, store, monkeypatch, variables, verify
):
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    line = http_client._Line.open(TOY, store.root, lambda: 1.0)
    assert (line.session.verify, line.session.trust_env) == (verify, False)
    line.limit.close()


@pytest.mark.parametrize(
    ("statement", "seconds"),
    [
        ({}, 0.0), ({"retry-after": "7"}, 7.0), ({"retry-after": "9999"}, 300.0), ({"retry-after": "soon"}, 0.0),
        ({"retry-after": "Mon, 08 Jul 2024 19:59:59 GMT"}, 0.0), ({"retry-after": "-5"}, 0.0),
    ],
    ids=str,
)  # fmt: skip
def test_the_retry_after_of_a_provider_is_limited_to_0_to_300_seconds(statement, seconds):
    assert http_client._retry_after(captured(TOY, ASK, b"", status=429, headers=statement)) == seconds


@pytest.mark.parametrize(
    ("provider", "status", "body", "gap_type", "reason"),
    [
        (alfred, 400, {"error_message": "Bad Request. The series does not exist."}, "no_data", alfred.NO_SERIES),
        (alfred, 400, {"error_message": "Bad Request. The value for api_key is not registered."}, *KEY),
        (alfred, 400, {"error_message": "Bad Request. Variable limit is not 1."}, "upstream_error", "HTTP 400"),
        (alfred, 400, ["Bad Request."], "upstream_error", "HTTP 400"),
        (perplexity, 400, {}, "upstream_error", perplexity.QUESTION_REFUSED),
        (perplexity, 422, {}, "upstream_error", perplexity.QUESTION_REFUSED),
        (perplexity, 401, "<html>401</html>", *KEY),
        (perplexity, 403, {}, "upstream_error", "HTTP 403"),
    ],
)
def test_a_refusal_states_whether_the_key_or_the_request_was_refused(provider, status, body, gap_type, reason):
    content = body if isinstance(body, str) else json.dumps(body)
    verdict = provider.PROVIDER.judge(captured(provider.PROVIDER, ASK, content.encode(), status=status))
    assert verdict == refused(gap_type, reason)


@pytest.mark.parametrize("contact", ["", "nobody in particular"])
def test_a_contact_without_an_email_address_is_refused_and_its_variable_named(monkeypatch, tmp_path, contact):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOY_CONTACT", contact)
    demanding = replace(TOY, contact=("TOY_CONTACT",))
    with pytest.raises(BadInput, match="TOY_CONTACT"):
        demanding.request_headers()
    monkeypatch.setenv("TOY_CONTACT", "Jane Doe jane@example.com")
    assert demanding.request_headers() == {"User-Agent": "Jane Doe jane@example.com"}


@pytest.mark.parametrize(("key", "taken"), [("demo", True), ("short", False), ("12345678", True), ("1234567", False)])
def test_a_key_that_is_too_short_is_refused_unless_it_is_public(monkeypatch, tmp_path, key, taken):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOY_API_KEY", key)
    secrets = replace(TOY, public=("demo",)).secret_store()
    if taken:
        assert secrets.values() == {"apikey": key}
    else:
        with pytest.raises(BadInput, match="TOY_API_KEY"):
            secrets.values()
    assert bool(secrets.spellings()) == (key == "12345678")


def test_a_masked_record_is_logged_without_the_secret():
    mask = Mask(spelled({"apikey": "planted-key"}))
    record = logging.LogRecord("x", logging.DEBUG, "", 0, "GET /?k=%s", ("planted-key",), None)
    assert mask.filter(record) is True
    assert record.getMessage() == "GET /?k=[redacted apikey]"
    other = logging.LogRecord("x", logging.DEBUG, "", 0, "GET %s", ("/",), None)
    assert (mask.filter(other), other.args) == (True, ("/",))


def test_the_location_of_a_capture_holds_only_its_naming_parameters():
    provider = replace(TOY, names=("symbol",))
    remaining = captured(provider, Request("/bars", {"symbol": "QAU", "page": 2}), b"{}")
    assert provider.location(remaining) == "https://toy.example/bars?symbol=QAU"


def test_csv_lines_are_read_until_the_first_broken_line():
    def read(text):
        result = []
        try:
            result.extend(cells(captured(TOY, ASK, text.encode())))
        except Unparsable:
            result.append("unparsable")
        return result

    assert read("a,b\n\n1,2\n3\n") == [["a", "b"], ["1", "2"], ["3"]]
    assert read('a,b\n"1\n2",3\n4,5\n') == [["a", "b"], "unparsable"]
    assert read('a,b\n1,"2\r3"\n4,5\n') == [["a", "b"], "unparsable"]
    assert read('a,b\n1,"2\r\n3"\n') == [["a", "b"], "unparsable"]


def test_run_facts_round_trip_and_are_stored_as_the_same_bytes_in_any_order(store):
    store.keep_run("r", "notes", {"scope": {"tickers": ["é"]}, "mode": "live"})
    [file] = (store.root / "runs").rglob("*.json")
    before = file.read_bytes()
    store.keep_run("r", "notes", {"mode": "live", "scope": {"tickers": ["é"]}})
    assert (file.read_bytes(), "é".encode() in before) == (before, True)
    assert store.run("r", "notes") == {"scope": {"tickers": ["é"]}, "mode": "live"}
    store.keep_run("q", "notes", {})
    assert store.runs() == [("q", "notes"), ("r", "notes")]
    with pytest.raises(BadInput, match="run"):
        store.run("r", "other")


@pytest.mark.parametrize(
    "harm", [b"[]", b"null", b"5", b'"x"', b"{}", b'{"sha256": 5}', b'{"sha256": null}', b"", b'{"sha256": "a', b"\xff"]
)
def test_an_answer_file_of_the_wrong_shape_is_damaged(store, harm):
    store.put(captured(TOY, ASK, b"{}"))
    next((store.root / "answers").rglob("*.json")).write_bytes(harm)
    with pytest.raises(CaptureDamaged):
        list(store.newest_first("toy", ASK.key("toy")))


def test_captures_are_stored_with_the_lake_unless_another_place_is_configured(tmp_path, monkeypatch):
    monkeypatch.delenv("PITLAKE_CAPTURES", raising=False)
    assert CaptureStore.of(tmp_path / "lake").root == tmp_path / "lake" / "_captures"
    monkeypatch.setenv("PITLAKE_CAPTURES", str(tmp_path / "named"))
    assert CaptureStore.of(tmp_path / "lake").root == tmp_path / "named"
