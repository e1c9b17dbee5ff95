"""What one answer may take: bytes, counted once decoded, and seconds, counted from the question to its last byte.

A `requests` adapter, so that it holds for everything a session asks, handshakes and redirects included. A timeout of
sockets alone bounds neither: a server that sends a byte a second never meets one.
"""

import threading
from collections.abc import Callable
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import DecodeError, HTTPError, ReadTimeoutError

PIECE = 1 << 16


class TooLarge(requests.RequestException):
    """An answer of more bytes than one may have; nothing of it is kept."""


class Bounded(HTTPAdapter):
    """Answers of at most so many bytes, whole within the seconds that `seconds()` gives when they are asked for."""

    def __init__(self, most_bytes: int, seconds: Callable[[], float]) -> None:
        super().__init__()
        self._most, self._seconds = most_bytes, seconds

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        """The answer, read to its end. Raises requests.Timeout, TooLarge and what requests raises."""
        done: list[requests.Response | BaseException] = []
        over = threading.Event()

        def ask() -> None:
            try:
                done.append(self._read(super(Bounded, self).send(request, *args, **options), over))
            except BaseException as problem:  # noqa: BLE001 - raised below, by whoever asked
                done.append(problem)

        # Nothing else ends a wait for a name, a handshake or a header that comes byte by byte.
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(max(self._seconds(), 0.0))
        over.set()
        if not done:
            raise requests.Timeout("the answer took too long")
        if isinstance(done[0], BaseException):
            raise done[0]
        return done[0]

    def _read(self, answer: requests.Response, over: threading.Event) -> requests.Response:
        body = bytearray()
        try:
            while piece := answer.raw.read1(PIECE, decode_content=True):
                body += piece
                if len(body) > self._most:
                    raise TooLarge(f"more than {self._most >> 20} MiB")
                if over.is_set():
                    raise requests.Timeout("the answer took too long")
        except ReadTimeoutError as problem:
            raise requests.ReadTimeout(problem) from None
        except DecodeError as problem:
            raise requests.exceptions.ContentDecodingError(problem) from None
        except HTTPError as problem:
            raise requests.exceptions.ChunkedEncodingError(problem) from None
        finally:
            answer.raw.close()
        answer._content = bytes(body)  # noqa: SLF001 - where requests itself puts what it has read
        answer._content_consumed = True  # type: ignore[attr-defined]  # noqa: SLF001
        return answer
