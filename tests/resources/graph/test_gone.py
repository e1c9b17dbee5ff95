"""Losing the server raises a typed error, never a truncated response. A query without results yet is retried."""

import contextlib
import socket
import threading
from urllib.parse import urlsplit

import pytest

from pitlake.errors import GraphUnavailable
from resources.graph.graph import Graph
from tests.graph_servers import rows

NUMBERS = "UNWIND range(1, $n) AS i RETURN i, $text AS text"


class Line:
    """A TCP proxy of the real server. Its connections can be cut after a number of response bytes, and restored."""

    def __init__(self, uri: str) -> None:
        server = urlsplit(uri)
        self._server = (server.hostname, server.port)
        self._door = socket.create_server(("127.0.0.1", 0))
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._left: int | None = None
        self._guard = threading.Lock()
        self.was_cut = threading.Event()
        self.calls = 0
        self.uri = f"bolt://127.0.0.1:{self._door.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._door.accept()
                self.calls += 1
                server = socket.create_connection(self._server)
                self._pairs.append((client, server))
                threading.Thread(target=self._pump, args=(client, server, False), daemon=True).start()
                threading.Thread(target=self._pump, args=(server, client, True), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if answers and not self._lets_through(len(data)):
                    self.was_cut.set()
                    break
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _lets_through(self, size: int) -> bool:
        with self._guard:
            if self._left is not None:
                self._left -= size
            return self._left is None or self._left >= 0

    def cut_after(self, size: int) -> None:
        with self._guard:
            self._left = size

    def mend(self) -> None:
        with self._guard:
            self._left = None

    def close(self) -> None:
        self._door.close()
        for end in (end for pair in self._pairs for end in pair):
            end.close()


@pytest.fixture
def line(graph_db):
    with contextlib.closing(Line(graph_db.uri)) as line:
        yield line


@pytest.fixture
def door(line, graph_db):
    with Graph(line.uri, graph_db.reader_auth, graph_db.database, retry_seconds=0) as graph:
        yield graph


def test_a_connection_cut_in_mid_stream_is_an_error_and_not_an_end(line, door):
    stream = door.stream(NUMBERS, {"n": 20_000, "text": "x" * 500})
    next(stream)
    line.cut_after(1_000_000)
    with pytest.raises(GraphUnavailable, match=r"broke off after [\d,]+ records"):
        list(stream)


def test_a_graph_works_again_once_its_connection_is_restored(line, door):
    line.cut_after(0)
    with pytest.raises(GraphUnavailable):
        rows(door, "RETURN 1 AS one")
    line.mend()
    assert rows(door, "RETURN 1 AS one") == [(1,)]


def test_a_query_that_returned_nothing_is_retried_until_the_server_answers(line, graph_db):
    with Graph(line.uri, graph_db.reader_auth, graph_db.database, retry_seconds=30) as door:
        line.cut_after(0)
        mend = threading.Thread(target=lambda: line.was_cut.wait() and line.mend())
        mend.start()
        read = rows(door, NUMBERS, n=2000, text="x" * 500)
        mend.join()
    assert [number for number, _ in read] == list(range(1, 2001))


def test_a_refused_query_is_not_retried(line, graph_db):
    with Graph(line.uri, graph_db.reader_auth, graph_db.database, retry_seconds=30) as door:
        before = line.calls
        with pytest.raises(Exception, match="SyntaxError"):
            rows(door, "RETRUN 1")
        assert line.calls - before <= 1
