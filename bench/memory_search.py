"""The cost of searching Forge's memory by meaning: embedding and ranking a query over 10,000 records, and making and
storing vectors.
"""

import statistics
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from bench.figures import Figure, figure
from forge.core.embedder import VectorCache, instants, ranked

WORDS = ("growth", "inflation", "rates", "curve", "dollar", "oil", "credit", "payrolls", "duration", "carry", "hike")
T = datetime(2024, 5, 1, tzinfo=timezone.utc)
FULL = {"records": 10_000, "searches": 200}


def run(records: int = 10_000, searches: int = 100) -> list[Figure]:
    """Return the median milliseconds of a search, and the seconds to embed and to read back all records."""
    rng = Random(7)
    texts = [f"record {number}: {' '.join(rng.choices(WORDS, k=100))}" for number in range(records)]
    written_at = instants(T - timedelta(hours=number) for number in range(records))
    with TemporaryDirectory() as folder:
        cache = VectorCache(Path(folder) / "vectors.sqlite")
        started = time.perf_counter()
        vectors = cache.embed(texts)
        build_seconds = time.perf_counter() - started
        started = time.perf_counter()
        cache.embed(texts)
        again = time.perf_counter() - started
        seconds = []
        for number in range(searches):
            started = time.perf_counter()
            query_vector = cache.embed_query(f"{rng.choice(WORDS)} and {rng.choice(WORDS)} {number}")
            ranked(query_vector, vectors, written_at, T, count=10)
            seconds.append(time.perf_counter() - started)
        cache.close()
    return [
        figure(f"search over {records:,} records, p50", 1000 * statistics.median(seconds), "ms", aim="≤ 50"),
        figure(f"{records:,} texts of 100 words embedded", build_seconds, "s"),
        figure("the same read back", again, "s"),
    ]
