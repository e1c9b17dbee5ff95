"""The fault matrix: every fault of every source ends with data or a typed gap, and no captured response is requested
again.
"""

import json
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path

import pytest

from assets.buckets import rows_table
from assets.external import all_feeds
from assets.extraction import Gap, Row
from pitlake import clock
from pitlake.gate.columnar import violations_in
from pitlake.gate.rules import GAP_TYPES
from sample import bundled
from tests.providers.conftest import NO_PATIENCE, PATIENCE, Asker
from tests.providers.faults import ASKED_TO_WAIT, CALLS_EMPTY_FALSE, CASES, FALSE_EMPTY, TOO_MANY, always, at_first
from tests.providers.scopes import SCOPES

ATTEMPTS = 3
PASSING = {"429 with Retry-After", "429", "503", "connection broken"}
MATRIX = [
    pytest.param(name, case, id=f"{name}-{case.name}")
    for name, feed in all_feeds().items()
    for case in CASES
    if case.applies(name, feed.provider.name)
]


def comparable(result: list[Row | Gap]) -> list[tuple]:
    """Return the sorted outcomes, without values that depend on the time of the fetch."""
    return sorted(
        ("row", repr(sorted(each.values.items()))) if isinstance(each, Row) else ("gap", each.type, each.reason)
        for each in result
    )


def dates(result: list[Row | Gap]) -> dict[str, datetime]:
    """Return the instant at which each row became available."""
    return {repr(sorted(row.values.items())): row.available_at for row in result if isinstance(row, Row)}


@pytest.fixture(scope="module")
def undisturbed(loopback, tmp_path_factory) -> Callable[[str], list[Row | Gap]]:
    """A function that returns the undisturbed outcome of a feed, computed once per feed."""

    @cache
    def find(name: str) -> list[Row | Gap]:
        loopback.behave()
        return Asker(all_feeds()[name], tmp_path_factory.mktemp(name), SCOPES[name]).ask()

    return find


@pytest.fixture
def baseline(undisturbed, name) -> list[Row | Gap]:
    """The undisturbed outcome of the test's feed."""
    return undisturbed(name)


def is_sound(feed, result: list[Row | Gap]) -> None:
    """Check that there is a result, gaps have a type and a reason, rows pass the gate, and no two rows conflict."""
    assert result
    for gap in (each for each in result if isinstance(each, Gap)):
        assert gap.type in GAP_TYPES
        assert gap.reason
        assert gap.locator
    rows, values = [each for each in result if isinstance(each, Row)], {}
    for row in rows:
        identity = (*(row.values.get(column) for column in feed.dataset.identity), row.available_at)
        assert feed.naming or values.setdefault(str(identity), row.values) == row.values, "stated twice, differently"
    assert not rows or not violations_in(rows_table(feed, rows), clock.now(), feed.dataset.json_columns)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("name", "case"), MATRIX)
def test_a_fault_ends_with_data_or_a_typed_gap(baseline, server, asker, name, case):
    asking = asker(name)
    server.behave(always(case))
    faulty = asking.ask(patience=NO_PATIENCE if case.name == "timeout" else PATIENCE)
    is_sound(asking.feed, faulty)
    if case.name == "clock a day ahead":
        first = dates(baseline)
        assert [row for row, at in dates(faulty).items() if row in first and at < first[row]] == []
    assert len(server.asked) <= ATTEMPTS * len({ask.what for ask in server.asked})
    server.behave()
    again = asking.ask()
    is_sound(asking.feed, again)
    if case.recovers(name):
        assert comparable(again) == comparable(baseline)
    if case.name != "past the end":  # pages past the end are never captured, so they are requested again
        server.behave()
        assert comparable(asking.ask()) == comparable(again)
        assert server.asked == []


@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", [case for case in CASES if case.name in PASSING], ids=lambda case: case.name)
@pytest.mark.parametrize("name", all_feeds())
def test_a_temporary_fault_costs_at_most_a_single_retry_and_no_data(baseline, server, asker, name, case):
    asking = asker(name)
    server.behave(at_first(case))
    assert comparable(asking.ask()) == comparable(baseline)
    assert {sum(ask.what == what for ask in server.asked) for what in {ask.what for ask in server.asked}} <= {1, 2}
    if case is TOO_MANY:
        assert min(asking.waited) >= ASKED_TO_WAIT


@pytest.mark.parametrize("name", sorted(CALLS_EMPTY_FALSE))
def test_a_falsely_empty_answer_is_requested_again(baseline, server, asker, name):
    asking = asker(name)
    server.behave(at_first(FALSE_EMPTY))
    assert comparable(asking.ask()) == comparable(baseline)
    assert asking.waited
    server.behave(always(FALSE_EMPTY))
    assert {(gap.type, gap.reason) for gap in asker(name).ask()} == {("no_data", "no data")}


def test_every_bundled_answer_is_listed_in_its_index():
    for provider in bundled.providers():
        folder = Path(bundled.__file__).parent / "external" / provider
        listing = {entry["file"] for entry in json.loads((folder / "answers.json").read_text())}
        assert listing | {"answers.json"} == {path.name for path in folder.iterdir()}
