"""Questions over sources that disagree, are late or withdraw records. `make truth late` runs the large campaigns."""

from contextlib import closing
from datetime import timedelta
from random import Random

import numpy as np
import pytest

from pitlake.clock import AVAILABLE_AT
from pitlake.datasets import get
from pitlake.lake.publishing import polls
from pitlake.lake.publishing.observations import EarlierObservations
from pitlake.questions import catalogue
from tests.wall.sealed import Sealed
from tests.wall.unions import judge, preference, questions
from tests.wall.unions.histories import gaps_of, lived, rows_of
from tests.wall.unions.sources import COMPANIES, FAMILIES, SOURCES
from tests.wall.worlds import written

# Changes that make a macro wrong: the SQL, its replacement, and a question that shows the fault.
MUTANTS = {
    "the newest bar of a day, whichever source it is of": (
        "ORDER BY bar_rank(source), entity_kind", "ORDER BY available_at DESC, entity_kind", "entity_price_series",
    ),
    "a bar of a source that is preferred later": (
        "AND CURRENT ROW\n        )\n        AND row_number", "AND UNBOUNDED FOLLOWING)\n        AND row_number",
        "prices_as_of_event",
    ),
    "a fact is the graph's before the graph stated it": (
        "\n    AND graph.available_at <= edgar.available_at", "", "facts_as_of_event",
    ),
    "a filing that was taken back still counts": (
        "FROM reports\n", "FROM reports_revisions\n", "report_range",
    ),
    "a split is public with its last statement": (
        "min(other_at) FILTER", "max(other_at) FILTER", "entity_splits",
    ),
    "a filing is EDGAR's although the graph states it": (
        "PARTITION BY accession_no ORDER BY source, cik", "PARTITION BY accession_no ORDER BY source DESC, cik",
        "report_range",
    ),
    "an article is shown by both of its sources": (
        "\n    AND NOT EXISTS (FROM lake.news AS held WHERE held.id = 'bzNews_' || article.id)", "", "news_date_range",
    ),
    "a text that was taken back is still searched": (
        "FROM benzinga_news AS article", "FROM benzinga_news_revisions AS article", "news_full_text",
    ),
    "a call is searched in both of its sources": (
        "ANTI JOIN of_graph", "ANTI JOIN (FROM of_graph WHERE false) AS of_graph", "transcript_search_qa",
    ),
    "a dividend that was taken back still counts": (
        "        FROM dividends\n", "        FROM dividends_revisions\n", "entity_dividends",
    ),
    "a call is shown by both of its sources": (
        "WHERE is_same_call(", "WHERE false AND is_same_call(", "transcript_range",
    ),
    "a view shows a day's bar of each source": (
        "PARTITION BY symbol, date ORDER", "PARTITION BY symbol, date, source ORDER", "FROM bars",
    ),
    "a view shows a filing as EDGAR lists it, although the graph states it": (
        "ON reports.accession_no = listed.accession_no", "ON false", "FROM filings",
    ),
    "another call of the day hides a call": (
        "THEN 10800 ELSE 1800", "THEN 43200 ELSE 43200", "transcript_range",
    ),
}  # fmt: skip


SEEDS = (0, 9)  # of two histories; in the second one every source restates something


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """The world of each history, with its rows."""

    def made(seed):
        lake = lived(seed).run(tmp_path_factory.mktemp("unions") / "lake")
        rows = rows_of(lake)
        return written(lake.root.parent / "world", rows, gaps_of(lake), landings=2), rows

    return [made(seed) for seed in SEEDS]


def mistakes(world, stored, name):
    """Yield the mistakes in the answers to one question, as of instants of the history."""
    rows = {dataset: table.to_pylist() for dataset, table in stored.items()}
    family = next(writers for writers, _ in FAMILIES.values() if set(writers) & set(question(name).reads))
    instants = sorted({row[AVAILABLE_AT] for dataset in family for row in rows[dataset]})
    for as_of in [*instants[2::5], instants[-1] + timedelta(days=1)]:
        bound = {"isolation": "in_process", "datasets": sorted(question(name).reads)}
        with closing(Sealed(world, as_of, **bound)) as sealed:
            for companies in [COMPANIES] if questions.is_of_pairs(name) else [(company,) for company in COMPANIES]:
                request = question(name, companies, as_of)
                result = preference.mistake(request, request.ask(sealed.session), rows, as_of)
                if result is not None:
                    yield result


def question(name, companies=(1,), as_of=judge.AFTERWARDS):
    """Return a question about companies that it names by CIK."""
    outcome = (questions.question(name, companies, as_of, Random(f"{companies}/{seed}")) for seed in range(99))
    return next(each for each in outcome if each.by_cik)


@pytest.mark.parametrize("name", questions.WHOSE)
def test_a_view_over_several_sources_shows_the_expected_rows(worlds, name):
    for world, stored in worlds:
        assert list(mistakes(world, stored, f"FROM {name}")) == []


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_weaker_union_is_caught(worlds, monkeypatch, mutant):
    right, wrong, name = MUTANTS[mutant]
    for world, stored in worlds:
        assert list(mistakes(world, stored, name)) == []
    texts = catalogue._macros()
    assert sum(right in text for _, text in texts) == 1
    changed = tuple((reads, text.replace(right, wrong)) for reads, text in texts)
    monkeypatch.setattr(catalogue, "_macros", lambda: changed)
    assert any(result for world, stored in worlds for result in mistakes(world, stored, name))


def test_answers_equal_those_of_lakes_that_end_at_their_instant(tmp_path):
    tally = judge.truth(2, tmp_path, moments=1)
    assert tally.failures == []
    assert tally.answered > tally.compared / 2
    assert tally.counts["judged"]


def test_later_polls_never_change_an_answer(tmp_path):
    tally = judge.late(3, tmp_path, moments_a_look=1, about_each=1)
    assert tally.failures == []
    assert tally.answered > tally.compared / 2
    assert tally.counts["judged"]


def test_the_judge_finds_a_row_missing_from_an_earlier_complete_poll(tmp_path, monkeypatch):
    never = lambda self, positions: np.full(len(positions), polls.NEVER)  # noqa: E731 - it stands for a method
    monkeypatch.setattr(EarlierObservations, "polled_before", never)
    assert any("a row that was not there" in each for each in judge.late(1, tmp_path, 1, about_each=0).failures)


def test_the_judge_finds_an_answer_that_uses_a_later_row(tmp_path, monkeypatch):
    answers = judge._answers

    def later(world, as_of, *more):
        return answers(world, as_of + timedelta(days=60 if world.root.name.startswith("other") else 0), *more)

    monkeypatch.setattr(judge, "_answers", later)
    assert judge.truth(2, tmp_path, moments=1, isolation="in_process").failures


def test_generated_histories_contain_disagreements_delays_and_withdrawals(worlds):
    history, (_, stored) = lived(SEEDS[-1]), worlds[-1]
    lives = history.lives.items()
    assert {"gone", "unreadable"} <= {event.said for _, life in lives for event in life if isinstance(event.said, str)}
    for dataset in SOURCES:
        own = [life for (name, _, _), life in lives if name == dataset]
        assert any(life[0].at > life[0].said.since + timedelta(days=5) for life in own), dataset
        rows = stored[dataset]
        assert len(rows) > len(rows.group_by(list(get(dataset).key)).aggregate([])) > 2, dataset
    for writers, _ in FAMILIES.values():
        message = {}
        for (name, *thing), life in lives:
            if name in writers:
                message.setdefault(tuple(thing), set()).add(life[0].said.value)
        assert len(writers) == 1 or max(map(len, message.values())) > 1
