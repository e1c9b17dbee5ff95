"""Embeddings: named and dated like the embedded text, and refused without such a text."""

from datetime import datetime, timezone

import pytest

from assets.graph import all_extractors
from assets.graph.embeddings import EXTRACTOR, vector
from pitlake.errors import Unreadable


def article(**changes):
    return {
        "kind": "news",
        "vector": [0.5, -1],
        "id": "bzNews_1",
        "title": "Title",
        "teaser": None,
        "body": None,
        "created": "2024-05-02T17:00:00-04:00",
        "updated": "2024-05-02T18:00:00-04:00",
        "latest": "2024-05-02T18:00:00-04:00",
        "tickers": ["QZP", None, "QBG"],
    } | changes


def exchange(**changes):
    return {
        "kind": "qa_exchange",
        "vector": [1.0],
        "node": "AAPL_2024_2_qa__3",
        "sequence": "3",
        "call_node": "AAPL_2024_2",
        "ticker": "AAPL",
        "conference_datetime": "2024-05-02T17:00:00-04:00",
        "exchange_count": 12,
    } | changes


def test_an_article_s_vector_is_dated_as_its_newest_text(run):
    row = EXTRACTOR.normalise(article(), run)
    assert row.values == {"kind": "news", "id": "bzNews_1", "ticker": "QBG", "vector": [0.5, -1.0]}
    assert row.available_at == datetime(2024, 5, 2, 22, tzinfo=timezone.utc)


def test_an_exchange_s_vector_is_named_by_its_call_whatever_the_node_is_called(run):
    row = EXTRACTOR.normalise(exchange(), run)
    assert (row.values["id"], row.values["ticker"]) == ("AAPL_2024-05-02T17.00_qa__3", "AAPL")
    assert row.available_at == datetime(2024, 5, 3, 21, tzinfo=timezone.utc)


def test_the_id_joins_the_text_s_own_dataset(run):
    parts = {
        "questioner": None,
        "questioner_title": None,
        "responders": None,
        "responder_title": None,
        "exchanges": "[]",
    }
    spoken = all_extractors()["qa_exchanges"].normalise(exchange(**parts), run).values
    assert EXTRACTOR.normalise(exchange(), run).values["id"] == f"{spoken['transcript_id']}_qa__{spoken['sequence']}"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (article(vector=[0.0, 0.0]), "vector is unreadable"),
        (article(vector="[1, 2]"), "vector is unreadable"),
        (article(id="0000320193-25-000073"), "not a news id"),
        (article(created=None, updated=None), "created is missing or unreadable"),
        (article(title=None), "no text"),
        (exchange(sequence="third"), "sequence is unreadable"),
        (exchange(conference_datetime="soon"), "conference_datetime is missing or unreadable"),
        ({"kind": "qa_exchange", "node": "lost"}, "no parent transcript"),
    ],
)
def test_what_can_t_be_placed_or_read_becomes_a_gap_of_the_contract(run, record, reason):
    assert EXTRACTOR.normalise(record, run).reason == reason


@pytest.mark.parametrize("value", [None, [], [None], [float("nan")], [float("inf"), 1.0], [1e39], [True], ["1"], {}])
def test_what_is_no_vector_is_unreadable(value):
    with pytest.raises(Unreadable):
        vector(value)
