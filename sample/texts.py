"""Prose for the sample world: filings, news and calls, composed of seeded parts. The texts are fictional. The module
also computes small embeddings by hashing words, so that texts with common words are near each other.
"""

import re
from functools import lru_cache
from hashlib import sha256
from random import Random

EMBEDDING_DIMENSIONS = 32

_OPENERS = (
    "Management notes that",
    "During the period,",
    "Compared with a year earlier,",
    "As in earlier periods,",
    "In the ordinary course of business,",
    "By its own account,",
)
_SUBJECTS = (
    "demand in the core business",
    "the order book",
    "the cost of materials and freight",
    "spending on new capacity",
    "the effective tax rate",
    "the mix of products",
    "working capital",
    "the integration of recent purchases",
)
_VERBS = ("rose modestly", "held steady", "eased", "was in line with the plan", "varied by region", "improved slowly")
_CLOSERS = (
    "and no single customer accounts for it.",
    "while foreign exchange moved against it.",
    "which the outlook already takes into account.",
    "and the trend may not continue.",
    "as the notes to the statements set out.",
    "helped by the calendar.",
)
_WORD = re.compile(r"[a-z]{3,}")


def prose(random: Random, sentences: int) -> str:
    return " ".join(
        f"{random.choice(_OPENERS)} {random.choice(_SUBJECTS)} {random.choice(_VERBS)}, {random.choice(_CLOSERS)}"
        for _ in range(sentences)
    )


def embedding(text: str) -> list[float]:
    """Return a vector of length EMBEDDING_DIMENSIONS: the mean of its words' vectors, with four decimals."""
    words = _WORD.findall(text.lower()) or ["nothing"]
    sums = [0] * EMBEDDING_DIMENSIONS
    for word in words:
        for place, value in enumerate(_word_vector(word)):
            sums[place] += value
    return [round(total / (len(words) * 127), 4) for total in sums]


@lru_cache(maxsize=8192)
def _word_vector(word: str) -> tuple[int, ...]:
    return tuple(byte - 128 for byte in sha256(word.encode()).digest()[:EMBEDDING_DIMENSIONS])
