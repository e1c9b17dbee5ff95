"""Records that are first seen late are dated by their observation: the graph changes between polls, and the past stays
the same.

The real extractors poll on 2 May and 1 September. For every record that the first poll saw, the answers as of 1 June
must be the same after both polls as after the first.
"""

from datetime import datetime, timezone
from types import SimpleNamespace

import neo4j
import pytest

from assets.graph import all_extractors
from pitlake import clock, connect
from pitlake.datasets import get
from tests.assets.records import article, bar, day, dividend, split, spoken
from tests.partitions import run_partitions
from tests.toys import between

MAY, JUNE, SEPTEMBER, OCTOBER = (
    datetime(2024, month, day_of_month, 13, tzinfo=timezone.utc)
    for month, day_of_month in ((5, 2), (6, 1), (9, 1), (10, 1))
)
ALL_DAYS = between("2024-04-28", "2024-09-30")


DATED_BY = ("latest", "declaration_date", "execution_date", "conference_datetime", "created", "date")


def look(lake, name, *records, at, days=ALL_DAYS[:5], window=0):
    """Run the real extractor for these days on a graph with these records that answers only one window query."""
    extractor = all_extractors()[name]

    def stream(cypher, params, *, fetch_size):
        if cypher == extractor.windows[window]:
            moments = [next(record[name] for name in DATED_BY if name in record) for record in records]
            pairs = zip(moments, records, strict=True)
            result = [neo4j.Record(record) for moment, record in pairs if params["lo"] <= moment < params["hi"]]
            yield from [result] * bool(result)

    source = SimpleNamespace(stream=stream)
    return run_partitions(extractor, days, source, lake, run_id=f"run-{clock.micros(at)}", observed_at=at)


def rows_as_of(lake, name, sql, as_of=JUNE):
    with connect(as_of, lake=lake, datasets=[name]) as session:
        return session.sql(sql).rows()


def all_of(lake, name, as_of):
    """Return all revisions and gaps in a session as of an instant."""
    columns = ", ".join(get(name).agent_columns)
    with connect(as_of, lake=lake, datasets=[name]) as session:
        rows = session.sql(f"SELECT {columns} FROM {name}_revisions ORDER BY ALL").rows()
        gaps = session.sql("SELECT gap_type, reason, locator, available_at FROM gaps ORDER BY ALL").rows()
    return rows, gaps


def text(**changes):
    return article(**{"created": "2024-05-01T12:00:00-04:00", "updated": "2024-05-01T12:00:00-04:00"} | changes)


def test_an_article_without_text_becomes_a_row_when_its_text_is_first_seen(lake):
    look(lake, "news", text(title="", body=None), at=MAY)
    look(lake, "news", text(title="Written in August"), at=SEPTEMBER)
    assert rows_as_of(lake, "news", "SELECT title FROM news") == []
    assert rows_as_of(lake, "news", "SELECT title, available_at FROM news", SEPTEMBER) == [
        ("Written in August", SEPTEMBER)
    ]


def test_a_changed_text_that_claims_to_predate_the_last_look_counts_when_seen(lake):
    look(lake, "news", text(title="As it was"), at=MAY)
    look(lake, "news", text(title="As it is", updated="2024-05-01T13:00:00-04:00"), at=SEPTEMBER)
    assert rows_as_of(lake, "news", "SELECT title FROM news") == [("As it was",)]


def test_an_unchanged_look_also_refutes_a_later_claim_of_an_earlier_update(lake):
    look(lake, "news", text(title="As it was"), at=MAY)
    assert not look(lake, "news", text(title="As it was"), at=SEPTEMBER).changed
    look(lake, "news", text(title="As it is", updated="2024-08-01T13:00:00-04:00"), at=OCTOBER, days=ALL_DAYS)
    assert rows_as_of(lake, "news", "SELECT title FROM news", SEPTEMBER) == [("As it was",)]
    assert rows_as_of(lake, "news", "SELECT title FROM news", OCTOBER) == [("As it is",)]


def test_an_update_after_the_last_look_keeps_its_date(lake):
    look(lake, "news", text(title="As it was"), at=MAY)
    look(lake, "news", text(title="As it is", updated="2024-08-01T13:00:00-04:00"), at=SEPTEMBER, days=ALL_DAYS)
    august = datetime(2024, 8, 1, 17, tzinfo=timezone.utc)
    assert rows_as_of(lake, "news", "SELECT title, available_at FROM news", SEPTEMBER) == [("As it is", august)]


@pytest.mark.parametrize(
    "change", [{"cash_amount": "0.5"}, {"ex_dividend_date": "2024-05-11"}, {"dividend_type": "Special"}]
)
def test_a_corrected_dividend_is_a_revision_from_when_it_was_seen(lake, change):
    look(lake, "dividends", dividend(), at=MAY)
    before = all_of(lake, "dividends", JUNE)
    look(lake, "dividends", dividend(**change), at=SEPTEMBER)
    assert all_of(lake, "dividends", JUNE) == before
    assert len(rows_as_of(lake, "dividends", "FROM dividends", SEPTEMBER)) == 1


@pytest.mark.parametrize("node", ["QYRW_2024-05-01_1_3", "QYRW_2024-05-01_1_4"])
def test_a_corrected_ratio_is_a_revision_from_when_it_was_seen(lake, node):
    look(lake, "splits", split(), at=MAY)
    look(lake, "splits", split(split_to="4", node=node), at=SEPTEMBER)
    assert rows_as_of(lake, "splits", "SELECT split_to FROM splits") == [(3.0,)]
    assert rows_as_of(lake, "splits", "SELECT split_to FROM splits", SEPTEMBER) == [(4.0,)]


def test_two_ratios_of_one_day_are_a_row_and_a_gap(lake):
    published = look(lake, "splits", split(), split(split_to="4", node="QYRW_2024-05-01_1_4"), at=MAY)
    assert (published.total.published, published.gaps) == (1, {"unverifiable": 1})


def test_a_blanked_article_is_a_gap_from_when_it_was_seen(lake):
    look(lake, "news", text(), at=MAY)
    before = all_of(lake, "news", JUNE)
    look(lake, "news", text(title=None, body=None), at=SEPTEMBER)
    assert all_of(lake, "news", JUNE) == before
    assert all_of(lake, "news", SEPTEMBER)[1][0][-1] == SEPTEMBER


def test_a_later_version_of_a_blank_article_leaves_earlier_answers_unchanged(lake):
    look(lake, "news", text(title=None, body=None), at=MAY)
    before = all_of(lake, "news", JUNE)
    look(lake, "news", text(tags="[broken"), at=SEPTEMBER)
    assert all_of(lake, "news", JUNE) == before


def test_an_article_not_yet_public_at_a_look_keeps_its_date_if_the_next_look_has_it(lake):
    later = text(updated="2024-05-02T10:00:00-04:00")
    look(lake, "news", later, at=MAY)
    assert rows_as_of(lake, "news", "FROM news") == []
    look(lake, "news", later, at=SEPTEMBER)
    assert rows_as_of(lake, "news", "SELECT available_at FROM news") == [
        (datetime(2024, 5, 2, 14, tzinfo=timezone.utc),)
    ]


def test_an_article_still_blank_at_a_later_look_is_visible_only_from_the_next_look(lake):
    empty = {"title": "", "body": ""}
    later = text(updated="2024-05-02T10:00:00-04:00")
    look(lake, "news", later, at=MAY)
    look(lake, "news", later | empty, at=SEPTEMBER)
    look(lake, "news", later, at=OCTOBER)
    assert rows_as_of(lake, "news", "FROM news", SEPTEMBER) == []


def test_a_record_missing_from_an_earlier_look_keeps_its_date(lake):
    look(lake, "news", text(), at=MAY)
    look(lake, "news", text(), text(id="bzNews_124", title="Late"), at=SEPTEMBER)
    assert len(rows_as_of(lake, "news", "FROM news")) == 2


def call(start):
    reply = dict.fromkeys(("questioner", "questioner_title", "responders", "responder_title")) | {"exchanges": "[]"}
    return spoken(conference_datetime=start, **reply)


REGULAR, EARLY = "2024-05-01 16:00:00-0400", "2024-05-01 13:00:00-0400"


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("prices", bar(), bar(close=200.0)),
        ("prices", bar(close_at=None), bar()),
        ("prices", bar(), bar(volume="many")),
        ("calendar", day(date="2024-05-01", market_close=REGULAR), day(date="2024-05-01", market_close=EARLY)),
        ("calendar", day(date="2024-05-01", market_close=None), day(date="2024-05-01", market_close=EARLY)),
        ("dividends", dividend(cash_amount="0"), dividend()),
        ("dividends", dividend(date_nodes=[]), dividend()),
        ("dividends", dividend(), dividend(pay_date="soon")),
        ("splits", split(split_to="UNKNOWN"), split()),
        ("qa_exchanges", call("2024-04-30T17:00:00-04:00"), call("2024-04-29T17:00:00-04:00")),
    ],
)
def test_a_later_correction_leaves_answers_as_of_june_unchanged(lake, name, before, after):
    look(lake, name, before, at=MAY)
    then = all_of(lake, name, JUNE)
    look(lake, name, after, at=SEPTEMBER)
    assert all_of(lake, name, JUNE) == then


def embedded(**changes):
    return text(kind="news", vector=[1.0, 0.0]) | text(**changes) | changes


def test_a_vector_is_available_no_earlier_than_its_text(lake):
    look(lake, "news", text(title="As it was"), at=MAY)
    for name in ("news", "embeddings"):
        look(lake, name, embedded(title="As it is"), at=SEPTEMBER)
    assert rows_as_of(lake, "embeddings", "FROM embeddings") == []
    assert rows_as_of(lake, "embeddings", "SELECT available_at FROM embeddings", SEPTEMBER) == [(SEPTEMBER,)]


def test_a_vector_is_a_gap_until_its_text_is_in_the_lake(lake):
    look(lake, "news", text(title="As it was"), at=MAY)
    look(lake, "embeddings", embedded(title="As it is"), at=SEPTEMBER)
    assert rows_as_of(lake, "embeddings", "FROM embeddings", SEPTEMBER) == []
    assert [gap[1] for gap in all_of(lake, "embeddings", SEPTEMBER)[1]] == ["its text is not in the lake yet"]
    for name in ("news", "embeddings"):
        look(lake, name, embedded(title="As it is"), at=OCTOBER)
    assert rows_as_of(lake, "embeddings", "SELECT available_at FROM embeddings", OCTOBER) == [(OCTOBER,)]


def test_a_vector_of_an_unchanged_text_is_dated_like_the_text(lake):
    look(lake, "news", embedded(), at=MAY)
    look(lake, "embeddings", embedded(), at=MAY)
    first_of_may = datetime(2024, 5, 1, 16, tzinfo=timezone.utc)
    assert rows_as_of(lake, "embeddings", "SELECT available_at FROM embeddings") == [(first_of_may,)]


def test_the_vector_of_a_corrected_exchange_is_no_earlier_than_the_correction(lake):
    before = call("2024-04-29T17:00:00-04:00")
    look(lake, "qa_exchanges", before, at=MAY)
    after = before | {"exchanges": '[{"said": "otherwise"}]', "vector": [1.0], "kind": "qa_exchange"}
    look(lake, "qa_exchanges", after, at=SEPTEMBER)
    look(lake, "embeddings", after, at=SEPTEMBER, window=1)
    assert rows_as_of(lake, "embeddings", "FROM embeddings") == []
    assert rows_as_of(lake, "embeddings", "SELECT available_at FROM embeddings", SEPTEMBER) == [(SEPTEMBER,)]
