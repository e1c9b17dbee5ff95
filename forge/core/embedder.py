"""Semantic search over texts of memory: a cache of vectors by content and model, and the ranking of a search.

Callers pass the texts that their turn can see. Missing vectors are recomputed, so the cache file may be removed.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pitlake import clock
from pitlake.errors import BadInput
from pitlake.questions.embedding import MODEL, own

Vectors = npt.NDArray[np.float32]
Instants = npt.NDArray[np.int64]
SIMILARITY_WEIGHT, RECENCY_WEIGHT, RECENCY_DAYS = 0.7, 0.3, 30.0
MICROS_A_DAY = 86_400_000_000
MANY = 500
"""The number of texts that one query looks up, because SQLite limits the number of bound values."""


@dataclass(frozen=True)
class TextModel:
    """An embedding model: its name, and the function that turns a text into a vector."""

    name: str = MODEL
    embed: Callable[[str], Sequence[float]] = own


def text_model(name: str) -> TextModel:
    """Return an embedding model by its name in the settings: the bundled one, or `package.module:function`.

    Raises BadInput for a function that can't be imported.
    """
    if name == MODEL:
        return TextModel()
    module, _, function = name.partition(":")
    try:
        embed = getattr(import_module(module), function)
    except (ImportError, AttributeError):
        raise BadInput("search.embedding_model", f"{name!r} can't be imported", "install its package") from None
    if not callable(embed):
        raise BadInput("search.embedding_model", f"{name!r} can't be called", "name a function from text to numbers")
    return TextModel(name, embed)


class VectorCache:
    """A cache of one model's vectors, in a SQLite file or in memory. Use it from one thread at a time."""

    def __init__(self, path: Path | str = ":memory:", model: TextModel | None = None) -> None:
        self.model = model or TextModel()
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")  # Vectors that are lost in a crash are recomputed.
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS vectors (model TEXT, content BLOB, vector BLOB, PRIMARY KEY (model, content)) "
            "WITHOUT ROWID"
        )

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, normalised to length 1, or all 0 for a text without words. Fills the cache."""
        names = [sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        vectors, distinct = dict[bytes, Vectors](), list(dict.fromkeys(names))
        for start in range(0, len(distinct), MANY):
            some = distinct[start : start + MANY]
            marks = ", ".join("?" * len(some))
            query = f"SELECT content, vector FROM vectors WHERE model = ? AND content IN ({marks})"
            for name, vector in self._db.execute(query, (self.model.name, *some)):
                vectors[name] = np.frombuffer(vector, np.float32)
        new_vectors = {}
        for name, text in zip(names, texts, strict=True):
            if name not in vectors:
                new_vectors[name] = vectors[name] = _unit(self.model.embed(text))
        if new_vectors:
            self._db.execute("BEGIN IMMEDIATE")
            rows = ((self.model.name, name, vector.tobytes()) for name, vector in new_vectors.items())
            self._db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows)
            self._db.execute("COMMIT")
        return np.stack([vectors[name] for name in names]) if names else np.empty((0, 0), np.float32)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a search query, which is not cached."""
        return _unit(self.model.embed(text))

    def close(self) -> None:
        self._db.close()


class Hit(NamedTuple):
    """One search result: the position of the text among the searched texts, its score, and its similarity."""

    position: int
    score: float
    similarity: float


def ranked(
    query: Vectors,
    vectors: Vectors,
    written_at: Instants,
    at: datetime,
    *,
    count: int = 5,
    weights: tuple[float, float] = (SIMILARITY_WEIGHT, RECENCY_WEIGHT),
) -> list[Hit]:
    """Return the best matches, best first, by weights[0] × cosine + weights[1] / (1 + age in days / 30).

    Texts written after `at` are left out. Ties keep the order of the texts.

    Args:
        query: The query's vector.
        vectors: One row per text.
        written_at: When each text was written, from `instants`.
        at: The instant to which ages are counted.
        count: The most results to return.
        weights: The weights of similarity and recency.

    Raises:
        BadInput: The vectors differ in length or number.
    """
    if not len(vectors):
        return []
    if vectors.shape != (len(written_at), len(query)):
        raise BadInput("vectors", "do not match the texts or the query's length", "embed both with one model")
    ages = clock.micros(at) - written_at
    similarity = vectors @ query
    score = weights[0] * similarity + weights[1] / (1 + ages / MICROS_A_DAY / RECENCY_DAYS)
    visible = np.flatnonzero(ages >= 0)
    best = visible[np.argsort(-score[visible], kind="stable")][:count]
    return [Hit(int(place), float(score[place]), float(similarity[place])) for place in best]


@dataclass(frozen=True)
class Meaning:
    """Ranks texts by weighted similarity and recency."""

    vectors: VectorCache
    weights: tuple[float, float] = (SIMILARITY_WEIGHT, RECENCY_WEIGHT)

    def rank(
        self, query: str, texts: Sequence[str], written_at: Iterable[datetime], at: datetime, count: int
    ) -> list[Hit]:
        """Embed the query and the texts, and return the best matches (see `ranked`). Without texts, load no model."""
        if not texts:
            return []
        vectors, query_vector = self.vectors.embed(texts), self.vectors.embed_query(query)
        return ranked(query_vector, vectors, instants(written_at), at, count=count, weights=self.weights)


def instants(moments: Iterable[datetime]) -> Instants:
    """Convert aware instants to an array of microseconds for `ranked`."""
    return np.fromiter(map(clock.micros, moments), np.int64)


def _unit(numbers: Sequence[float]) -> Vectors:
    vector = np.asarray(numbers, np.float32)
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length else vector
