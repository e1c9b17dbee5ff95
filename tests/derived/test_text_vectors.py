"""Text vectors: one per revision, with the revision's date, computed only once, and searchable by meaning."""

import json

import pytest

import pitlake
from assets.derived import text_vectors
from pitlake.questions import searches
from pitlake.questions.embedding import MODEL, own
from tests.derived.conftest import OBSERVED, utc
from tests.kit import publish

EARLY, LATE = utc("2024-03-01T12:00:00Z"), utc("2024-03-05T12:00:00Z")


def article(number, title, at=EARLY, **more):
    row = {"id": f"bzNews_{number}", "ticker": "QBG", "tickers": ["QBG"], "title": title, "created": EARLY}
    return row | {"updated": at, "available_at": at} | more


def derive(lake, run="vectors", **more):
    return text_vectors.derive(lake, run_id=run, observed_at=OBSERVED, **more).outcome


def ask(lake, sql, at=OBSERVED):
    with pitlake.connect(at, lake=lake.root, datasets=("news", "text_vectors")) as session:
        return session.sql(sql).rows()


DATED = "SELECT kind, id, available_at FROM text_vectors_revisions ORDER BY ALL"


def test_every_revision_of_a_text_has_a_vector_with_the_same_date(lake, put):
    for title, at in (("Oil falls", EARLY), ("Oil rises", LATE)):
        publish(lake, "news", [article(1, title, at) | {"evidence": "news:bzNews_1"}], "look", observed_at=at)
    spoken = json.dumps([{"role": "question", "text": "What about margins?"}, {"role": "answer", "text": "Yes."}])
    call = {"transcript_id": "QBG_call", "ticker": "QBG", "sequence": 3, "conference_datetime": EARLY}
    put("qa_exchanges", call | {"exchanges": spoken, "available_at": EARLY})
    put("research_notes", {"note": "a.md", "format": "markdown", "title": "Rates", "text": "low", "available_at": LATE})
    derive(lake)
    assert ask(lake, DATED) == [
        ("news", "bzNews_1", EARLY),
        ("news", "bzNews_1", LATE),
        ("qa_exchange", "QBG_call_qa__3", EARLY),
        ("research_note", "a.md", LATE),
    ]
    display = "SELECT vector FROM text_vectors WHERE id = 'bzNews_1'"
    for at, title in ((EARLY, "Oil falls"), (LATE, "Oil rises")):
        assert ask(lake, display, at)[0][0] == pytest.approx(own(title), abs=1e-6)
    ((spoken_as,),) = ask(lake, "SELECT vector FROM text_vectors WHERE kind = 'qa_exchange'")
    assert spoken_as == pytest.approx(own("What about margins? Yes."), abs=1e-6)


def test_texts_of_every_source_have_vectors(lake, put):
    turns = [{"speaker": "spk0", "name": "A", "title": None, "text": text} for text in ("Oil falls", "Gold climbs")]
    call = {"exchange": "NYSE", "ticker": "QBG", "fiscal_year": 2024, "available_at": EARLY, "text": "Oil rises"}
    put("benzinga_news", article(1, "Oil falls", LATE) | {"id": "1", "channels": [], "tags": []})
    put(
        "call_transcripts",
        call | {"fiscal_quarter": 1, "turn_count": 2, "turns": json.dumps(turns)},
        call | {"fiscal_quarter": 2, "turn_count": 0},
    )
    derive(lake)
    result = ask(lake, "SELECT kind, id, available_at, vector FROM text_vectors ORDER BY id")
    message = {"1": "Oil falls", "NYSE:QBG 2024Q1_qa__0": "Oil falls", "NYSE:QBG 2024Q1_qa__1": "Gold climbs"}
    message["NYSE:QBG 2024Q2_qa__0"] = "Oil rises"
    assert [(kind, at) for kind, _, at, _ in result] == [("benzinga_news", LATE), *[("call_transcripts", EARLY)] * 3]
    assert {name: vector for _, name, _, vector in result} == {
        name: pytest.approx(own(text), abs=1e-6) for name, text in message.items()
    }


def test_no_vector_is_visible_before_its_text(lake, put):
    put("news", article(1, "Oil falls", LATE))
    derive(lake)
    before = LATE.replace(hour=11)
    assert ask(lake, "SELECT id FROM text_vectors", before) == []
    joined = "SELECT count(*) FROM text_vectors_revisions v ANTI JOIN news_revisions n USING (id, available_at)"
    assert ask(lake, joined) == [(0,)]


def test_a_second_run_embeds_only_new_texts(lake, put):
    put("news", article(1, "Oil falls"))
    assert derive(lake).total.published == 1
    question = []
    put("news", article(2, "Gold climbs"))
    again = derive(lake, "again", model=lambda text: question.append(text) or own(text))
    assert (again.total.extracted, question) == (1, ["Gold climbs"])
    assert not derive(lake, "none").changed


def test_vectors_of_another_model_are_added_under_its_name(lake, put):
    put("news", article(1, "Oil falls"))
    derive(lake)
    derive(lake, "other", model=lambda _: [1.0, 0.0], name="other-2")
    assert ask(lake, "SELECT model, len(vector) FROM text_vectors ORDER BY ALL") == [("other-2", 2), (MODEL, 256)]


def test_the_headline_is_embedded_or_the_body_if_there_is_no_headline(lake, put):
    put("news", article(1, None, body="Oil falls"), article(2, "Oil falls", body="Copyright of somebody."))
    derive(lake)
    first, second = (row[0] for row in ask(lake, "SELECT vector FROM text_vectors ORDER BY id"))
    assert first == second


def test_a_text_with_a_zero_vector_is_a_gap(lake, put):
    put("news", article(1, "Oil falls"))
    outcome = derive(lake, model=lambda _: [0.0, 0.0])
    assert (outcome.total.published, outcome.total.gaps) == (0, 1)


def test_a_search_by_meaning_finds_the_related_article(lake, put, monkeypatch):
    monkeypatch.delenv("PITLAKE_EMBEDDER", raising=False)
    put("news", article(1, "The central bank raised interest rates"), article(2, "A recipe for apple pie"))
    derive(lake)
    query, values = searches.find("Fed hikes the policy rate by 25bp", by="meaning")
    with pitlake.connect(OBSERVED, lake=lake.root, datasets=query.reads) as session:
        result = session.run(query.name, **values).arrow()
    assert result["id"].to_pylist() == ["bzNews_1"]
