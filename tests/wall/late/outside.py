"""The outside providers as sources: every feed queries its provider in the state at the time of a poll.

Responses are captured as the client captures them, and the feeds replay the captures.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote

from assets.external import all_feeds
from assets.feeds.feed import Scope
from assets.feeds.runs import run_feed
from assets.runs import RunReport
from pitlake.datasets import get
from pitlake.errors import AnswerRefused
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.stage import CLOCK_TAG
from resources.http.capture import Capture, CaptureStore, Request
from resources.http.client import HttpClient, captured
from resources.http.provider import OK
from tests.wall.late import edgar, figures, tellings
from tests.wall.late.documents import Document, State
from tests.wall.late.found import Thing, by

JSON = {"content-type": "application/json"}
FEEDS = {reply.dataset: reply for reply in (*figures.FEEDS, *tellings.FEEDS, *edgar.FEEDS)}
KINDS = tuple({reply.kind.name: reply.kind for reply in FEEDS.values()}.values())
NAMES = {name: reply.name for name, reply in FEEDS.items()}
WHOLE = {name for name in FEEDS if all_feeds()[name].whole and get(name).source_tag != CLOCK_TAG}
"""Feeds whose complete responses prove that a record was missing, except those whose own clock dates the records."""
SHOWN_BY = {"macro_observations": by("series_id"), "sec_facts": by("cik", "concept", "period_end")}


@dataclass(frozen=True)
class Asked:
    """A poll of one feed's provider: what it held, every response, and the entities requested (empty for all)."""

    dataset: str
    at: datetime
    held: list[State]
    answers: tuple[Capture, ...]
    entities: frozenset[str]

    def covers(self, row: Mapping[str, Any]) -> bool:
        """Return whether this poll would have found a row that existed at its time."""
        asked_for = not self.entities or str(row[get(self.dataset).entity]) in self.entities
        return asked_for and FEEDS[self.dataset].covered(self.held, self.at, row)


def looked_at(documents: Iterable[Document], moment: datetime) -> dict[str, list[State]]:
    """Return the state of every feed's provider at an instant."""
    content: dict[str, list[State]] = {}
    for document in documents:
        state = document.at(moment)
        if state is not None:
            content.setdefault(document.kind.name, []).append(state)
    return {
        name: [reply.tells(state, moment) for state in content[reply.kind.name]]
        for name, reply in FEEDS.items()
        if reply.kind.name in content
    }


def ask(name: str, holdings: list[State], lake: Lake, run_id: str, at: datetime) -> Asked:
    """Run a feed: capture every response, then replay and publish. Raises the error that refused the run."""
    feed, reply = all_feeds()[name], FEEDS[name]
    scope, answers = reply.scope(holdings), list[Capture]()
    store = CaptureStore(captures_of(name, Path(lake.location)))

    def fetch(request: Request) -> Any:
        body, headers = reply.answer(request, holdings)
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        status = HTTPStatus.NOT_FOUND if body is None else HTTPStatus.OK
        headers = JSON | headers
        answer = store.put(captured(feed.provider, request, content, status=status, headers=headers, fetched_at=at))
        answers.append(answer)
        verdict = feed.provider.judge(answer)
        if verdict != OK:
            raise AnswerRefused(verdict.gap_type, verdict.reason, answer.evidence)
        return answer

    for unit in feed.units(scope):
        with suppress(AnswerRefused):
            for _ in feed.collect(unit, fetch):
                pass
    replay(name, scope, store, lake, run_id)
    entities = {feed.entity_of(unit) for unit in feed.units(scope)}
    return Asked(name, at, holdings, tuple(answers), frozenset(map(str, entities - {None})))


def captures_of(name: str, root: Path) -> Path:
    """Return the folder for a feed's captures. Feeds with different documents may request the same addresses, but none
    may read the responses to another one's polls.
    """
    return root / "captures" / FEEDS[name].kind.name


def replay(
    name: str, scope: Scope, store: CaptureStore, lake: Lake, run_id: str, until: datetime | None = None
) -> RunReport:
    """Replay a feed's captures, parsing pages in this process for speed. Raises the error that refused the run."""
    feed = all_feeds()[name]
    with (
        HttpClient(feed.provider, store, "replay", until=until) as client,
        patch("assets.external.web._markup.bounded", lambda work, *arguments: work(*arguments)),
    ):
        report = run_feed(feed, scope, client, lake, run_id=run_id)
    if isinstance(report.outcome, Exception):
        raise report.outcome
    return report


def thing_of(dataset: str, locator: str, content: Iterable[State]) -> Thing | None:
    """Return the thing that a gap's locator names; None if it names a whole response."""
    spelled_out = unquote(locator)
    if "&item=" not in spelled_out:
        return None
    for state in content:
        for thing, texts in FEEDS[dataset].marks(state):
            if all(text in spelled_out for text in texts):
                return thing
    return None
