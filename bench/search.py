"""The cost of searching words in articles, and nearest vectors, in one session and one thread on a computed lake.
Word frequencies follow a natural language: the n-th most frequent of 20,000 words occurs 1/n as often as the first.
Vectors of one company's texts are similar (a cosine of 0.8), others are not. The baseline for words is a session
without the index, which reads every text. The baseline for vectors is plain SQL that scores the same vectors. Costs are
CPU time. Results are checked first: words against the baseline, rare words also with a regular expression, and the
nearest vector by sorting all scores.
"""

import tempfile
import time
from functools import partial
from pathlib import Path

import pyarrow as pa

from bench import biglake
from bench.figures import Figure, figure, paired, processor
from bench.open import LIMITS, T
from pitlake.datasets import get
from pitlake.lake import Lake
from pitlake.lake.tables.query import calculator
from pitlake.session import Session, Viewpoint, open_session
from pitlake.session.visible.cut_cache import CutCache

FULL = {"articles": 1_220_000, "vectors": 1_220_000}  # one million of them are public at T
MILLION = 990_000
ROUNDS = 3
WIDTH = 256
_WORD = "'w' || floor(exp(hash(hash({})) / 18446744073709551616.0 * ln(20000)))::INTEGER"
_TEXT = f"array_to_string(list_transform(range({{}}), lambda i: {_WORD.format('id, i')}), ' ')"
_NEWS = f"""
FROM news SELECT * REPLACE ({_TEXT.format(10)} AS title, {_TEXT.format(20)} AS teaser, {_TEXT.format(200)} AS body)"""
_NUMBER = "(hash(hash({}, i)) / 9223372036854775808.0 - 1)"
_VECTORS = f"""
SELECT 'news' AS kind, id, ticker, list_transform(range({WIDTH}),
    lambda i: ({_NUMBER.format("ticker")} + {_NUMBER.format("id")} / 2)::FLOAT) AS vector,
    available_at, available_at_source, evidence, observed_at, content_hash
FROM news WHERE updated IS NULL LIMIT $count"""
_RARE = {"query": "w15000 w12345"}
_FOUND = r"SELECT id FROM news WHERE regexp_matches(concat_ws(' ', title, teaser, body), '\b(w15000|w12345)\b')"
_SCORED = (
    "SELECT id, list_cosine_similarity(vector, $embedding::FLOAT[]) AS score FROM lake.embeddings "
    "ORDER BY score DESC LIMIT 5"
)


def run(articles: int = 100_000, vectors: int = 50_000) -> list[Figure]:
    """Return the CPU milliseconds of each search, and the ratio to its baseline."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "lake"
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
        for name, file_rows in files.items():
            biglake.commit(root, name, file_rows)
            biglake.bury(root, lake, get(name))
        cuts = CutCache(Path(folder) / "cuts")
        arguments = {
            "datasets": ("news", "benzinga_news", "embeddings", "text_vectors"),
            "limits": LIMITS,
            "cut_cache": cuts,
        }
        with (
            open_session(Viewpoint(as_of=T, lake=lake), **arguments) as session,
            open_session(Viewpoint(as_of=T, lake=lake), **arguments) as reading,
        ):
            reading.sql("CREATE TEMP TABLE changed AS SELECT 1")
            return [*_words(session, reading), *_nearest(session)]


def _words(session: Session, reading: Session) -> list[Figure]:
    (articles,) = session.sql("SELECT count(*) FROM news").rows()[0]
    started = time.process_time()
    matching_ids = session.run("news_full_text", **_RARE, limit=articles).arrow()["id"].to_pylist()
    first = time.process_time() - started
    assert sorted(matching_ids) == sorted(id_ for (id_,) in session.sql(_FOUND).rows())
    searches = {
        "two rare words": _RARE,
        "two words, each in one article of forty": {"query": "w1100 AND w900"},
        "two frequent words": {"query": "w2 w5"},
        "a phrase of two frequent words": {"query": '"w2 w5"'},
    }
    search_one = partial(session.run, "news_full_text", query="w2 w5", ticker="T00007")
    company, _, _ = paired(search_one, search_one, ROUNDS, processor(session._backend.pid))
    return [
        figure(f"the first search of {articles:,} articles, which makes the index", first, "s of CPU"),
        *(
            _searched(f"{name}, best 20 of {articles:,}", session, reading, params, _aim(articles, "≤ 50 ms"))
            for name, params in searches.items()
        ),
        figure(
            f"two frequent words, one company's best 20 of {articles:,}",
            1000 * company,
            "ms of CPU",
            aim=_aim(articles, "≤ 20 ms"),
        ),
    ]


def _aim(texts: int, aim: str) -> str:
    """Return the aim, which holds for a million texts; empty for fewer."""
    return aim if texts >= MILLION else ""


def _searched(name: str, session: Session, reading: Session, params: dict[str, str], aim: str) -> Figure:
    indexed, every = (partial(each.run, "news_full_text", **params) for each in (session, reading))
    assert indexed().arrow().equals(every().arrow())
    (backend,) = (backend for query, backend in session._index.processes.items() if "news" in query[1])
    mine, other, ratio = paired(indexed, every, ROUNDS, processor(backend.pid, reading._backend.pid))
    baseline = f"every text read, {1000 * other:,.0f} ms"
    return figure(name, 1000 * mine, "ms of CPU", baseline=baseline, ratio=ratio, aim=aim)


def _nearest(session: Session) -> list[Figure]:
    (vectors,) = session.sql("SELECT count(*) FROM lake.embeddings").rows()[0]
    (stored,) = session.sql("SELECT vector FROM lake.embeddings ORDER BY id LIMIT 1").rows()[0]
    params = {"embedding": stored}
    search = partial(session.run, "vector_news", **params)
    started = time.process_time()
    assert search().arrow()["id"][0] == session.sql(_SCORED, params).arrow()["id"][0]
    first = time.process_time() - started
    (backend,) = (backend for query, backend in session._index.processes.items() if "embeddings" in query[1])
    clock = processor(backend.pid, session._backend.pid)
    mine, other, ratio = paired(search, partial(session.sql, _SCORED, params), ROUNDS, clock)
    name = f"nearest of {vectors:,} vectors of {WIDTH} numbers"
    against = {"baseline": f"plain SQL, {1000 * other:,.0f} ms", "ratio": ratio}
    return [
        figure(f"the first search of {vectors:,} vectors, which makes what is mapped", first, "s of CPU"),
        figure(name, 1000 * mine, "ms of CPU", aim=_aim(vectors, "≤ 300 ms")),
        figure(f"{name} ÷ plain SQL", 1000 * mine, "ms of CPU", **against, aim="≤ 1"),
    ]


def _of(news: pa.Table, sql: str, schema: pa.Schema, **params: object) -> pa.Table:
    with calculator(threads=1) as connection:
        connection.register("news", news)
        return connection.sql(sql, params=params or None).to_arrow_table().select(schema.names).cast(schema)
