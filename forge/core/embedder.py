"""Texts of memory by meaning: vectors kept by content and model, and the order of a search.

What may be searched is the caller's: he hands in what his turn can see. Vectors are a cache, made again where they are
missing, so that nothing depends on the file they are kept in.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
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
"""How many contents are asked for at once: SQLite binds no more than some thousands."""


@dataclass(frozen=True)
class TextModel:
    """A model of texts: its name, and what makes a vector of a text."""

    name: str = MODEL
    embed: Callable[[str], Sequence[float]] = own


class KeptVectors:
    """The vectors of texts by one model, in a SQLite file, or in memory. One thread at a time."""

    def __init__(self, path: Path | str = ":memory:", model: TextModel | None = None) -> None:
        self.model = model or TextModel()
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")  # what a crash takes is made again
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS vectors (model TEXT, content BLOB, vector BLOB, PRIMARY KEY (model, content)) "
            "WITHOUT ROWID"
        )

    def of(self, texts: Sequence[str]) -> Vectors:
        """A row a text, of length 1, or all 0 for one without words; made and kept where it is not kept yet."""
        names = [sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        known = self._kept(list(dict.fromkeys(names)))
        made = {}
        for name, text in zip(names, texts, strict=True):
            if name not in known:
                made[name] = known[name] = _unit(self.model.embed(text))
        self._keep(made)
        return np.stack([known[name] for name in names]) if names else np.empty((0, 0), np.float32)

    def asked(self, text: str) -> Vectors:
        """The vector of a question, which is not kept."""
        return _unit(self.model.embed(text))

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def _kept(self, names: Sequence[bytes]) -> dict[bytes, Vectors]:
        found: dict[bytes, Vectors] = {}
        for start in range(0, len(names), MANY):
            some = names[start : start + MANY]
            marks = ", ".join("?" * len(some))
            asked = f"SELECT content, vector FROM vectors WHERE model = ? AND content IN ({marks})"
            for name, vector in self._db.execute(asked, (self.model.name, *some)):
                found[name] = np.frombuffer(vector, np.float32)
        return found

    def _keep(self, made: dict[bytes, Vectors]) -> None:
        if made:
            self._db.execute("BEGIN IMMEDIATE")
            rows = ((self.model.name, name, vector.tobytes()) for name, vector in made.items())
            self._db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows)
            self._db.execute("COMMIT")


class Hit(NamedTuple):
    """One text that was found: its position among those searched, its score, and its likeness alone."""

    position: int
    score: float
    similarity: float


def ranked(
    asked: Vectors,
    vectors: Vectors,
    written_at: Instants,
    at: datetime,
    *,
    count: int = 5,
    weights: tuple[float, float] = (SIMILARITY_WEIGHT, RECENCY_WEIGHT),
) -> list[Hit]:
    """The best of these texts, best first: weights[0] × cosine + weights[1] / (1 + age in days at the instant / 30).

    asked: the query's vector. vectors, written_at: those of the texts, instants as `instants` makes them, in one order,
    which also decides between equals. A text written after the instant is not found. Raises BadInput for vectors of
    another length or count.
    """
    if not len(vectors):
        return []
    if vectors.shape != (len(written_at), len(asked)):
        raise BadInput("vectors", "are not one a text, as long as the query's", "make both with one model")
    ages = clock.micros(at) - written_at
    similarity = vectors @ asked
    score = weights[0] * similarity + weights[1] / (1 + ages / MICROS_A_DAY / RECENCY_DAYS)
    visible = np.flatnonzero(ages >= 0)
    best = visible[np.argsort(-score[visible], kind="stable")][:count]
    return [Hit(int(place), float(score[place]), float(similarity[place])) for place in best]


@dataclass(frozen=True)
class Meaning:
    """Puts texts in order by likeness and recency, weighed."""

    vectors: KeptVectors
    weights: tuple[float, float] = (SIMILARITY_WEIGHT, RECENCY_WEIGHT)

    def rank(
        self, query: str, texts: Sequence[str], written_at: Iterable[datetime], at: datetime, count: int
    ) -> list[Hit]:
        """The best of these texts, best first; see `ranked`."""
        made, asked = self.vectors.of(texts), self.vectors.asked(query)
        return ranked(asked, made, instants(written_at), at, count=count, weights=self.weights)


def instants(moments: Iterable[datetime]) -> Instants:
    """Aware instants as microseconds, for `ranked`; made once for what is searched often."""
    return np.fromiter(map(clock.micros, moments), np.int64)


def _unit(numbers: Sequence[float]) -> Vectors:
    vector = np.asarray(numbers, np.float32)
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length else vector
