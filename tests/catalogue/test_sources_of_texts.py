"""Searches over several sources find each text once, with the score of a slow computation over all public texts."""

import json
import math
from datetime import timedelta
from random import Random

import pytest

from tests.catalogue.conftest import World
from tests.catalogue.test_full_text import slow_bm25
from tests.catalogue.test_sources import COMPANY, LATER, at, by_dataset
from tests.catalogue.test_sources_of_events import CALL, preferred, statements

WORDS = ("oil", "gas", "margin", "guidance", "p")
ARTICLES, CALLS = ("news", "benzinga_news"), ("qa_exchanges", "call_transcripts")
MODEL = "made"
QUERY = "oil gas"
SEEDS, HOURS = range(4), (4, 11, 23)
ALIKE = {"model": MODEL, "vector": [1.0, 0.0]}
EVERY_COMPANY = pytest.mark.parametrize("company", [COMPANY, None])


def words(*seed):
    random = Random("/".join(map(str, seed)))
    return " ".join(random.choice(WORDS) for _ in range(random.randrange(1, 9)))


def vector(*seed):
    turned = Random("/".join(map(str, seed))).random() * 3
    return [math.cos(turned), math.sin(turned)]


def article(source, number, hour):
    prefix, body = ("bzNews_", words(source, number)) if source == "news" else ("", f"<p>{words(source, number)}</p>")
    return source, {
        "id": f"{prefix}{number}", "ticker": "ACME", "tickers": ["ACME"], "title": f"{number}", "body": body,
        "created": at(hour), "available_at": at(hour),
    }  # fmt: skip


def call(source, number, hour):
    """Yield a source's rows of one call: two exchanges of the graph, or two turns, or one text if `number` is odd."""
    start = (CALL - timedelta(days=90 * number)).isoformat()
    texts = call_texts(source, number)
    if source == "qa_exchanges":
        place = {"transcript_id": f"ACME_{number}", "ticker": "ACME", "conference_datetime": start}
        for sequence, text in enumerate(texts):
            message = json.dumps([{"role": "question", "text": text}])
            yield source, place | {"sequence": sequence, "exchanges": message, "available_at": at(hour)}
        statement = {"transcript_id": f"ACME_{number}", "ticker": "ACME", "conference_datetime": start}
        yield "transcripts", statement | {"fiscal_year": 2024, "fiscal_quarter": number + 1, "available_at": at(hour)}
        return
    turns = json.dumps([{"speaker": "s", "text": text} for text in texts])
    yield source, {
        "exchange": "NYSE", "ticker": "ACME", "fiscal_year": 2024, "fiscal_quarter": number + 1, "text": texts[0],
        "turns": turns if len(texts) > 1 else None, "turn_count": len(texts) * (len(texts) > 1),
        "call_start": start if number else None, "available_at": at(hour),
    }  # fmt: skip


def call_texts(source, number):
    parts = 1 if source == "call_transcripts" and number % 2 else 2
    return [words(source, number, part) for part in range(parts)]


def due(texts, query):
    """Return the score of each text, by name."""
    names = list(texts)
    result = slow_bm25([texts[name].lower() for name in names], query) if names else {}
    return {names[number]: pytest.approx(score, abs=2e-6) for number, score in result.items()}


@EVERY_COMPANY
def test_an_article_is_searched_once_in_the_text_of_its_preferred_source(company):
    for seed in SEEDS:
        statement = statements(ARTICLES, seed)
        rows = by_dataset([article(*each) for each in statement])
        for hour in HOURS:
            answers = World(at(hour), rows).run("news_full_text", ticker=company, query=QUERY)
            public = preferred(ARTICLES, statement, hour)
            pad = {"news": "", "benzinga_news": " "}
            texts = {
                (source, number): f"{number}\n{pad[source]}{words(source, number)}{pad[source]}"
                for number, source in public.items()
            }
            display = {(row["source"], int(row["id"].removeprefix("bzNews_"))): row["ft_score"] for row in answers}
            assert display == due(texts, QUERY)
            assert len(answers) == len(display)


@EVERY_COMPANY
def test_a_call_is_searched_once_in_the_texts_of_its_preferred_source(company):
    for seed in SEEDS:
        statement = [(source, number, hour) for source, number, hour in statements(CALLS, seed) if number < 4]
        rows = by_dataset([row for each in statement for row in call(*each)])
        for hour in HOURS:
            answers = World(at(hour), rows).run("transcript_search_qa", ticker=company, query=QUERY)
            texts = {
                (source, f"ACME_{number}" if source == "qa_exchanges" else f"NYSE:ACME 2024Q{number + 1}", n): text
                for number, source in preferred(CALLS, statement, hour).items()
                for n, text in enumerate(call_texts(source, number))
            }
            display = {(row["source"], row["transcript_id"], row["sequence"]): row["ft_score"] for row in answers}
            assert display == due(texts, QUERY)
            assert len(answers) == len(display)


@EVERY_COMPANY
@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("vector_news", {"news": "news", "benzinga_news": "benzinga_news"}),
        ("vector_qa", {"qa_exchanges": "qa_exchange", "call_transcripts": "call_transcripts"}),
    ],
)
def test_nearest_texts_come_from_every_source_and_are_shown_once_each(company, query, kinds):
    sources = tuple(kinds)
    for seed in SEEDS:
        statement = [(source, number, hour) for source, number, hour in statements(sources, seed) if number < 4]
        rows, vectors = [], {}
        for source, number, hour in statement:
            outcome = [article(source, number, hour)] if query == "vector_news" else list(call(source, number, hour))
            rows += outcome
            names = [outcome[0][1]["id"]] if query == "vector_news" else names_of(source, number)
            for name in names:
                vectors[source, name] = vector(source, name)
                place = {"kind": kinds[source], "id": name, "ticker": "ACME", "model": MODEL, "available_at": at(hour)}
                rows.append(("text_vectors", place | {"vector": vectors[source, name]}))
        for hour in HOURS:
            question = {"embedding": [1.0, 0.0], "model": MODEL, "k": 99, "ticker": company}
            if not any(since <= hour for *_, since in statement):
                continue
            answers = World(at(hour), by_dataset(rows)).run(query, **question)
            near = {
                (source, name): pytest.approx(vectors[source, name][0], abs=2e-6)
                for number, source in preferred(sources, statement, hour).items()
                for name in (
                    [article(source, number, 0)[1]["id"]] if query == "vector_news" else names_of(source, number)
                )
                if vectors[source, name][0] >= 0.2
            }
            assert {(row["source"], row["id"]): row["vector_score"] for row in answers} == near
            assert len(answers) == len(near)


def names_of(source, number):
    stem = f"ACME_{number}" if source == "qa_exchanges" else f"NYSE:ACME 2024Q{number + 1}"
    return [f"{stem}_qa__{n}" for n in range(len(call_texts(source, number)))]


def test_an_article_is_not_its_own_neighbour_through_another_source():
    articles = [article("news", 1, 2), article("benzinga_news", 1, 1), article("benzinga_news", 2, 1)]
    vectors = [
        ("text_vectors", {name: row[name] for name in ("id", "ticker", "available_at")} | {"kind": source} | ALIKE)
        for source, row in articles
    ]
    answers = World(LATER, by_dataset([*articles, *vectors])).run("vector_news", seed_id="1", model=MODEL)
    assert [(row["source"], row["id"]) for row in answers] == [("benzinga_news", "2")]


def test_simultaneous_calls_of_two_companies_are_two_calls():
    other = [(source, row | {"ticker": "OTHER"}) for source, row in call("call_transcripts", 2, 1)]
    rows = by_dataset([*call("qa_exchanges", 2, 1), *other])
    answers = World(LATER, rows).run("transcript_search_qa", query=" ".join(WORDS))
    assert {row["source"] for row in answers} == set(CALLS)
