"""What `mcp --http` and `web` share, over real sockets: turns, and slow, many and cross-site clients."""

import asyncio
import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

import pytest
import requests
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from pitlake.errors import ServerBusy
from pitlake.serving import connections, turns
from pitlake.serving.guard import OwnSite
from pitlake.serving.server import listening, serve_until_ended, server
from pitlake.serving.turns import Turns
from tests.every import every

HALF = b"GET /quick HTTP/1.1\r\nhost: localhost\r\nx-more: "
BODY = b"POST /read HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\nsome"
WHOLE = b"GET /quick HTTP/1.1\r\nhost: localhost\r\n\r\n"
TWO_LENGTHS = (
    b"POST /quick HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
)


class App:
    """An application that counts its requests. `/held` answers once released; `/large` sends more than clients read."""

    def __init__(self):
        self.reached, self.goes_on = 0, threading.Event()

    def application(self):
        plain = [Route("/held", self.held), Route("/large", self.large), Route("/read", self.read, methods=["POST"])]
        return OwnSite(Starlette(routes=[Route("/quick", self.quick, methods=["GET", "POST"]), *plain]))

    def quick(self, _):
        self.reached += 1
        return PlainTextResponse("quick")

    async def read(self, request):
        return PlainTextResponse(str(len(await request.body())))

    def held(self, _):
        self.reached += 1
        self.goes_on.wait(30)
        return PlainTextResponse("held")

    def large(self, _):
        return PlainTextResponse(b"x" * (64 << 20))


@contextmanager
def serving(app):
    """Serve the application in this process, and yield its port."""
    with listening("127.0.0.1", 0) as listener:
        before = server(app.application())
        thread = threading.Thread(target=asyncio.run, args=(serve_until_ended(before, listener),))
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            app.goes_on.set()
            before.should_exit = True
            thread.join(30)


@pytest.fixture
def app():
    return App()


@pytest.fixture
def times(monkeypatch):
    """Short time limits, which keep the tests short."""
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.4)
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.4)
    monkeypatch.setattr(connections, "READ_SECONDS", 0.4)


def ended(sock, seconds=5.0):
    """Return what a server sends before it closes the connection; fail if it does not close it."""
    sock.settimeout(seconds)
    message = b""
    with suppress(ConnectionResetError):
        while part := sock.recv(65536):
            message += part
    return message


def dribble(slow, seconds=8.0):
    """Send a byte at intervals until the server closes the connection; fail if it does not."""
    start = time.monotonic()
    with suppress(OSError):
        while time.monotonic() - start < seconds:
            slow.sendall(b"x")
            time.sleep(0.05)
    assert time.monotonic() - start < seconds


def quick(port, **headers):
    return requests.get(f"http://127.0.0.1:{port}/quick", headers=headers, timeout=5)


@pytest.mark.parametrize("sent", [b"", b"G", HALF, BODY, WHOLE + HALF, WHOLE + BODY])
def test_a_request_that_arrives_too_slowly_is_closed(app, times, sent):
    with serving(app) as port, socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(sent)
        start = time.monotonic()
        message = ended(slow)
        assert 0.2 < time.monotonic() - start < 3
        assert b"HTTP/1.1 500" not in message
        assert sent.startswith(WHOLE) or b"HTTP/1.1 408" in message


@pytest.mark.parametrize("sent", [HALF, BODY, WHOLE + HALF])
def test_sending_a_byte_now_and_then_does_not_extend_the_time_limit(app, times, sent):
    with serving(app) as port, socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(sent)
        dribble(slow)


def test_a_refused_body_is_not_read_forever(app, times):
    with serving(app) as port, socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(BODY.replace(b"localhost", b"evil.example"))
        dribble(slow)


def test_a_client_that_does_not_read_its_answer_is_closed(app, times):
    with serving(app) as port, socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(WHOLE.replace(b"quick", b"large"))
        time.sleep(1.2)
        assert len(ended(slow)) < 64 << 20


def test_too_long_request_headers_are_refused(app):
    with serving(app) as port, socket.create_connection(("127.0.0.1", port)) as client:
        with suppress(ConnectionError):
            client.sendall(HALF + b"x" * (connections.LONGEST_HEAD * 4))
        assert b"200 OK" not in ended(client)


def test_a_request_with_two_lengths_is_refused_and_its_connection_closed(app):
    with serving(app) as port, socket.create_connection(("127.0.0.1", port)) as sock:
        sock.sendall(TWO_LENGTHS + WHOLE)
        answer = b"".join(iter(partial(sock.recv, 4096), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert app.reached == 0


def test_half_sent_requests_do_not_block_other_clients(app, monkeypatch):
    monkeypatch.setattr(connections.Connections, "most", 32)
    with serving(app) as port, ExitStack() as session:
        for sent in [HALF, BODY, b""] * 40:
            session.enter_context(socket.create_connection(("127.0.0.1", port))).sendall(sent)
        assert quick(port).text == "quick"


def test_requests_in_progress_are_not_dropped_for_new_connections(app, monkeypatch):
    bound = partial(connections.Connections, 8, 4)
    monkeypatch.setattr("pitlake.serving.server.Connections", bound)
    with serving(app) as port, ExitStack() as session:
        content = [session.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(4)]
        for item in content:
            item.sendall(WHOLE.replace(b"quick", b"held").replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
        while app.reached < 4:
            time.sleep(0.01)
        with suppress(requests.ConnectionError):
            assert quick(port).status_code == 503
        app.goes_on.set()
        assert every(b"held" in ended(each) for each in content)
        assert quick(port).text == "quick"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "CROSS-SITE"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403),
        ({"Sec-Fetch-Site": "unheard-of"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://[evil"}, 403),
        ({"Host": "evil.example"}, 421),
    ],
)
def test_cross_site_requests_never_reach_the_application(app, headers, status):
    with serving(app) as port:
        assert quick(port, **headers).status_code == status
    assert app.reached == (status == 200)


def having(shared, who, order, goes_on):
    def work():
        turns.client.set(who)
        with shared.turn():
            order.append(who)
            goes_on.acquire(timeout=10)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def until(condition):
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("it did not happen")


def test_the_next_turn_goes_to_the_client_with_the_fewest_turns():
    shared, order, goes_on = Turns(2, 50, 100), [], threading.Semaphore(0)
    threads = [having(shared, "many", order, goes_on) for _ in range(2)]
    until(lambda: len(order) == 2)
    threads += [having(shared, "many", order, goes_on) for _ in range(20)]
    until(lambda: len(shared._waiting) == 20)
    threads.append(having(shared, "one", order, goes_on))
    until(lambda: len(shared._waiting) == 21)
    goes_on.release()  # only one turn ends, so that the next turn does not depend on the order of the threads
    until(lambda: len(order) == 3)
    assert order[2] == "one"
    goes_on.release(len(threads))
    for thread in threads:
        thread.join(30)
    assert len(order) == 23
    assert shared._free == 2
    assert not shared._having


def test_the_queue_is_limited_per_client_and_in_total():
    shared, goes_on = Turns(1, 2, 3, seconds=30), threading.Semaphore(0)
    threads = [having(shared, "a", [], goes_on) for _ in range(3)]
    until(lambda: len(shared._waiting) == 2)
    turns.client.set("a")
    with pytest.raises(ServerBusy, match="2 questions are waiting"), shared.turn():
        pass
    threads.append(having(shared, "b", [], goes_on))
    until(lambda: len(shared._waiting) == 3)
    turns.client.set("c")
    with pytest.raises(ServerBusy, match="3 questions are waiting"), shared.turn():
        pass
    goes_on.release(len(threads))
    for thread in threads:
        thread.join(30)
    turns.client.set("")


def test_waiting_for_a_turn_times_out():
    shared, goes_on = Turns(1, 5, 5, seconds=0.05), threading.Semaphore(0)
    thread = having(shared, "a", [], goes_on)
    until(lambda: not shared._free)
    with pytest.raises(ServerBusy, match="no place was free"), shared.turn():
        pass
    goes_on.release()
    thread.join(30)
    with shared.turn():
        assert not shared._waiting
