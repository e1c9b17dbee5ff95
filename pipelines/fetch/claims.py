"""Items with dates that no capture proves, from providers whose dates an operator chose to trust.

This is off by default and never applies to the lake's own datasets. A date without a time means the end of its day in
New York, so items dated on the cut-off's day are not shown. Each item states that its date is the provider's claim,
and the lake's report counts these items.
"""

import os
from contextlib import suppress
from typing import Any

from assets.external.perplexity import web_results
from assets.extraction import Gap, Row, RunFacts
from assets.feeds.feed import Feed
from assets.feeds.runs import collect_unit, outcomes
from pipelines.fetch.asking import FetchQuestion, NotAsked
from pipelines.fetch.offline import from_file, shown
from pipelines.fetch.operations import Operation
from pitlake import clock
from pitlake.errors import LakeNotFound, NotCaptured
from pitlake.lake.lake import Lake
from resources.http.capture import CaptureStore
from resources.http.client import HttpClient

VARIABLE = "PITLAKE_PROVIDER_DATES"
FEEDS = {"perplexity": web_results.CLAIMED}
"""The sources that can be trusted, each with its feed that uses the provider's dates."""
MARK = {"dated_by": "provider_claim"}


def feed_by_claims(question: FetchQuestion) -> Feed | None:
    """Return the feed whose dates are trusted for a question, or None. Raises NotAsked.

    Questions about an earlier state of the lake always use the lake.
    """
    chosen = {name.strip().lower() for name in os.environ.get(VARIABLE, "").split(",")} - {""}
    if unknown := sorted(chosen - FEEDS.keys()):
        raise NotAsked(f"{VARIABLE} names {unknown[0]!r}, but it can be set only for {', '.join(FEEDS)}")
    return FEEDS[question.source] if question.source in chosen and question.known_by is None else None


def claimed_rows(
    question: FetchQuestion, op: Operation, source: Feed, lake: Lake
) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Return the rows of a file or of captures, dated by the provider, and the types and reasons of the gaps."""
    if question.input_file:
        return from_file(question, op, source, lake)
    results: list[Row | Gap] = []
    with HttpClient(source.provider, CaptureStore.of(lake.location), "replay") as client, suppress(NotCaptured):
        for unit in source.units(op.scope(question)):
            captures, refusal = collect_unit(source, unit, client.fetch)
            results += [
                result for result, _ in outcomes(source, unit, captures, refusal, RunFacts(observed_at=clock.now()))
            ]
    return shown(question, op, source, results)


def note(lake: Lake, source: str, items: int) -> None:
    """Record the number of an answer's items in the lake, if there is one."""
    with suppress(LakeNotFound):
        lake.head()
        lake.note_claims(source, items)
