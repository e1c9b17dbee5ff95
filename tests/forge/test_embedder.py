"""Semantic search of memory: T2's score at T, cached vectors, and no text written after T."""

from contextlib import closing
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

from forge.core.embedder import TextModel, VectorCache, instants
from forge.core.embedder import ranked as ranked_by
from forge.desk import desk
from pitlake import cli
from pitlake.errors import BadInput
from pitlake.questions.embedding import own

T = datetime(2024, 5, 1, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)
EAST, NORTH = np.array([1, 0], np.float32), np.array([0, 1], np.float32)


def ranked(question, vectors, written_at, at, **more):
    return ranked_by(question, vectors, instants(written_at), at, **more)


@pytest.mark.parametrize(("days", "recency"), [(0, 1.0), (30, 0.5), (90, 0.25)])
def test_t2_the_score_is_70_percent_similarity_and_30_percent_recency(days, recency):
    (hit,) = ranked(EAST, np.stack([EAST]), [T - days * DAY], T)
    assert (hit.similarity, hit.score) == (pytest.approx(1), pytest.approx(0.7 + 0.3 * recency))


def test_t2_weights_apply_and_recency_ranks_equally_similar_texts():
    result = ranked(EAST, np.stack([EAST, EAST, NORTH]), [T - 60 * DAY, T - DAY, T], T, weights=(0.7, 0.3))
    assert [hit.position for hit in result] == [1, 0, 2]
    assert ranked(EAST, np.stack([EAST, NORTH]), [T - 999 * DAY, T], T, weights=(0.0, 1.0))[0].position == 1


def test_equal_scores_keep_their_order_and_count_limits_the_hits():
    result = ranked(EAST, np.stack([EAST] * 9), [T] * 9, T, count=3)
    assert [hit.position for hit in result] == [0, 1, 2]


def test_a_text_written_after_t_is_not_found_and_changes_no_score():
    alone = ranked(EAST, np.stack([EAST]), [T], T)
    assert ranked(EAST, np.stack([EAST, EAST]), [T, T + timedelta(microseconds=1)], T) == alone


def test_vectors_of_another_model_are_refused():
    with pytest.raises(BadInput, match="one model"):
        ranked(EAST, np.ones((1, 3), np.float32), [T], T)
    assert ranked(EAST, np.empty((0, 0), np.float32), [], T) == []


def test_each_model_embeds_the_same_text_only_once(tmp_path):
    question = []

    def embed(text):
        question.append(text)
        return [3.0, 4.0]

    for name, texts in (("a", ["x", "y", "x"]), ("a", ["y", "z"]), ("b", ["x"])):
        remaining = VectorCache(tmp_path / "vectors.sqlite", TextModel(name, embed))
        assert remaining.embed(texts).tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]] * len(texts)
        remaining.close()
    assert question == ["x", "y", "z", "x"]


def test_cached_vectors_of_1200_texts_are_read_back_unchanged(tmp_path):
    texts = [f"record {number} about growth" for number in range(1200)]
    first = VectorCache(tmp_path / "vectors.sqlite")
    outcome = first.embed(texts)
    first.close()
    again = VectorCache(tmp_path / "vectors.sqlite", TextModel(embed=lambda _: pytest.fail("it is kept")))
    assert np.array_equal(again.embed(texts), outcome)
    assert outcome[0] == pytest.approx(np.array(own(texts[0])), abs=1e-6)
    assert again.embed([]).shape == (0, 0)
    again.close()


def test_a_text_without_words_has_zero_similarity():
    remaining = VectorCache(model=TextModel("none", lambda _: [0.0, 0.0]))
    (hit,) = ranked(EAST, remaining.embed(["…"]), [T], T)
    assert hit.similarity == 0


@pytest.fixture
def own_model(tmp_path, monkeypatch):
    (tmp_path / "desk_vectors.py").write_text("DIMENSIONS = 2\ndef embed(text):\n    return [text.count('a'), 1.0]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))

    def settings(name):
        (tmp_path / "forge.toml").write_text(f'[search]\nembedding_model = "{name}"\n')

    return settings


def test_c1_searches_use_the_settings_model(own_model):
    own_model("desk_vectors:embed")
    own = desk()
    texts, output = ["b", "aaaa"], [T, T]
    (best, *_) = own.meaning().rank("aaa", texts, output, T, 2)
    assert texts[best.position] == "aaaa"
    assert best.similarity == pytest.approx(13 / (170**0.5))
    with closing(own.memory()) as memory:
        assert own.agent(memory, None).vectors.model.name == "desk_vectors:embed"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no_such_package:embed", "'no_such_package:embed' can't be imported; install its package"),
        ("desk_vectors:missing", "'desk_vectors:missing' can't be imported"),
        ("desk_vectors:DIMENSIONS", "'desk_vectors:DIMENSIONS' can't be called"),
        ("text-embedding-3-small", "is not on this machine, and memory is sent to no service"),
    ],
)
def test_c1_a_model_that_cannot_be_used_ends_a_search_with_exit_code_2(own_model, capsys, name, reason):
    own_model(name)
    assert cli.invoke(["forge", "search", "/memory/", "growth"]) == 2
    assert reason in capsys.readouterr().err
