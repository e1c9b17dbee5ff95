"""Providers of outside data: address, rate, secrets, and the judge of answers.

Each file in resources/http/providers has one `PROVIDER`. A judge inspects an answer's content, because some refusals
have HTTP status 200. This module opens no connection.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import requests

from pitlake.errors import BadInput, Unparsable
from resources.http.capture import Capture, Request, located
from resources.http.secrets import Secrets, setting

TOO_MANY, TIMED_OUT, NOT_FOUND = 429, 408, 404
SERVER_ERRORS = 500
SUCCESS = range(200, 300)

NO_DATA = "no_data"
"""The gap type of answers that say that the provider has no data. Other types say nothing about its data."""
KEY_REFUSED, KEY_NOT_ACCEPTED = "the key was refused", "the key is not accepted"

Outcome = Literal["ok", "retry", "refused"]


@dataclass(frozen=True)
class Assessment:
    """The judgement of an answer. `gap_type` and `reason` describe its gap if it is not ok after all retries."""

    outcome: Outcome
    gap_type: str = ""
    reason: str = ""


OK = Assessment("ok")


def retry(reason: str, gap_type: str = "upstream_error") -> Assessment:
    """Judge that the answer may change soon. After all retries, it becomes this gap."""
    return Assessment("retry", gap_type, reason)


def refused(gap_type: str, reason: str) -> Assessment:
    """Judge that repeating the request would not help."""
    return Assessment("refused", gap_type, reason)


Judge = Callable[[Capture], Assessment]
Handshake = Callable[[requests.Session, "Provider"], Mapping[str, str]]


def judge_status(capture: Capture) -> Assessment:
    """Judge by the status: retry rate limits, timeouts and server errors. Not found is no data. Refuse the rest."""
    status = capture.status
    if status in SUCCESS:
        return OK
    if status in (TOO_MANY, TIMED_OUT) or status >= SERVER_ERRORS:
        return retry(f"HTTP {status}")
    return refused("no_data" if status == NOT_FOUND else "upstream_error", f"HTTP {status}")


def judge_json(capture: Capture) -> Assessment:
    """Judge by the status. A success must be JSON; a truncated answer or an HTML page is retried."""
    verdict = judge_status(capture)
    if verdict.outcome != "ok":
        return verdict
    try:
        capture.json()
    except Unparsable:
        return retry("the answer is not JSON")
    return OK


@dataclass(frozen=True, kw_only=True)
class Provider:
    """One provider.

    rate: the maximum number of requests within a number of seconds, over all runs that share a capture store. hosts:
    other base URLs by name, for requests that name one. secrets: environment variables by the secret's name in the
    request. public: values of secrets that are not secret, such as a demo key. place: the place of secrets in a
    request. headers: headers of every request. contact: variables with the User-Agent that includes a contact address,
    for providers that demand it. timeout: seconds to connect and to read. longest: the maximum seconds until the last
    byte of an answer. most_bytes: the maximum size of a decoded answer. attempts: the maximum number of attempts per
    request; after as many in a row without any answer, the provider is not queried for a while. handshake: prepares the
    first request: sets cookies in the session and returns secrets. keep: response headers to store. names: parameters
    that identify the subject; other parameters belong to one request, such as its page. $PITLAKE_<NAME>_URL replaces
    base URL and hosts, so that a local server can replace the provider. Redirects are not followed, because they would
    send secrets to other hosts.
    """

    name: str
    base_url: str
    rate: tuple[int, float]
    judge: Judge = judge_json
    hosts: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    public: tuple[str, ...] = ()
    place: Literal["query", "header", "bearer"] = "query"
    headers: Mapping[str, str] = field(default_factory=dict)
    contact: tuple[str, ...] = ()
    timeout: tuple[float, float] = (10.0, 30.0)
    longest: float = 300.0
    most_bytes: int = 64 << 20
    attempts: int = 4
    handshake: "Handshake | None" = None
    keep: tuple[str, ...] = ("content-type", "date", "last-modified", "retry-after", "etag")
    names: tuple[str, ...] = ()

    def location(self, capture: Capture) -> str:
        """Return the address of an answer's subject, independent of the rest of its request."""
        return located(capture.url, tuple((name, value) for name, value in capture.params if name in self.names))

    def url(self, request: Request) -> str:
        """Return the URL of a request, without its query. Raises BadInput for an invalid replacement URL."""
        moved = os.environ.get(f"PITLAKE_{self.name.upper()}_URL", "").strip()
        if moved and not moved.startswith(("http://", "https://")):
            raise BadInput(
                f"PITLAKE_{self.name.upper()}_URL", "is not an http URL", "give a URL such as http://127.0.0.1:8080"
            )
        base = moved or (self.hosts[request.host] if request.host else self.base_url)
        return f"{base.rstrip('/')}/{request.path.lstrip('/')}"

    def secret_store(self) -> Secrets:
        return Secrets(self.name, self.secrets, self.public)

    def request_headers(self) -> dict[str, str]:
        """Return the headers of every request, without secrets. Raises BadInput if the contact is missing."""
        if not self.contact:
            return {"User-Agent": "pitlake", **self.headers}
        agent = setting(self.contact)
        if agent is None or "@" not in agent:
            raise BadInput(
                self.contact[0],
                f"{self.name} demands a User-Agent with a contact address",
                'set it to a name and an address, such as "Jane Doe jane@example.com"',
            )
        return {"User-Agent": agent, **self.headers}
