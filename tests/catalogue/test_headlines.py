"""How well a search by meaning, or BM25, finds an article from another newsroom's headline about the same event.

headlines.txt: 200 events, each with the headlines of two newsrooms. headlines_disguised.txt: 204 events whose second
headline shares as few words as possible with the first (a company is named by its products, a number in words), which
is harder than real headlines.
"""

from pathlib import Path

import pytest

from pitlake.questions.embedding import MODEL, own

FIVE = 5


def meaning(world, text):
    return world.run("vector_news", embedding=own(text), model=MODEL, k=FIVE)


def words(world, text):
    return world.run("news_full_text", query=text, limit=FIVE)


@pytest.mark.parametrize(
    ("name", "least_first", "least_in_five"),
    [("headlines.txt", 0.60, 0.85), pytest.param("headlines_disguised.txt", 0.25, 0.50, marks=pytest.mark.long)],
)
def test_a_search_by_meaning_finds_the_same_event(world, name, least_first, least_in_five):
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    result = [tuple(line.split(" | ")) for line in lines]
    assert len(result) >= 200
    at = {"available_at": "2024-03-01T12:00:00Z"}
    news = [at | {"id": f"bzNews_{number}", "title": first} for number, (first, _) in enumerate(result)]
    vectors = [at | {"kind": "news", "model": MODEL, "id": each["id"], "vector": own(each["title"])} for each in news]
    outcome = world(news=news, text_vectors=vectors)
    share = {}
    for how in (meaning, words):
        places = []  # the place of each event's first headline among the results for its second headline
        for number, (_, question) in enumerate(result):
            ids = [row["id"] for row in how(outcome, question)]
            places.append(ids.index(f"bzNews_{number}") if f"bzNews_{number}" in ids else None)
        share[how] = (places.count(0) / len(places), sum(place is not None for place in places) / len(places))
        print(f"{name} by {how.__name__}: first {share[how][0]:.1%}, among {FIVE} {share[how][1]:.1%}")
    assert share[meaning][0] >= least_first
    assert share[meaning][1] >= least_in_five
    assert share[meaning] > share[words]
