"""Nearest vectors: limited to public vectors and the company before ranking; thresholds, seeds and refusals."""

import math
from random import Random

import duckdb
import pytest

DAY = "2024-03-{:02d}T12:00:00Z"


def text(number, vector, day=1, ticker="QBG"):
    place = {"id": f"bzNews_{number}", "ticker": ticker, "available_at": DAY.format(day)}
    return place | {"tickers": [ticker], "title": str(number)}, place | {"kind": "news", "vector": vector}


def build(world, *texts, as_of="2024-12-31T00:00:00Z", **more):
    return world(as_of, news=[article for article, _ in texts], embeddings=[vector for _, vector in texts], **more)


def titles(outcome, **question):
    return [row["title"] for row in outcome.run("vector_news", **question)]


def test_the_nearest_vectors_come_first_and_at_most_k(world):
    outcome = build(world, text(1, [1.0, 0.0]), text(2, [1.0, 0.2]), text(3, [1.0, 0.4]))
    assert titles(outcome, embedding=[1.0, 0.0]) == ["1", "2", "3"]
    assert titles(outcome, embedding=[1.0, 0.0], k=2) == ["1", "2"]


def test_rows_are_cut_off_at_the_as_of_before_ranking(world):
    late = [text(number, [1.0, 0.0], day=9) for number in range(2, 9)]
    outcome = build(world, text(1, [1.0, 0.3]), *late, as_of="2024-03-08T00:00:00Z")
    assert titles(outcome, embedding=[1.0, 0.0]) == ["1"]


def test_rows_are_filtered_by_company_before_ranking(world):
    others = [text(number, [1.0, 0.0], ticker="QZP") for number in range(2, 9)]
    assert titles(build(world, text(1, [1.0, 0.3]), *others), embedding=[1.0, 0.0], ticker="QBG") == ["1"]


def test_scores_below_080_count_only_if_none_is_higher_and_below_070_never(world):
    near, fair, far = text(1, [1.0, 0.1]), text(2, [1.0, 0.9]), text(3, [1.0, 1.1])
    assert titles(build(world, near, fair), embedding=[1.0, 0.0]) == ["1"]
    assert titles(build(world, fair, far), embedding=[1.0, 0.0]) == ["2"]
    assert titles(build(world, far), embedding=[1.0, 0.0]) == []


def test_a_seed_is_not_in_its_own_answer(world):
    assert titles(build(world, text(1, [1.0, 0.0]), text(2, [1.0, 0.1])), seed_id="bzNews_1") == ["2"]


def test_an_unpublished_seed_is_refused_with_the_same_error_as_a_missing_seed(world):
    outcome = build(world, text(1, [1.0, 0.0]), text(2, [1.0, 0.0], day=9), as_of="2024-03-08T00:00:00Z")
    refusals = []
    for seed in ("bzNews_2", "bzNews_404"):
        with pytest.raises(duckdb.Error) as refused:
            titles(outcome, seed_id=seed)
        refusals.append(str(refused.value))
    assert refusals[0] == refusals[1]


def test_an_embedding_of_another_length_is_refused(world):
    with pytest.raises(duckdb.Error, match="as many numbers"):
        titles(build(world, text(1, [1.0, 0.0])), embedding=[1.0, 0.0, 0.0])


def test_vectors_of_other_lengths_are_passed_over(world):
    assert titles(build(world, text(1, [1.0]), text(2, [1.0, 0.0])), embedding=[1.0, 0.0]) == ["2"]


def test_a_revised_text_is_ranked_by_its_newest_vector(world):
    outcome = build(world, text(1, [1.0, 0.0]), text(1, [0.0, 1.0], day=5), text(2, [1.0, 0.1]))
    assert titles(outcome, embedding=[1.0, 0.0]) == ["2"]


def test_a_zero_vector_does_not_hide_other_vectors(world):
    outcome = build(world, text(1, [1.0, 0.9]), text(2, [0.0, 0.0]))
    assert titles(outcome, embedding=[1.0, 0.0]) == ["1"]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("seed", range(20))
def test_many_revised_vectors_are_ranked_as_by_a_slow_computation(world, seed):
    rng = Random(seed)
    angle = [rng.choice((0.0, 1.0, 3.0)) for _ in range(4)]  # in some worlds nothing is near
    newest, inputs = {}, []
    for number in range(12):
        for day in sorted(rng.sample(range(1, 28), rng.randint(1, 3))):
            turned = rng.choice(angle) + rng.random()
            newest[str(number)] = rng.choice(([math.cos(turned), math.sin(turned)],) * 8 + ([0.0, 0.0], [1.0]))
            inputs.append(text(number, newest[str(number)], day))
    scores = {name: round(vector[0], 6) for name, vector in newest.items() if len(vector) == 2 and any(vector)}
    least = 0.8 if max(scores.values()) >= 0.8 else 0.7
    near = [(-score, f"bzNews_{name}", name) for name, score in scores.items() if score >= least]
    assert titles(build(world, *inputs), embedding=[1.0, 0.0], k=20) == [name for *_, name in sorted(near)]


def test_articles_and_exchanges_are_found_together(world):
    call = {"transcript_id": "QBG_call", "ticker": "QBG", "available_at": DAY.format(1)}
    exchange = call | {"sequence": 3, "questioner": "Analyst"}
    article, vector = text(1, [1.0, 0.0])
    spoken = {"kind": "qa_exchange", "id": "QBG_call_qa__3", "ticker": "QBG", "vector": [1.0, 0.1]}
    outcome = world(
        news=[article], qa_exchanges=[exchange], embeddings=[vector, spoken | {"available_at": DAY.format(1)}]
    )
    both = outcome.run("vector_combined", embedding=[1.0, 0.0])
    assert [(row["result_type"], row["id"]) for row in both] == [("news", "bzNews_1"), ("qaexchange", "QBG_call_qa__3")]
    assert [row["questioner"] for row in outcome.run("vector_qa", seed_id="bzNews_1", ticker="QBG")] == ["Analyst"]
