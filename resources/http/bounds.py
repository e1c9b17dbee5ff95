"""Limits on an answer: decoded bytes, and seconds from the request to the last byte.

This is a `requests` adapter, so it covers everything that a session sends, including handshakes and redirects. A socket
timeout does not limit this: a server that sends a byte per second never reaches it.
"""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import DecodeError, HTTPError, ReadTimeoutError

PIECE = 1 << 16
ASKER = "asks a provider"


class TooLarge(requests.RequestException):
    """An answer has more bytes than allowed. No part of it is stored."""


class Bounded(HTTPAdapter):
    """An adapter that limits answers to a number of bytes, and requests to the seconds that `seconds()` returns."""

    def __init__(self, most_bytes: int, seconds: Callable[[], float]) -> None:
        super().__init__()
        self._most, self._seconds = most_bytes, seconds
        self._idle: list[_Asker] = []

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        """Return the complete answer. Raises requests.Timeout, TooLarge and the errors of requests."""
        over = threading.Event()
        asker = self._idle.pop() if self._idle else _Asker()
        try:
            response = asker.result(
                lambda: self._read(super(Bounded, self).send(request, *args, **options), over), self._seconds()
            )
        except Empty:
            over.set()
            asker.dismiss()
            raise requests.Timeout("the answer took too long") from None
        self._idle.append(asker)
        if isinstance(response, BaseException):
            raise response
        return response

    def close(self) -> None:
        """Release connections and threads."""
        while self._idle:
            self._idle.pop().dismiss()
        super().close()

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


class _Asker:
    """A thread that sends requests one after the other, so that its caller can stop waiting.

    There is no other way to stop waiting for a DNS lookup, a handshake, or a header that arrives byte by byte.
    """

    def __init__(self) -> None:
        self._questions: SimpleQueue[Callable[[], requests.Response] | None] = SimpleQueue()
        self._answers: SimpleQueue[requests.Response | BaseException] = SimpleQueue()
        threading.Thread(target=self._ask, name=ASKER, daemon=True).start()

    def result(self, question: Callable[[], requests.Response], seconds: float) -> requests.Response | BaseException:
        """Return the answer to a request, or its error. Raises Empty if it takes longer; then dismiss the thread."""
        self._questions.put(question)
        return self._answers.get(timeout=max(seconds, 0.0))

    def dismiss(self) -> None:
        """End the thread once its request has ended."""
        self._questions.put(None)

    def _ask(self) -> None:
        while question := self._questions.get():
            try:
                self._answers.put(question())
            except BaseException as problem:  # noqa: BLE001 - raised by whoever asked
                self._answers.put(problem)
            del question
