"""Finds the scopes that were captured: those of recorded runs, and those recovered from captured requests.

A run that died was not recorded. To recover its scope, possible scopes are made from the values in a captured request.
A scope is accepted only if the feed makes the same request for it.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date
from itertools import chain, product

from assets.extraction import UNFORESEEN
from assets.feeds.feed import Feed, Scope, Unit
from assets.feeds.replaying import first_request
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from resources.http.capture import Capture, CaptureStore

_DAY = re.compile(r"\b\d{4}-\d{2}-\d{2}\b", re.ASCII)
_WORD = re.compile(r"[^/?&=]+?(?=\.json$|$)")


def scopes_of(feed: Feed, store: CaptureStore) -> Iterator[Scope]:
    """Yield the scopes of a feed's runs and captures in a store. They may overlap."""
    keys: set[str] = set()  # keys of requests that have a known scope or fit none
    for run_id, dataset in store.runs():
        if dataset == feed.dataset.name:
            with suppress(*UNFORESEEN, BadInput):
                scope = Scope.of_json(store.run(run_id, dataset)["scope"])
                keys |= keys_of(feed, scope).keys()
                yield scope
    for capture in store.every(feed.provider.name, without=keys):
        keys.add(capture.request_key)
        for scope in _possible(capture):
            scope_keys = keys_of(feed, scope).keys()
            if capture.request_key in scope_keys:
                keys |= scope_keys
                yield scope
                break


def unread_datasets(feed: Feed, lake: Lake, store: CaptureStore) -> list[str]:
    """Return the datasets that date a feed's records and whose captures no published run of the lake has read."""
    captured = {dataset for _, dataset in store.runs()} & {*feed.after}
    return sorted(name for name in captured if not any(poll.confirmed for poll in lake.polls(name)))


def keys_of(feed: Feed, scope: Scope) -> dict[str, Unit]:
    """Return the units of a scope by the keys of their first requests; empty if the feed refuses the scope."""
    units: dict[str, Unit] = {}
    with suppress(*UNFORESEEN, BadInput):
        for unit in feed.units(scope):
            request = first_request(feed, unit)
            if request is not None:
                units.setdefault(request.key(feed.provider.name), unit)
    return units


def _possible(capture: Capture) -> Iterator[Scope]:
    """Yield the possible scopes of a captured request, made from its words and days."""
    texts = [value for _, value in capture.params] + capture.url.split("/")[3:]
    named_days = set()
    for spelling in chain.from_iterable(map(_DAY.findall, texts)):
        with suppress(ValueError):  # The digits are not a date.
            named_days.add(date.fromisoformat(spelling))
    days = sorted(named_days)
    words = dict.fromkeys(match[0] for text in texts if not _DAY.search(text) and (match := _WORD.match(text)))
    spans = [(first, last) for first, last in product((None, *days), repeat=2) if not (first and last and last < first)]
    if capture.payload is not None:
        words |= dict.fromkeys(str(value) for value in dict(capture.payload).values() if isinstance(value, str))
    for first, last in spans:
        span = Scope(date_from=first, date_to=last, options=dict(capture.params))
        yield span
        for word in words:
            yield from (replace(span, tickers=(word,)), replace(span, ciks=(word,)))
            yield from (replace(span, series=(word,)), replace(span, queries=(word,)))
