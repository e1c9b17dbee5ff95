"""Dated web pages: a reader turns an answer into candidates with claims of dates. This module verifies the claims and
dates the candidates.

A reader only makes proposals. A claim is proven if its quote is in the answer, contains the stated date, and states a
day or an instant. Every claim is read as its latest possible instant. A candidate becomes available at its latest
proven claim, so additional claims can only delay it. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Literal

from assets.external.web._sources import AllowedHost
from assets.feeds import claimed
from pitlake.errors import Unreadable
from resources.http.capture import Capture

Kind = Literal["published", "modified", "served"]
Place = Literal["body", "header", "shown"]

FIRST_PAGE = datetime(1991, 8, 6, tzinfo=timezone.utc)
# A page of today may claim a day that has not yet ended anywhere. Later claims indicate a wrong clock.
AHEAD = timedelta(hours=37)
CLOCKS_AGREE = timedelta(hours=24)
LONGEST_QUOTE = 400


@dataclass(frozen=True)
class Claim:
    """A reader's claim. kind: its subject. text: the original date or time. quote: the verbatim words of the claim.
    place: the raw body, a header, or the visible text. method: the reader and its method.
    """

    kind: Kind
    text: str
    quote: str
    place: Place
    method: str


@dataclass(frozen=True)
class Candidate:
    """An item a reader found in an answer, with its claims, best first."""

    url: str
    title: str | None
    text: str | None
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class ProvenClaim:
    """A proven claim, and its latest possible instant."""

    claim: Claim
    instant: datetime


@dataclass(frozen=True)
class Dating:
    """The dating of a candidate. claim: the decisive claim. published: the best claim of publication.

    dated_at is None if the only proof is that the page existed when it was fetched.
    """

    available_at: datetime
    dated_at: datetime | None
    published: datetime | None
    claim: Claim
    proven: tuple[ProvenClaim, ...]


def prove(candidate: Candidate, capture: Capture, source: AllowedHost) -> tuple[ProvenClaim, ...]:
    """Return the proven claims in order. Unproven claims are dropped."""
    return tuple(
        ProvenClaim(claim, instant)
        for claim in candidate.claims
        if _stands(claim, candidate, capture) and (instant := _reading(claim, capture, source)) is not None
    )


def decide(candidate: Candidate, capture: Capture, source: AllowedHost) -> Dating | None:
    """Return the dating of a candidate.

    Only this function determines the availability of a web page. Return None if no claim is proven, or if the page
    mentions an unreadable update, because the text may be as recent as that update.
    """
    proven = prove(candidate, capture, source)
    proven_ids = {id(dated.claim) for dated in proven}
    modified = [claim for claim in candidate.claims if claim.kind == "modified"]
    if any(id(claim) not in proven_ids for claim in modified):
        return None
    dating_claims = [dated for dated in proven if dated.claim.kind != "served"]
    if not dating_claims:
        served = next(iter(proven), None)
        return Dating(capture.fetched_at, None, None, served.claim, proven) if served else None
    latest_claim = max(dating_claims, key=lambda dated: dated.instant)
    published = next((dated.instant for dated in dating_claims if dated.claim.kind == "published"), None)
    return Dating(latest_claim.instant, latest_claim.instant, published, latest_claim.claim, proven)


def plausible(proven: Sequence[ProvenClaim], fetched_at: datetime) -> bool:
    """Return whether all claims are after the start of the web and before the page's own download."""
    return all(FIRST_PAGE <= dated.instant <= fetched_at + AHEAD for dated in proven)


def _stands(claim: Claim, candidate: Candidate, capture: Capture) -> bool:
    """Return whether the quoted words are in the answer and contain the text."""
    if not claim.text.strip() or claim.text not in claim.quote or len(claim.quote) > LONGEST_QUOTE:
        return False
    if claim.place == "header":
        return claim.quote in {f"{name}: {value}" for name, value in capture.headers.items()}
    return claim.quote in ((candidate.text or "") if claim.place == "shown" else capture.text())


def _reading(claim: Claim, capture: Capture, source: AllowedHost) -> datetime | None:
    try:
        instant = claimed.latest(claim.text, source.zone)
    except Unreadable:
        return None
    if claim.kind == "served":
        # The server's clock alone proves nothing, so it must agree with our time of the download.
        return capture.fetched_at if abs(instant - capture.fetched_at) <= CLOCKS_AGREE else None
    return instant
