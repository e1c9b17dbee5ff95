"""Full-text search: BM25 in SQL, compared with a slow computation of the formula, and its query language."""

import math
import re
import unicodedata

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

WORDS = st.sampled_from(
    ["revenue", "guidance", "gross", "margin", "rev", "enue", "2", "02", "ÉTÉ", "été", "naïve", "a"]
)
GLUE = st.sampled_from([" ", "  ", "-", ".", "\n", "", "_", "'", "—"])
TEXTS = st.lists(st.tuples(WORDS, GLUE), max_size=12).map(lambda parts: "".join(map("".join, parts)))
CLAUSES = st.one_of(WORDS, st.lists(WORDS, min_size=2, max_size=3).map(lambda words: f'"{" ".join(words)}"'))
QUERIES = st.lists(st.tuples(CLAUSES, st.sampled_from([" ", " AND ", " OR "])), min_size=1, max_size=4).map(
    lambda parts: "".join(map("".join, parts)).rsplit(" ", 1)[0]
)


def words(text):
    remaining = (mark if unicodedata.category(mark)[0] in "LN" else " " for mark in text.lower())
    return "".join(remaining).split()


def clauses(query):
    """Return the alternatives of a query. Each is a list of word sequences that a text must contain."""
    alternatives, joined = [], False
    for piece in re.findall(r'"[^"]*"|[^\s"]+', query):
        if piece == "AND":
            joined = True
        elif piece != "OR" and words(piece):
            if joined and alternatives:
                alternatives[-1].append(words(piece))
            else:
                alternatives.append([words(piece)])
            joined = False
    return alternatives


def holds(text, sequence):
    have = words(text)
    return any(have[start : start + len(sequence)] == sequence for start in range(len(have)))


def slow_bm25(texts, query):
    """Return the scores of matching texts by number, computed directly from the formula."""
    terms = sorted({word for alternative in clauses(query) for sequence in alternative for word in sequence})
    mean = sum(map(len, texts)) / len(texts)
    scores = {}
    for number, text in enumerate(texts):
        if not any(all(holds(text, sequence) for sequence in alternative) for alternative in clauses(query)):
            continue
        score = 0.0
        for term in terms:
            having = sum(term in words(other) for other in texts)
            rarity = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
            times = words(text).count(term)
            score += rarity * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * len(text) / mean))
        scores[number] = score
    return scores


@pytest.fixture(scope="module")
def connection():
    from pitlake.questions import catalogue

    connection = duckdb.connect()
    connection.execute("CREATE MACRO as_of() AS TIMESTAMPTZ '2024-12-31T00:00:00Z'")
    for macros in catalogue.session_macros(()):
        connection.execute(macros)
    return connection


@pytest.fixture(scope="module")
def bm25(connection):
    def score(texts, query):
        corpus = "WITH corpus AS (SELECT unnest(range(len($texts))) AS doc, unnest($texts) AS text)"
        result = connection.execute(f"{corpus} FROM bm25('corpus', $query)", {"texts": texts, "query": query})
        return dict(result.fetchall())

    return score


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(TEXTS, min_size=1, max_size=6), query=QUERIES)
def test_scores_equal_those_of_the_bm25_formula(bm25, texts, query):
    assert bm25(texts, query) == pytest.approx(slow_bm25(texts, query), abs=1e-5)


@settings(max_examples=25, deadline=None)
@given(texts=st.lists(TEXTS, min_size=2, max_size=6, unique=True), query=QUERIES, seed=st.randoms())
def test_scores_do_not_depend_on_the_order_of_rows(bm25, texts, query, seed):
    shuffled = sorted(texts, key=lambda _: seed.random())
    by_text = {texts[number]: score for number, score in bm25(texts, query).items()}
    assert {shuffled[number]: score for number, score in bm25(shuffled, query).items()} == by_text


@pytest.mark.parametrize(
    ("query", "result"),
    [
        ("margin", {0, 1, 3}),
        ("margin guidance", {0, 1, 2, 3}),
        ("margin AND guidance", {3}),
        ('"gross margin"', {0, 3}),
        ('"gross margin" AND guidance', {3}),
        ("gross OR guidance", {0, 2, 3}),
        ("GROSS", {0, 3}),
        ("AND margin", {0, 1, 3}),
        ("gross-margin", {0, 3}),
        ("marg", set()),
    ],
)
def test_the_query_language_matches_as_described(bm25, query, result):
    texts = ["Gross margin rose", "margin of gain", "Guidance cut", "guidance; gross\nmargin"]
    assert set(bm25(texts, query)) == result


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=8), QUERIES)
def test_counting_split_words_equals_counting_whole_texts(connection, texts, query):
    rows = list(enumerate([*texts, "a a a a", "rev enue rev rev", ""]))
    connection.execute("CREATE OR REPLACE TEMP TABLE texts AS SELECT unnest($1).a AS doc, unnest($1).b AS text",
                       [[{"a": doc, "b": text} for doc, text in rows]])  # fmt: skip
    connection.execute("CREATE OR REPLACE TEMP TABLE asked AS FROM search_asked($1)", [query])
    connection.execute("CREATE OR REPLACE TEMP TABLE split AS SELECT doc, unnest(search_split(lower(text))) FROM texts")
    counted, by_words = (
        connection.sql(f"FROM {macro} ORDER BY doc").fetchall()
        for macro in ("search_counted('texts', 'asked')", "search_counted_split('split', 'asked')")
    )
    assert counted == by_words


def test_query_terms_are_sorted_whatever_the_order_in_the_query(connection):
    query = 'oil "gas of oil" AND été OR 2 AND gas'
    assert connection.execute("SELECT terms FROM search_asked($query)", {"query": query}).fetchall() == [
        (["2", "gas", "of", "oil", "été"],)
    ]


def test_a_companys_articles_come_best_first_with_ties_newest_first(world):
    def article(number, day, title, **more):
        return {
            "id": f"bzNews_{number}",
            "tickers": ["QBG"],
            "title": title,
            "available_at": f"2024-03-{day:02d}T00:00:00Z",
            **more,
        }

    result = world(
        news=[
            article(1, 1, "oil oil output"),
            article(2, 2, "oil price notes"),
            article(3, 3, "oil price notes"),
            article(4, 4, "gas"),
            article(5, 5, "oil", tickers=["QZP"]),
        ]
    ).run("news_full_text", ticker="QBG", query="oil")
    assert [row["id"] for row in result] == ["bzNews_1", "bzNews_3", "bzNews_2"]


def test_an_article_is_searched_in_its_newest_text(world):
    row = {"id": "bzNews_1", "tickers": ["QBG"]}
    news = [
        row | {"body": "merger talks", "available_at": "2024-03-01T00:00:00Z"},
        row | {"body": "talks ended", "available_at": "2024-03-05T00:00:00Z"},
    ]
    assert world("2024-03-04T00:00:00Z", news=news).run("news_full_text", query="merger")
    assert not world("2024-03-05T00:00:00Z", news=news).run("news_full_text", query="merger")


def test_a_text_that_appears_later_changes_no_score(world):
    row = {"tickers": ["QBG"], "teaser": "oil"}
    early = [
        row | {"id": f"bzNews_{n}", "title": f"oil {n}", "available_at": f"2024-03-0{n}T00:00:00Z"} for n in (1, 2)
    ]
    late = [row | {"id": "bzNews_9", "title": "oil oil oil", "available_at": "2024-03-09T00:00:00Z"}]
    as_of = "2024-03-05T00:00:00Z"
    assert world(as_of, news=early + late).run("news_full_text", query="oil") == world(as_of, news=early).run(
        "news_full_text", query="oil"
    )


@pytest.mark.parametrize("query", ["& —", '""', "AND", "OR AND", '"!"'])
@pytest.mark.parametrize("texts", [["Gross margin rose"], []])
def test_a_query_without_a_word_is_refused(bm25, query, texts):
    with pytest.raises(duckdb.Error, match=r"query: no word"):
        bm25(texts, query)
