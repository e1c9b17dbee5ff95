"""The fault matrix: every source, every fault that can befall it, ends with data or a typed gap, and asks for nothing
twice that a capture already answers.
"""

from collections.abc import Callable
from functools import cache

import pytest

from assets.buckets import rows_table
from assets.external import all_feeds
from assets.extraction import Gap, Row
from pitlake import clock
from pitlake.gate.columnar import violations_in
from pitlake.gate.rules import GAP_TYPES
from tests.providers.conftest import NO_PATIENCE, PATIENCE, Asker
from tests.providers.faults import ASKED_TO_WAIT, CALLS_EMPTY_FALSE, CASES, FALSE_EMPTY, TOO_MANY, always, at_first
from tests.providers.scopes import SCOPES

ATTEMPTS = 3
MATRIX = [
    pytest.param(name, case, id=f"{name}-{case.name}")
    for name, feed in all_feeds().items()
    for case in CASES
    if case.applies(name, feed.provider.name)
]


def comparable(found: list[Row | Gap]) -> list[tuple]:
    """What was found, without what depends on the moment it was fetched at."""
    return sorted(
        ("row", repr(sorted(one.values.items()))) if isinstance(one, Row) else ("gap", one.type, one.reason)
        for one in found
    )


@pytest.fixture(scope="module")
def undisturbed(loopback, tmp_path_factory) -> Callable[[str], list[tuple]]:
    """What a feed finds when nothing goes wrong, asked once for each feed."""

    @cache
    def find(name: str) -> list[tuple]:
        loopback.behave()
        return comparable(Asker(all_feeds()[name], tmp_path_factory.mktemp(name), SCOPES[name]).ask())

    return find


@pytest.fixture
def baseline(undisturbed, name) -> list[tuple]:
    """What the feed of this test finds when nothing goes wrong."""
    return undisturbed(name)


def is_sound(feed, found: list[Row | Gap]) -> None:
    """Something came of it, every gap is typed and says why, and every row passes the gate."""
    assert found
    for gap in (one for one in found if isinstance(one, Gap)):
        assert gap.type in GAP_TYPES
        assert gap.reason
        assert gap.locator
    rows = [one for one in found if isinstance(one, Row)]
    assert not rows or not violations_in(rows_table(feed, rows), clock.now(), feed.dataset.json_columns)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("name", "case"), MATRIX)
def test_a_fault_ends_with_data_or_a_typed_gap(baseline, server, asker, name, case):
    asking = asker(name)
    server.behave(always(case))
    is_sound(asking.feed, asking.ask(patience=NO_PATIENCE if case.name == "timeout" else PATIENCE))
    assert len(server.asked) <= ATTEMPTS * len({ask.what for ask in server.asked})
    server.behave()
    again = asking.ask()
    is_sound(asking.feed, again)
    if case.recovers(name):
        assert comparable(again) == baseline
    if case.name != "past the end":  # what lies behind the end is never answered, so it is asked for again
        server.behave()
        assert comparable(asking.ask()) == comparable(again)
        assert server.asked == []


@pytest.mark.parametrize("name", all_feeds())
def test_a_fault_that_passes_costs_one_more_question_and_no_data(baseline, server, asker, name):
    asking = asker(name)
    server.behave(at_first(TOO_MANY))
    assert comparable(asking.ask()) == baseline
    assert {sum(ask.what == what for ask in server.asked) for what in {ask.what for ask in server.asked}} <= {1, 2}
    assert min(asking.waited) >= ASKED_TO_WAIT


@pytest.mark.parametrize("name", sorted(CALLS_EMPTY_FALSE))
def test_an_empty_answer_that_is_false_is_asked_for_again(baseline, server, asker, name):
    asking = asker(name)
    server.behave(at_first(FALSE_EMPTY))
    assert comparable(asking.ask()) == baseline
    assert asking.waited
