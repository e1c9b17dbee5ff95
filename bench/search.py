"""Searching: words in articles and the nearest vectors, one session, one thread, on a lake of numbers.

Texts have the frequencies of a language: the n-th most frequent of 20,000 words comes 1/n as often as the first.
Ratios are to plain SQL that reads the same texts or scores the same vectors in the same session, in CPU time. What a
search finds is checked first: rare words by a regular expression, the nearest vector by sorting all scores.
"""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa

from bench import biglake
from bench.figures import Figure, figure, paired, processor
from bench.wall import LIMITS, T
from pitlake.datasets import get
from pitlake.lake import Lake
from pitlake.lake.query import calculator
from pitlake.session import Session, open_session

FULL = {"articles": 1_000_000, "vectors": 100_000}
ROUNDS = 5
WIDTH = 256
_WORD = "'w' || floor(exp(hash({}) / 18446744073709551616.0 * ln(20000)))::INTEGER"
_TEXT = f"array_to_string(list_transform(range({{}}), lambda i: {_WORD.format('id, i')}), ' ')"
_NEWS = f"""
FROM news SELECT * REPLACE ({_TEXT.format(10)} AS title, {_TEXT.format(20)} AS teaser, {_TEXT.format(200)} AS body)"""
_VECTORS = f"""
SELECT 'news' AS kind, id, ticker, list_transform(range({WIDTH}), lambda i: (hash(id, i) % 2000)::FLOAT / 1000 - 1)
    AS vector, available_at, available_at_source, evidence, observed_at, content_hash
FROM news WHERE updated IS NULL LIMIT $count"""
_RARE = {"query": "w15000 w12345"}
_FOUND = r"SELECT id FROM news WHERE regexp_matches(concat_ws(' ', title, teaser, body), '\b(w15000|w12345)\b')"
_READ = "SELECT sum(length(title) + length(teaser) + length(body)) FROM news"
_SCORED = (
    "SELECT id, list_cosine_similarity(vector, $embedding::FLOAT[]) AS score FROM lake.embeddings "
    "ORDER BY score DESC LIMIT 5"
)


def run(articles: int = 100_000, vectors: int = 50_000) -> list[Figure]:
    """Milliseconds of CPU of each search, and its ratio."""
    with tempfile.TemporaryDirectory() as folder:
        lake = _build(Path(folder) / "lake", articles, vectors)
        with open_session(
            lake.snapshot(), T, datasets=("news", "embeddings", "text_vectors"), limits=LIMITS
        ) as session:
            return [*_words(session), *_nearest(session)]


def _words(session: Session) -> list[Figure]:
    (articles,) = session.sql("SELECT count(*) FROM news").rows()[0]
    found = session.run("news_full_text", **_RARE, limit=articles).arrow()["id"].to_pylist()
    assert sorted(found) == sorted(one for (one,) in session.sql(_FOUND).rows())
    searches = {
        "two rare words": _RARE,
        "two words, each in one article of forty": {"query": "w1100 AND w900"},
        "two frequent words": {"query": "w2 w5"},
        "one company's, two frequent words": {"query": "w2 w5", "ticker": "T00007"},
    }
    return [
        _compared(f"{name}, of {articles:,} articles", session, partial(session.run, "news_full_text", **asked), _READ)
        for name, asked in searches.items()
    ]


def _nearest(session: Session) -> list[Figure]:
    (vectors,) = session.sql("SELECT count(*) FROM lake.embeddings").rows()[0]
    (stored,) = session.sql("SELECT vector FROM lake.embeddings ORDER BY id LIMIT 1").rows()[0]
    asked = {"embedding": stored}
    search = partial(session.run, "vector_news", **asked)
    assert search().arrow()["id"][0] == session.sql(_SCORED, asked).arrow()["id"][0]
    return [_compared(f"nearest of {vectors:,} vectors of {WIDTH}", session, search, _SCORED, asked)]


def _compared(
    name: str, session: Session, search: Callable[[], object], plain: str, bound: dict[str, object] | None = None
) -> Figure:
    mine, other, ratio = paired(search, partial(session.sql, plain, bound), ROUNDS, processor(session._backend.pid))
    return figure(name, 1000 * mine, "ms of CPU", baseline=f"plain SQL, {1000 * other:,.0f} ms", ratio=ratio)


def _build(root: Path, articles: int, vectors: int) -> Lake:
    lake = Lake(root)
    lake.start()
    months = biglake.MONTHS[-48:]
    news, embeddings = get("news"), get("embeddings")
    files: dict[str, list[biglake.NewFile]] = {"news": [], "embeddings": []}
    for month in months:
        texts = _of(biglake.rows_of(news, round(articles / len(months) / 1.05), month), _NEWS, news.arrow_schema)
        near = _of(texts, _VECTORS, embeddings.arrow_schema, count=vectors // len(months))
        files["news"].append(biglake.write(root, news, f"{month:%Y-%m}", texts))
        files["embeddings"].append(biglake.write(root, embeddings, f"{month:%Y-%m}", near))
    for name, written in files.items():
        biglake.commit(root, name, written)
        biglake.bury(root, lake, get(name))
    return lake


def _of(news: pa.Table, sql: str, schema: pa.Schema, **asked: object) -> pa.Table:
    with calculator(threads=1) as connection:
        connection.register("news", news)
        return connection.sql(sql, params=asked or None).to_arrow_table().select(schema.names).cast(schema)
