"""The only way to query a provider: captures first, then the network within the rate limit, with retries if they can
help.

Every answer is captured before it is judged, including refusals, which are never returned as data. `capture` defines
captures, and `provider` defines providers.
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple, Self

import requests
from requests.utils import get_environ_proxies
from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_random_exponential
from urllib3.exceptions import NameResolutionError

from pitlake import clock
from pitlake.errors import AnswerRefused, BadInput, NotCaptured, Unreadable
from pitlake.times import RFC_2822, stated, stated_instant
from resources.http.bounds import Bounded, TooLarge
from resources.http.capture import Capture, CaptureStore, Request, located
from resources.http.limits import RateLimit
from resources.http.provider import NO_DATA, OK, Provider
from resources.http.secrets import masked_wire, redact, spelled, unmask

Mode = Literal["replay", "live", "refresh"]
MODES = ("replay", "live", "refresh")
LONGEST_WAIT, FIRST_WAIT = 60.0, 0.5
LONGEST_RETRY_AFTER = 300.0
REST_SECONDS = 60.0
NEVER_ENDS = 86_400.0
CLOCKS_AGREE = timedelta(minutes=1)


class _AskAgain(Exception):
    """An answer that may change soon. after: the seconds that the provider asks to wait."""

    def __init__(self, refusal: AnswerRefused, after: float) -> None:
        super().__init__(refusal.reason)
        self.refusal, self.after = refusal, after


class _Line(NamedTuple):
    """The parts of network requests, created at the first request."""

    session: requests.Session
    limit: RateLimit
    secrets: dict[str, str]

    @classmethod
    def open(cls, provider: Provider, root: Path, seconds: Callable[[], float]) -> "_Line":
        headers, secrets = provider.request_headers(), provider.secret_store().values()
        session = requests.Session()
        # A .netrc would add credentials. Other environment settings are read once instead of for each request.
        session.trust_env = False
        session.proxies = dict(get_environ_proxies(provider.url(Request("/"))))
        session.verify = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True
        session.headers.update(headers)
        bounded = Bounded(provider.most_bytes, lambda: min(provider.longest, seconds()))
        for scheme in ("http://", "https://"):
            session.mount(scheme, bounded)
        if provider.handshake is not None:
            secrets |= provider.handshake(session, provider)
        return cls(session, RateLimit(provider, root), secrets)


class HttpClient:
    """A client for one provider. Mode replay never uses the network, live sends only requests without a capture, and
    refresh sends every request once. Use as a context manager.

    until: ignore later captures, to replay an earlier run. seconds: the total time for all requests, including waits.
    pause: a function that waits some seconds between attempts; tests pass one that returns immediately. sent, received:
    the number of requests sent, including repeats, and the bytes of their answers. If as many attempts in a row as a
    request may take get no answer, the provider is not queried for REST_SECONDS, and then tried once.
    """

    def __init__(
        self,
        provider: Provider,
        store: CaptureStore,
        mode: Mode | str = "replay",
        *,
        until: datetime | None = None,
        seconds: float = NEVER_ENDS,
        pause: Callable[[float], None] | None = None,
    ) -> None:
        if mode not in MODES:
            raise BadInput("mode", f"there is no mode {mode!r}", f"choose one of {', '.join(MODES)}")
        self.provider, self.mode = provider, mode
        self.store = store if until is None else store.until(until)
        self._retrying = Retrying(
            retry=retry_if_exception_type(_AskAgain),
            stop=self._is_spent,
            wait=_wait,
            reraise=True,
            sleep=pause or time.sleep,
        )
        self._seconds, self._ends = seconds, time.monotonic() + seconds
        self.sent = self.received = 0
        self._silent, self._asks_again = 0, 0.0
        self._line: _Line | None = None
        self._answered: set[str] = set()
        self._spellings = provider.secret_store().spellings()
        self._masks = masked_wire(self._spellings)

    def fetch(self, request: Request) -> Capture:
        """Return the answer to a request. Raises AnswerRefused if there is no usable answer, NotCaptured in replay, and
        BadInput for a missing secret or contact before any request.
        """
        key = request.key(self.provider.name)
        if self.mode != "refresh" or key in self._answered:
            capture = self._captured(request, key)
            if capture is not None:
                return capture
        answer = self._asked(request)
        self._answered.add(key)
        return answer

    def close(self) -> None:
        """Close connections and files. Never raises, because every answer is captured."""
        unmask(self._masks)
        self._masks = []
        line, self._line = self._line, None
        if line is not None:
            line.session.close()
            with suppress(OSError):
                line.limit.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _captured(self, request: Request, key: str) -> Capture | None:
        """Return the newest usable capture.

        In replay, this is the newest capture with data, or with the statement that there is no data. If there is no
        such capture, the newest refusal is raised again.
        """
        refusal: AnswerRefused | None = None
        for capture in self.store.newest_first(self.provider.name, key):
            # A live run repeats a request whose window had not ended at the capture.
            if (
                self.mode == "live"
                and request.settled_at is not None
                and capture.request_key not in self._answered
                and capture.fetched_at < request.settled_at
            ):
                continue
            verdict = self.provider.judge(capture)
            if verdict == OK:
                return capture
            refused = AnswerRefused(verdict.gap_type, verdict.reason, capture.evidence, capture.fetched_at)
            if self.mode == "replay" and verdict.gap_type == NO_DATA:
                raise refused
            refusal = refusal or refused
        if self.mode == "live":
            return None
        raise refusal or NotCaptured(located(self.provider.url(request), request.query))

    def _asked(self, request: Request) -> Capture:
        if self._silent >= self.provider.attempts and time.monotonic() < self._asks_again:
            reason = f"no request sent: {self._silent} attempts in a row had no answer"
            raise AnswerRefused("upstream_error", reason, self._location(request))
        try:
            return self._retrying(self._once, request)
        except _AskAgain as spent:
            raise spent.refusal from None

    def _is_spent(self, state: RetryCallState) -> bool:
        attempts = max(state.attempt_number, self._silent)
        return attempts >= self.provider.attempts or state.upcoming_sleep >= self._left()

    def _once(self, request: Request) -> Capture:
        try:
            answer = self._send(request, self.provider.url(request))
        except TooLarge as problem:
            raise AnswerRefused("upstream_error", f"the answer is {problem}", self._location(request)) from None
        except requests.RequestException as problem:
            self._silent, self._asks_again = self._silent + 1, time.monotonic() + REST_SECONDS
            # The message may contain the URL with secrets, so only the error's type is reported.
            reason = f"no answer: {_kind(problem)}"
            raise _AskAgain(AnswerRefused("upstream_error", reason, self._location(request)), 0.0) from None
        self._silent = 0
        self.received += len(answer.content)
        capture = self.store.put(
            captured(
                self.provider,
                request,
                answer.content,
                status=answer.status_code,
                headers=answer.headers,
                spellings=self._spellings,
            )
        )
        verdict = self.provider.judge(capture)
        if verdict == OK:
            return capture
        refusal = AnswerRefused(verdict.gap_type, verdict.reason, capture.evidence, capture.fetched_at)
        if verdict.outcome == "refused":
            raise refusal
        raise _AskAgain(refusal, _retry_after(capture))

    def _send(self, request: Request, url: str) -> requests.Response:
        if self._left() <= 0:
            raise self._late(request)
        line = self._line
        if line is None:
            line = _Line.open(self.provider, self.store.root, self._left)
            if self.provider.handshake is not None:  # Values from the handshake are secrets too.
                self._spellings |= spelled(line.secrets)
                unmask(self._masks)
                self._masks = masked_wire(self._spellings)
            self._line = line
        if not line.limit.wait(self._left()):
            raise self._late(request)
        place, query, headers = self.provider.place, list(request.query), {}
        if place == "query":
            query += line.secrets.items()
        elif place == "header":
            headers = line.secrets
        elif line.secrets:
            headers = {"Authorization": f"Bearer {next(iter(line.secrets.values()))}"}
        self.sent += 1
        prepared = requests.PreparedRequest()  # Preparation by the session takes as long as the request.
        prepared.prepare(
            method=request.method,
            url=located(url, tuple(query)),
            json=request.json,
            headers={**line.session.headers, **headers},
            cookies=line.session.cookies,
        )
        return line.session.send(
            prepared,
            timeout=self.provider.timeout,
            allow_redirects=False,
            verify=line.session.verify,
            proxies=line.session.proxies,
        )

    def _left(self) -> float:
        return self._ends - time.monotonic()

    def _late(self, request: Request) -> AnswerRefused:
        reason = f"no complete answer within the {self._seconds:g} seconds for all requests"
        return AnswerRefused("upstream_error", reason, self._location(request))

    def _location(self, request: Request) -> str:
        return located(self.provider.url(request), request.query)


def captured(
    provider: Provider,
    request: Request,
    content: bytes,
    *,
    status: int = 200,
    headers: Mapping[str, str] = MappingProxyType({}),
    fetched_at: datetime | None = None,
    spellings: Mapping[bytes, str] = MappingProxyType({}),
) -> Capture:
    """Return an answer as a capture: the request without secrets, the listed headers, secrets redacted.

    fetched_at: the current time by default, according to our clock and the provider's Date.
    """
    body, redacted = redact(content, spellings)
    kept_headers = {}
    for name in provider.keep:
        if name in headers:
            value, count = redact(headers[name].encode("latin-1", "replace"), spellings)
            kept_headers[name], redacted = value.decode("latin-1"), redacted + count
    return Capture(
        source=provider.name,
        method=request.method.upper(),
        url=provider.url(request),
        params=request.query,
        payload=request.json,
        status=status,
        headers=kept_headers,
        body=body,
        fetched_at=fetched_at or _fetched_at(kept_headers.get("date")),
        sha256=sha256(body).hexdigest(),
        request_key=request.key(provider.name),
        redacted=redacted,
    )


def _fetched_at(date_header: str | None) -> datetime:
    """Return the current time, or the provider's Date if it is ahead by more than clocks usually differ.

    A late instant is safe, but an early instant is not.
    """
    ours = clock.now()
    try:
        theirs = stated(date_header, RFC_2822)
        theirs = (theirs if theirs.tzinfo else theirs.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
    except (Unreadable, OverflowError):
        return ours
    return theirs if theirs - ours > CLOCKS_AGREE else ours


def _retry_after(capture: Capture) -> float:
    """Return the seconds the provider asks to wait, as a number or as a date; 0 if it does not say."""
    header = capture.headers.get("retry-after", "").strip()
    if header.isascii() and header.isdigit():
        return min(float(header), LONGEST_RETRY_AFTER)
    try:
        ahead = (stated_instant(header, RFC_2822) - capture.fetched_at).total_seconds()
    except Unreadable:
        return 0.0
    return min(max(ahead, 0.0), LONGEST_RETRY_AFTER)


_backing_off = wait_random_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT)


def _wait(state: RetryCallState) -> float:
    problem = state.outcome.exception() if state.outcome else None
    requested = problem.after if isinstance(problem, _AskAgain) else 0.0
    return max(requested, _backing_off(state))


def _kind(problem: requests.RequestException) -> str:
    if isinstance(problem, requests.Timeout):
        return "timeout"
    if isinstance(problem, requests.exceptions.ProxyError):
        return "the proxy refused or broke the connection"
    if isinstance(problem, requests.exceptions.SSLError):
        return "TLS failed, or the certificate could not be verified"
    if isinstance(getattr(next(iter(problem.args), None), "reason", None), NameResolutionError):
        return "the host's name could not be resolved"
    if isinstance(problem, requests.ConnectionError | requests.exceptions.ChunkedEncodingError):
        return "the connection broke or was refused"
    return type(problem).__name__
