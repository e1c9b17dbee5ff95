"""The MCP server as a process: over stdio and HTTP, its start or the reason why it fails, and its two lanes."""

import os
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import pytest
import requests

from pitlake.errors import SessionError
from pitlake.mcp import lanes
from pitlake.mcp.query_service import LIMITS, ServiceQuestion
from tests.doors.conftest import AS_OF
from tests.doors.mcp_client import ALL_NEWS, COMMAND, EVERY_TOOL, ROOT, ask, http, service, stdio, talk
from tests.processes import children_with


def test_every_tool_answers_over_stdio(lake):
    results = talk(stdio(lake), *EVERY_TOOL)
    assert [result.is_error for result in results] == [False] * len(EVERY_TOOL)


def test_every_tool_answers_over_http_as_over_stdio(lake):
    with http(lake) as address:
        over_http = talk(address, *EVERY_TOOL)
    assert [r.structured_content for r in over_http] == [r.structured_content for r in talk(stdio(lake), *EVERY_TOOL)]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "--as-of"),
        (["--as-of", AS_OF, "--open"], "--open"),
        (["--as-of", "2024-05-01"], "a date without time and offset"),
        (["--as-of", AS_OF, "--http", "--host", "0.0.0.0"], "--allow-host"),
        (["--as-of", AS_OF, "--http", "--port", "99999"], "--port"),
        (["--as-of", AS_OF, "--http", "--port", "{taken}"], "--port"),
        (["--as-of", AS_OF, "--http", "--host", "192.0.2.1", "--allow-host", "x"], "--host"),
        (["--as-of", AS_OF, "--http", "--host", "no.such.host.example", "--allow-host", "x"], "--host"),
    ],
)
def test_a_server_that_cannot_start_says_why_in_one_line(lake, arguments, complaint):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [*COMMAND, *(argument.format(taken=port) for argument in arguments), "--lake", str(lake)],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=240,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_server_for_a_missing_lake_does_not_start(tmp_path):
    line, environment = [*COMMAND, "--as-of", AS_OF, "--lake", str(tmp_path)], os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 1
    assert "no lake" in done.stderr


def test_a_request_with_a_foreign_host_header_is_refused(lake):
    with http(lake) as address:
        headers = {"Host": "evil.example", "Accept": "application/json, text/event-stream"}
        answer = requests.post(address, json={}, headers=headers, timeout=240)
    assert answer.status_code in (400, 403, 421)
    assert "data" not in answer.text


SLOW = "SELECT count(*) AS n FROM range(100000000000) numbers(i) WHERE hash(i) = 7"


def test_slow_queries_do_not_hold_up_quick_queries(lake, monkeypatch):
    monkeypatch.setattr("pitlake.mcp.query_service.LIMITS", replace(LIMITS, seconds=5))
    monkeypatch.setattr(lanes, "WAITING", 1)
    question = service(lake)
    ask_it = partial(question.ask, pit=None, max_rows=None, cursor=None)
    allowed = lanes.SLOW + lanes.WAITING
    with ThreadPoolExecutor(lanes.QUICK * 2) as clients:
        slow = [clients.submit(ask_it, ServiceQuestion(SLOW)) for _ in range(lanes.QUICK * 2)]
        while sum(each.done() for each in slow) < len(slow) - allowed:  # questions that fit no lane are refused
            time.sleep(0.05)
        assert ask_it(ServiceQuestion(ALL_NEWS)).page.payload["data"]
        assert not all(each.done() for each in slow)
    refused = [str(each.exception()) for each in slow if isinstance(each.exception(), SessionError)]
    late = sum("limit of 5 seconds" in each for each in refused)
    busy = sum("the server is busy: 1 questions are waiting" in each for each in refused)
    assert late >= allowed
    assert busy >= 1
    assert late + busy == len(slow)


def call(address, sql, seconds=240):
    """Return a server's response to one query, sent without the SDK."""
    order = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "query", "arguments": {"sql": sql}}}
    headers = {"Accept": "application/json, text/event-stream"}
    return requests.post(address, json=order, headers=headers, timeout=seconds).text


def test_hostile_http_clients_do_not_hold_up_quick_queries(lake):
    with http(lake) as address, ExitStack() as session, ThreadPoolExecutor(40) as clients:
        host, port = "127.0.0.1", int(address.split(":")[2].split("/")[0])
        for _ in range(300):
            half = session.enter_context(socket.create_connection((host, port)))
            half.sendall(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\n")
        for _ in range(20):
            cross = requests.get(address, headers={"Sec-Fetch-Site": "cross-site"}, timeout=60)
            assert cross.status_code == 403
        stream = requests.get(address, headers={"Accept": "text/event-stream"}, timeout=60)
        assert stream.status_code == 405
        start = time.monotonic()
        assert "bzNews" in call(address, ALL_NEWS)
        alone = time.monotonic() - start  # on this machine, under its current load
        slow = [clients.submit(call, address, SLOW) for _ in range(40)]
        waits = []
        while len(waits) < 2:
            time.sleep(0.3)
            start = time.monotonic()
            assert "bzNews" in call(address, ALL_NEWS)
            waits.append(time.monotonic() - start)
        assert max(waits) < 5 + 10 * alone
        assert not all(each.done() for each in slow)
        session.close()
        for server in children_with(str(port)):
            server.kill()


def test_a_query_that_exceeds_the_quick_lane_is_answered_in_the_slow_lane(lake, monkeypatch):
    monkeypatch.setattr(lanes, "PATIENCE", 0.3)
    reply = ask(lake, "query", sql="SELECT count(*) AS n FROM range(300_000_000) r(i) WHERE hash(i) = 7")
    assert reply["data"][0]["n"] == 0
    assert reply["receipt"]["rows"] == 1
