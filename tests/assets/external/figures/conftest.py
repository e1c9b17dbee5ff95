"""Fixtures shared by the tests of providers' figures: bundled responses."""

import json
from collections.abc import Callable
from datetime import date, datetime, timezone

import pytest

from assets.external import all_feeds
from assets.extraction import Gap, Row, RunFacts
from assets.feeds.feed import Scope
from assets.feeds.runs import collect_unit, outcomes
from sample import bundled
from tests.answers import captured

FETCHED = datetime(2024, 7, 9, 12, tzinfo=timezone.utc)
OBSERVED = datetime(2026, 1, 1, tzinfo=timezone.utc)
NO_SPLIT = lambda _ticker, _after, _until: 1.0  # noqa: E731
"""The split ratios of a lake whose polls prove that there was no split."""


class Answers:
    """A feed that reads bundled responses or given bodies, without a server."""

    def __init__(self, name: str, **scope) -> None:
        self.feed = all_feeds()[name]
        self.scope = Scope(**scope)

    def captures(self, *bodies: bytes | str | dict, fetched_at=FETCHED, headers=None) -> Callable:
        answers_left = iter(bodies)

        def fetch(request):
            params = dict(request.query)
            body = next(answers_left, None)
            if body is None:
                payload = json.dumps(request.json)
                body = bundled.find(self.feed.provider.name, request.method, request.path, params, payload).body
            content = (
                body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
            )
            return captured(self.feed.provider, request, content, fetched_at=fetched_at, headers=headers or {})

        return fetch

    def outcomes(self, *bodies, **how) -> list[Row | Gap]:
        return [outcome for outcome, _ in self.dated(*bodies, **how)]

    def dated(
        self, *bodies, observed_at=OBSERVED, releases=None, splits=NO_SPLIT, **how
    ) -> list[tuple[Row | Gap, date]]:
        fetch = self.captures(*bodies, **how)
        run = RunFacts(observed_at=observed_at, releases=releases, splits=splits)
        dated_outcomes = []
        for unit in self.feed.units(self.scope):
            captures, refusal = collect_unit(self.feed, unit, fetch)
            dated_outcomes += outcomes(self.feed, unit, captures, refusal, run)
        return dated_outcomes

    def rows(self, *bodies, **how) -> list[Row]:
        return [outcome for outcome in self.outcomes(*bodies, **how) if isinstance(outcome, Row)]

    def reasons(self, *bodies, **how) -> list[str]:
        return [outcome.reason for outcome in self.outcomes(*bodies, **how) if isinstance(outcome, Gap)]

    def verdict(self, body, **how):
        [unit] = self.feed.units(self.scope)
        [capture, *_] = self.feed.collect(unit, self.captures(body, **how))
        return self.feed.provider.judge(capture)


@pytest.fixture(scope="session")
def answers() -> type[Answers]:
    return Answers
