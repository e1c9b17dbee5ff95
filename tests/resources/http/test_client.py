"""Provider requests: captures are used first and never fetched again, and faults are retried or become typed errors."""

import fcntl
import gzip
import threading
import time
import tracemalloc
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest
import requests
from requests.adapters import HTTPAdapter

from pitlake import clock
from pitlake.errors import AnswerRefused, BadInput, NotCaptured
from resources.http.bounds import ASKER, Bounded
from resources.http.capture import Request
from resources.http.limits import RateLimit
from tests.loopback import Answer
from tests.resources.http.conftest import KEY, TOY

ASK = Request("/notes", {"q": "x"})
GOOD = Answer({"notes": [1]})
PAGE = Answer(b"<!DOCTYPE html><p>try later", headers={"Content-Type": "text/html"})
FAULTS = {
    "too many, with Retry-After": Answer(b"", 429, {"Retry-After": "7"}),
    "too many": Answer(b"", 429),
    "server error": Answer(b"oops", 503),
    "dropped": Answer(fault="drop"),
    "body shorter than promised": Answer({"notes": [1]}, fault="short"),
    "truncated JSON": Answer(b'{"notes": ['),
    "a page instead of JSON": PAGE,
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_temporary_fault_is_retried(loopback, client, fault):
    loopback.plays("/notes", fault, GOOD)
    assert client().fetch(ASK).json() == {"notes": [1]}
    assert len(loopback.asked) == 2


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_lasting_fault_is_refused_after_all_attempts(loopback, client, fault):
    loopback.plays("/notes", fault)
    with pytest.raises(AnswerRefused) as refused:
        client().fetch(ASK)
    assert (refused.value.gap_type, len(loopback.asked)) == ("upstream_error", TOY.attempts)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    ("scheme", "host", "proxy", "reason"),
    [
        ("http", "nowhere.invalid", "", "the host's name could not be resolved"),
        ("http", "nowhere.invalid", "http://127.0.0.1:9", "the proxy refused or broke the connection"),
        ("https", "", "", "TLS failed, or the certificate could not be verified"),
    ],
)
def test_a_connection_that_fails_says_at_which_step(loopback, client, monkeypatch, scheme, host, proxy, reason):
    monkeypatch.setenv("PITLAKE_TOY_URL", f"{scheme}://{host or urlsplit(loopback.url).netloc}")
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with pytest.raises(AnswerRefused, match=reason):
        client().fetch(ASK)


def test_a_provider_that_hangs_is_given_up_after_the_timeout(loopback, client):
    loopback.plays("/notes", Answer(fault="hang"))
    with pytest.raises(AnswerRefused, match="timeout"):
        client(provider=replace(TOY, timeout=(1.0, 0.1), attempts=2)).fetch(ASK)


def test_a_refusal_is_not_retried(loopback, client):
    loopback.plays("/notes", Answer(b"no", 404))
    with pytest.raises(AnswerRefused) as refused:
        client().fetch(ASK)
    assert (refused.value.gap_type, len(loopback.asked)) == ("no_data", 1)


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_honoured(loopback, client, form):
    pauses = []
    after = "7" if form == "seconds" else format_datetime(clock.now() + timedelta(seconds=90))
    loopback.plays("/notes", Answer(b"", 429, {"Retry-After": after}), GOOD)
    client(pause=pauses.append).fetch(ASK)
    assert pauses[0] >= 7


def test_live_mode_requests_once_and_refresh_mode_once_per_run(loopback, client):
    loopback.plays("/notes", GOOD)
    for mode, question in (("live", 1), ("live", 1), ("refresh", 2), ("refresh", 3)):
        item = client(mode)
        assert item.fetch(ASK).body == item.fetch(ASK).body == GOOD.content
        assert len(loopback.asked) == question


def test_replay_serves_captures_and_never_uses_the_network(loopback, client):
    loopback.plays("/notes", GOOD)
    captured = client().fetch(ASK)
    loopback.asked.clear()
    assert client("replay").fetch(ASK) == captured
    with pytest.raises(NotCaptured, match="/other"):
        client("replay").fetch(Request("/other"))
    assert loopback.asked == []


def test_replay_needs_no_key(loopback, client, monkeypatch):
    loopback.plays("/notes", GOOD)
    client().fetch(ASK)
    monkeypatch.delenv("TOY_API_KEY")
    assert client("replay").fetch(ASK).status == 200


def test_a_captured_refusal_is_refused_again_in_replay(loopback, client):
    loopback.plays("/notes", Answer(b"no", 403))
    with pytest.raises(AnswerRefused):
        client().fetch(ASK)
    with pytest.raises(AnswerRefused, match="HTTP 403"):
        client("replay").fetch(ASK)


def test_with_only_refusals_captured_replay_raises_the_newest(loopback, client):
    loopback.plays("/notes", Answer(b"no", 403), Answer(b"no", 404))
    for _ in range(2):
        with pytest.raises(AnswerRefused):
            client("refresh").fetch(ASK)
    with pytest.raises(AnswerRefused, match="HTTP 404"):
        client("replay").fetch(ASK)


def test_replay_until_an_instant_does_not_see_later_captures(loopback, client):
    loopback.plays("/notes", Answer({"notes": [1]}), Answer({"notes": [2]}))
    first = client("refresh").fetch(ASK)
    client("refresh").fetch(ASK)
    assert client("replay").fetch(ASK).json() == {"notes": [2]}
    assert client("replay", until=first.fetched_at).fetch(ASK).json() == {"notes": [1]}


def test_a_missing_key_is_refused_before_any_request(loopback, client, monkeypatch):
    monkeypatch.delenv("TOY_API_KEY")
    with pytest.raises(BadInput, match="TOY_API_KEY"):
        client().fetch(ASK)
    assert loopback.asked == []


def test_a_key_is_read_literally_from_the_dotenv_file_of_the_working_directory(loopback, client, monkeypatch, tmp_path):
    monkeypatch.delenv("TOY_API_KEY")
    (tmp_path / ".env").write_text("TOY_API_KEY='of ${HOME} alone'\n")
    loopback.plays("/notes", GOOD)
    client().fetch(ASK)
    assert parse_qs(urlsplit(loopback.asked[0][1]).query)["apikey"] == ["of ${HOME} alone"]


def test_a_contact_is_required_and_sent_as_the_user_agent(loopback, client, monkeypatch):
    shy = replace(TOY, contact=("TOY_CONTACT",))
    with pytest.raises(BadInput, match="TOY_CONTACT"):
        client(provider=shy).fetch(ASK)
    monkeypatch.setenv("TOY_CONTACT", "Jane Doe jane@example.com")
    loopback.plays("/notes", GOOD)
    client(provider=shy).fetch(ASK)
    assert loopback.asked[0][2]["User-Agent"] == "Jane Doe jane@example.com"


def test_a_provider_clock_that_is_ahead_is_trusted_and_a_clock_behind_is_not(loopback, client):
    ahead = datetime(2200, 1, 1, tzinfo=timezone.utc)
    behind = datetime(2001, 1, 1, tzinfo=timezone.utc)
    for statement, believed in ((ahead, True), (behind, False)):
        loopback.plays("/notes", Answer({}, headers={"Date": format_datetime(statement, usegmt=True)}))
        assert (client("refresh").fetch(ASK).fetched_at == statement) is believed


@pytest.mark.parametrize("header", ["Fri, 31 Dec 9999 23:59:59 -1200", "Mon, 01 Jan 0001 00:00:00 +1200"])
def test_a_provider_clock_beyond_all_instants_is_not_trusted(loopback, client, header):
    loopback.plays("/notes", Answer({}, headers={"Date": header, "Retry-After": header}))
    assert client("refresh").fetch(ASK).fetched_at.year < 9999
    loopback.plays("/notes", Answer({}, 429, {"Date": header, "Retry-After": header}))
    with pytest.raises(AnswerRefused, match="429"):
        client("refresh").fetch(ASK)


def test_requests_that_differ_in_any_part_have_different_keys(loopback):
    question = [ASK, Request("/notes"), Request("/notes", {"q": "y"}), Request("/notes", {"q": "x"}, "POST")]
    question += [Request("/notes", {"q": "x"}, json={"a": 1}), Request("/notes", {"q": "x"}, host="www")]
    assert len({request.key("toy") for request in question} | {ASK.key("other")}) == len(question) + 1
    assert Request("/notes", {"a": 1, "b": None, "c": [2, 3]}).query == (("a", "1"), ("c", "2"), ("c", "3"))


def test_redirects_are_not_followed(loopback, client):
    loopback.plays("/notes", Answer(b"", 302, {"Location": "/elsewhere"}))
    with pytest.raises(AnswerRefused, match="302"):
        client().fetch(ASK)
    assert [path.partition("?")[0] for _, path, _, _ in loopback.asked] == ["/notes"]


def test_the_rate_is_shared_by_clients_of_one_store(loopback, client, store):
    loopback.plays("/notes", GOOD)
    slow = replace(TOY, rate=(3, 60.0))
    for _ in range(3):
        client("refresh", provider=slow).fetch(ASK)
    with pytest.raises(AnswerRefused, match="no complete answer within"):
        client("refresh", provider=slow, seconds=0.1).fetch(ASK)
    assert len(loopback.asked) == 3


def test_the_rate_limit_holds_in_every_window_across_instances(tmp_path, monkeypatch):
    now, question = [100.0], []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    tight = replace(TOY, rate=(2, 0.25))
    with RateLimit(tight, tmp_path) as item, RateLimit(tight, tmp_path) as other:
        for limit in (item, other, other, item, item, other):
            assert limit.wait(5.0)
            question.append(now[0])
    assert question == [100.0, 100.0, 100.25, 100.25, 100.5, 100.5]


def test_a_slot_of_the_rate_limit_is_taken_by_a_single_process_at_a_time(tmp_path):
    with RateLimit(TOY, tmp_path) as limit, next((tmp_path / "_rates").iterdir()).open() as elsewhere:
        fcntl.flock(elsewhere, fcntl.LOCK_SH)
        waiting = threading.Thread(target=limit.wait, args=[5.0])
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        fcntl.flock(elsewhere, fcntl.LOCK_UN)
        waiting.join(5.0)
        assert not waiting.is_alive()


def test_rate_limit_instants_from_before_a_reboot_are_ignored(tmp_path, monkeypatch):
    hourly = replace(TOY, rate=(1, 3600.0))
    with RateLimit(hourly, tmp_path) as limit:
        assert limit.wait(0.0)
        assert not limit.wait(0.0)
        monkeypatch.setattr(time, "monotonic", lambda: 5.0)
        assert limit.wait(0.0)
        assert not limit.wait(0.0)


def test_a_request_thread_is_reused_and_ends_with_its_client(loopback, client):
    loopback.plays("/notes", GOOD)
    before, asking = set(threading.enumerate()), client("refresh", provider=replace(TOY, rate=(10, 1.0)))
    for number in range(3):
        asking.fetch(Request("/notes", {"q": number}))
    (asker,) = [each for each in set(threading.enumerate()) - before if each.name == ASKER]
    asking.close()
    asker.join(5.0)
    assert not asker.is_alive()


def test_a_request_thread_that_timed_out_ends_with_its_answer(monkeypatch):
    comes = threading.Event()
    monkeypatch.setattr(HTTPAdapter, "send", lambda *_, **__: comes.wait(5.0))
    before = set(threading.enumerate())
    with pytest.raises(requests.Timeout):
        Bounded(1 << 20, lambda: 0.05).send(requests.PreparedRequest())
    (asker,) = [each for each in set(threading.enumerate()) - before if each.name == ASKER]
    comes.set()
    asker.join(5.0)
    assert not asker.is_alive()


def test_a_capture_of_a_window_that_was_still_open_is_not_reused_in_live_mode(loopback, client):
    loopback.plays("/notes", GOOD)
    taken = client().fetch(ASK)
    session, closed = (
        replace(ASK, settled_at=taken.fetched_at + ahead) for ahead in (timedelta(hours=1), timedelta(0))
    )
    for request, question in ((closed, 1), (session, 2), (session, 3)):
        item = client()
        item.fetch(request), item.fetch(request)
        assert len(loopback.asked) == question
    assert client("replay").fetch(session).body == GOOD.content


BOMB = Answer(gzip.compress(bytes(256 << 20), 1), headers={"Content-Encoding": "gzip"})


def test_a_decompression_bomb_is_refused_and_not_stored(loopback, client, store):
    loopback.plays("/notes", BOMB)
    before = psutil.Process().memory_info().rss
    tracemalloc.start()
    with pytest.raises(AnswerRefused, match="more than 8 MiB") as refused:
        client(provider=replace(TOY, most_bytes=8 << 20)).fetch(ASK)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (refused.value.gap_type, len(loopback.asked)) == ("upstream_error", 1)
    assert peak < 32 << 20
    assert psutil.Process().memory_info().rss - before < 64 << 20
    assert [*store.every()] == []
    assert sum(path.stat().st_size for path in store.root.rglob("*")) < 1 << 20


def test_a_compressed_answer_is_decompressed(loopback, client):
    loopback.plays("/notes", Answer(gzip.compress(b'{"notes": [1]}'), headers={"Content-Encoding": "gzip"}))
    assert client().fetch(ASK).json() == {"notes": [1]}


@pytest.mark.parametrize("fault", ["drip", "hang"])
def test_all_requests_of_a_client_together_stay_within_its_time_limit(loopback, client, fault):
    loopback.plays("/notes", Answer(fault=fault))
    loopback.plays("/others", Answer(fault=fault))
    asking, began = client(seconds=1.0, provider=replace(TOY, timeout=(5.0, 5.0), attempts=3)), time.monotonic()
    for path in ("/notes", "/others"):
        with pytest.raises(AnswerRefused) as refused:
            asking.fetch(Request(path))
        assert refused.value.gap_type == "upstream_error"
    assert time.monotonic() - began < 3.0


def test_a_missing_answer_cites_the_requested_address(loopback, client):
    loopback.plays("/notes", Answer(fault="drop"))
    with pytest.raises(AnswerRefused) as refused:
        client().fetch(ASK)
    assert refused.value.evidence == f"{loopback.url}/notes?q=x"


def test_a_closed_client_leaves_no_connection(loopback, client):
    loopback.plays("/notes", GOOD)
    asking, port = client(), int(loopback.url.rpartition(":")[2])

    def connected():
        """Return the local ports of the connections, because those of earlier tests may end at any time."""
        result = psutil.Process().net_connections("tcp")
        own = [each for each in result if each.raddr and each.raddr.port == port and each.fd != -1]
        return {each.laddr.port for each in own if each.status != "TIME_WAIT"}

    others = connected()
    asking.fetch(ASK)
    (own,) = connected() - others
    asking.close()
    assert own not in connected()


def test_a_rate_limit_starts_no_thread(tmp_path):
    threads = set(threading.enumerate())
    with RateLimit(TOY, tmp_path) as limit:
        assert limit.wait(1.0)
        assert set(threading.enumerate()) == threads


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_answers_are_bounded_for_every_scheme(loopback, client, scheme):
    loopback.plays("/notes", GOOD)
    asking = client()
    asking.fetch(ASK)
    assert isinstance(asking._line.session.get_adapter(f"{scheme}://toy.example/"), Bounded)


def test_a_dripping_answer_stays_within_the_time_limit(loopback, client):
    loopback.plays("/notes", Answer(fault="drip"))
    began = time.monotonic()
    with pytest.raises(AnswerRefused, match="timeout"):
        client(provider=replace(TOY, longest=0.5, attempts=1)).fetch(ASK)
    assert time.monotonic() - began < 3.0


def test_a_wait_beyond_the_time_limit_is_not_started(loopback, client):
    loopback.plays("/notes", Answer(b"", 429, {"Retry-After": "200"}))
    with pytest.raises(AnswerRefused, match="HTTP 429"):
        client(seconds=5.0).fetch(ASK)
    assert len(loopback.asked) == 1


def test_a_silent_provider_is_not_requested_again_until_a_pause_is_over(loopback, client, monkeypatch):
    asking = client(provider=replace(TOY, attempts=3))
    for day in range(5):
        loopback.plays(f"/{day}", Answer(fault="drop"))
        with pytest.raises(AnswerRefused) as refused:
            asking.fetch(Request(f"/{day}"))
        assert (refused.value.gap_type, len(loopback.asked)) == ("upstream_error", 3)
    assert "no request sent: 3 attempts in a row" in refused.value.reason
    monkeypatch.setattr("resources.http.client.REST_SECONDS", 0.0)
    asking._asks_again = 0.0
    with pytest.raises(AnswerRefused, match="no answer"):
        asking.fetch(Request("/4"))
    assert len(loopback.asked) == 4
    asking._asks_again = time.monotonic() + 60
    with pytest.raises(AnswerRefused, match="no request sent: 4 attempts"):
        asking.fetch(Request("/4"))
    asking._asks_again = 0.0
    loopback.plays("/notes", GOOD)
    assert asking.fetch(ASK).json() == {"notes": [1]}
    loopback.plays("/4", Answer(fault="drop"), GOOD)
    assert asking.fetch(Request("/4")).json() == {"notes": [1]}


def test_a_single_unanswered_request_does_not_stop_further_requests(loopback, client):
    loopback.plays("/notes", Answer(fault="drop"))
    loopback.plays("/others", GOOD)
    asking = client(provider=replace(TOY, attempts=2), seconds=3.0, pause=time.sleep)
    asking._silent, asking._asks_again = 1, time.monotonic() + 60
    assert asking.fetch(Request("/others")).json() == {"notes": [1]}


def test_error_answers_do_not_count_as_silence(loopback, client):
    asking = client(provider=replace(TOY, attempts=2))
    for day in range(4):
        loopback.plays(f"/{day}", Answer(b"", 503))
        with pytest.raises(AnswerRefused, match="HTTP 503"):
            asking.fetch(Request(f"/{day}"))
    assert len(loopback.asked) == 8
