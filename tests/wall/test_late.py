"""Late polls: the campaign finds planted faults, and no fault in the lake itself."""

import copy
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone

import numpy as np
import pytest

from assets.feeds import runs
from assets.feeds.replaying import unread_rounds
from pitlake.datasets import get
from pitlake.lake.publishing import polls
from pitlake.lake.publishing.diff import RowFindings
from pitlake.lake.publishing.observations import EarlierObservations
from tests.wall.late import asking, graph, judge, sources
from tests.wall.late.documents import Document, Event
from tests.wall.late.looks import A_KIND, DAYS, FIRST_NUMBER, History, Look, lived

PUBLISHED, BEFORE, BETWEEN, EDITED, AFTER = (
    datetime(2024, month, day, 15, tzinfo=timezone.utc) for month, day in ((4, 1), (4, 2), (5, 2), (6, 2), (6, 3))
)
NEVER = 10**9  # a session is queried: evaluating in this process is enough
CLAIMED = PUBLISHED + timedelta(hours=12)
KINDS = {kind.name: kind for kind in sources.KINDS}
DAY = date(2024, 4, 1)
ACTION = {
    "number": 1000, "ticker": "X1000", "companies": ["1000"], "declared": DAY, "ex": DAY, "amount": "0.5",
    "type": "Regular", "linked": True,
}  # fmt: skip
STATES = {
    "news": {
        "number": 1000, "created": PUBLISHED, "updated": PUBLISHED, "clock": "ny", "version": 1, "blank": False,
        "said": "oil", "tags": ["oil"], "tickers": ["X1000"], "unreadable": False, "vector": None,
    },
    "dividend": ACTION,
    "split": ACTION | {"ratio": ("1", "4"), "named": "1_4"},
}  # fmt: skip


def edited(kind, first=None, at=(BEFORE, AFTER), **changes):
    """Return a history of one document that is polled, edited, and polled again."""
    born = STATES[kind] | (first or {})
    events = (Event(PUBLISHED, "appears", born), Event(EDITED, "edited", copy.deepcopy(born) | changes))
    looks = tuple(Look(moment, sources.told_in(kind), tuple(DAYS)) for moment in at)
    return History(0, (Document(KINDS[kind], 1000, events),), looks)


WAYS = {
    "a text appears": edited("news", {"blank": True}, blank=False),
    "a text claims to be older than a look": edited("news", said="gas", version=2, updated=CLAIMED),
    "and than one that found nothing new": edited(
        "news", at=(BEFORE, BETWEEN, AFTER), said="gas", version=2, updated=BETWEEN - timedelta(days=9)
    ),
    "a dividend's amount is corrected": edited("dividend", amount="0.7"),
    "a dividend's ex-date is corrected": edited("dividend", ex=date(2024, 5, 20)),
    "a split's ratio is corrected": edited("split", ratio=("1", "10"), named="1_10"),
    "a dividend's company is renamed": edited("dividend", ticker="X1000.1"),
    "a split's company is renamed": edited("split", ticker="X1000.1"),
    "a vector is of the new text": edited("news", said="gas", version=2, vector=(2, 0)),
    "an article is blanked": edited("news", blank=True),
}


def mistakes_of(way, tmp_path):
    return judge.judged(WAYS[way], tmp_path / "lake", NEVER).failures


@pytest.mark.sampled(4)
@pytest.mark.parametrize("way", WAYS)
def test_edits_found_by_a_later_poll_do_not_change_earlier_answers(tmp_path, way):
    assert mistakes_of(way, tmp_path) == []


def claims_count_after_the_last_revision(patch):
    patch.setattr(RowFindings, "apply_polls", lambda self, observations: None)


def earlier_observations_are_forgotten(patch):
    patch.setattr(EarlierObservations, "of_rows", lambda self, *_: np.full(self._staged.rows.num_rows, polls.NEVER))


def gaps_keep_their_records_dates(patch):
    patch.setattr(EarlierObservations, "of_gaps", lambda self, positions: np.zeros(len(positions), bool))


def polls_are_not_written(patch):
    patch.setattr(polls, "write", lambda *_: "")
    patch.setattr(polls, "confirm", lambda *_: None)


def the_key_holds_the_amount(patch):
    wrong = replace(get("dividends"), key=("dividend_id", "cash_amount"), identity=())
    patch.setitem(graph.EXTRACTORS, "dividends", replace(graph.EXTRACTORS["dividends"], dataset=wrong))
    patch.setattr(asking, "get", lambda name: wrong if name == "dividends" else get(name))


def the_key_holds_the_ticker(patch):
    wrong = replace(get("dividends"), key=("ticker", "dividend_id"), identity=())
    patch.setitem(graph.EXTRACTORS, "dividends", replace(graph.EXTRACTORS["dividends"], dataset=wrong))
    patch.setattr(asking, "get", lambda name: wrong if name == "dividends" else get(name))


def vectors_are_dated_by_their_article(patch):
    right = graph.EXTRACTORS["embeddings"]
    patch.setitem(
        graph.EXTRACTORS, "embeddings", replace(right, dataset=replace(right.dataset, follows=()), prepared=None)
    )


MUTANTS = {
    claims_count_after_the_last_revision: ("a text appears", "a text claims to be older than a look"),
    earlier_observations_are_forgotten: ("a text appears", "and than one that found nothing new"),
    gaps_keep_their_records_dates: ("an article is blanked",),
    polls_are_not_written: ("and than one that found nothing new",),
    the_key_holds_the_amount: ("a dividend's amount is corrected",),
    the_key_holds_the_ticker: ("a dividend's company is renamed",),
    vectors_are_dated_by_their_article: ("a vector is of the new text",),
}


@pytest.mark.parametrize(
    ("mutant", "way"),
    [(mutant, way) for mutant, ways in MUTANTS.items() for way in ways],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_a_weaker_rule_is_caught(tmp_path, monkeypatch, mutant, way):
    mutant(monkeypatch)
    assert mistakes_of(way, tmp_path) != []


def test_later_polls_never_change_an_answer(tmp_path):
    # The lists that lead to slides and transcripts are also read by call_events. Its next run reads those responses,
    # which is earlier in a fresh lake than in the live one.
    few = frozenset(
        (kind.name, FIRST_NUMBER + A_KIND * place)
        for place, kind in enumerate(sources.KINDS)
        if not kind.name.startswith("call_") or kind.name == "call_events"
    )
    history = lived(4, few)
    tally = judge.judged(replace(history, looks=history.looks[-3:]), tmp_path / "lake", asked_once_in=40)
    assert tally.failures == []
    assert tally.answered > tally.compared / 3


def newest_captures_alone_are_read(patch):
    patch.setattr(runs, "unread_rounds", lambda *inputs: ([], unread_rounds(*inputs)[1]))


def complete_polls_are_ignored(patch):
    patch.setattr(EarlierObservations, "polled_before", lambda self, positions: np.full(len(positions), polls.NEVER))


def outside_answers(tmp_path):
    kinds = ("av_earnings", "polygon_splits", "call_slides")
    few = frozenset((document.kind.name, document.number) for document in lived(2).documents)
    history = lived(2, frozenset(each for each in few if each[0] in kinds and each[1] % A_KIND < A_KIND // 2))
    return judge.judged(history, tmp_path / "lake", NEVER)


def test_a_lake_that_is_filled_from_captures_shows_no_more_than_the_live_one(tmp_path):
    tally = outside_answers(tmp_path)
    assert tally.failures == []
    assert tally.answered > tally.compared / 3


@pytest.mark.parametrize("mutant", [newest_captures_alone_are_read, complete_polls_are_ignored])
def test_a_weaker_rule_of_replays_is_caught(tmp_path, monkeypatch, mutant):
    mutant(monkeypatch)
    assert outside_answers(tmp_path).failures != []


@pytest.mark.parametrize(
    ("seed", "number"),
    [
        pytest.param(1, 1156, id="an acceptance is stated earlier later on"),
        pytest.param(3, 1157, id="an acceptance lies after the look at its facts"),
    ],
)
def test_a_replay_dates_facts_by_the_acceptance_times_stated_at_that_time(tmp_path, seed, number):
    assert judge.judged(lived(seed, frozenset({("edgar", number)})), tmp_path / "lake", NEVER).failures == []


def test_histories_depend_only_on_their_seed_and_not_on_other_documents():
    whole, alone = lived(7), lived(7, frozenset({("news", FIRST_NUMBER)}))
    assert lived(7).story() == whole.story() != lived(8).story()
    assert set(alone.story()) <= set(whole.story())
