"""Builds the demo's lake from the bundled answers, with the feeds of `pitlake sync`.

The feeds date every row. This module dates nothing.
"""

import shutil
from collections.abc import Callable
from datetime import datetime, timezone
from importlib.resources import files
from pathlib import Path
from tempfile import mkdtemp
from uuid import uuid4

from assets.derived import names
from assets.external import feed
from assets.feeds.feed import Fetch, Scope
from assets.feeds.runs import run_feed
from pitlake.errors import AnswerRefused, CheckFailed
from pitlake.lake.lake import Lake
from resources.http.capture import Capture, CaptureStore, Request
from resources.http.client import HttpClient, captured
from resources.http.provider import NO_DATA, Provider

FETCHED_AT = datetime(2025, 3, 1, 12, tzinfo=timezone.utc)
APPLE, NVIDIA, SNOWFLAKE = "0000320193", "0001045810", "0001640147"
COMPANIES = (APPLE, NVIDIA, SNOWFLAKE)
SCOPES = {
    "macro_observations": Scope(series=("GDP",)),
    "sec_filings": Scope(ciks=COMPANIES, options={"headers": "none"}),
    "sec_facts": Scope(ciks=COMPANIES),
}


def built(folder: Path, say: Callable[[str], None]) -> Lake:
    """Return the demo's lake in a folder. It is built at the first call. Raises CheckFailed, LakeError."""
    if not folder.exists():
        say("building a lake of public figures, once")
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
        try:
            fill(Lake(unfinished / "lake"))
            (unfinished / "lake").rename(folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return Lake(folder)


def fill(lake: Lake) -> None:
    """Publish every bundled answer. Raises CheckFailed, LakeError."""
    lake.end_at(FETCHED_AT)
    store = CaptureStore.of(lake.location)
    for name, scope in SCOPES.items():
        source = feed(name)
        fetch = _fetch_into(store, source.provider)
        for unit in source.units(scope):
            list(source.collect(unit, fetch))
        store.flush()
        with HttpClient(source.provider, store, "replay") as client:
            report = run_feed(source, scope, client, lake, run_id=f"demo-{uuid4().hex}")
        if isinstance(report.outcome, CheckFailed):
            raise report.outcome
    names.derive(lake, run_id=f"demo-{uuid4().hex}")


def _fetch_into(store: CaptureStore, provider: Provider) -> Fetch:
    """Return a function that captures a provider's bundled answers, as the client captures network answers."""
    answers = files("pipelines.demo") / "answers" / provider.name

    def fetch(request: Request) -> Capture:
        answer = answers / (request.path.strip("/").removesuffix(".json") + ".json")
        if not answer.is_file():
            raise AnswerRefused(NO_DATA, "the demo has no such file", provider.url(request))
        return store.put(captured(provider, request, answer.read_bytes(), fetched_at=FETCHED_AT))

    return fetch
