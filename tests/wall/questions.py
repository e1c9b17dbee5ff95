"""Questions of the query catalogue for the truncation campaign: full-text, vectors, as-of joins, every named query.

Questions depend only on a seed, like `statements`. Nothing here opens a session.
"""

import random
from datetime import datetime, timedelta
from typing import Any

from pitlake.questions import catalogue
from tests.wall.worlds import CIKS, CONCEPTS, IDS, TICKERS, VECTOR, WORDS

_TEXTS = ("{0}", "{0} {1}", '"{0} {1}"', "{0} AND {1}", "{0} OR {1}")


def named(seed: int, as_of: datetime) -> tuple[str, dict[str, Any]]:
    """Return one of the catalogue's queries, and values to bind that usually match some rows."""
    rng = random.Random(f"question/{seed}")
    query = catalogue.get(rng.choice(list(catalogue.all_queries())))
    pool: dict[str, Any] = {
        "ticker": rng.choice(TICKERS),
        "start_date": rng.choice(("2024-01-01", "2024-04-20")),
        "query": rng.choice(_TEXTS).format(rng.choice(WORDS), rng.choice(WORDS)),
        "channel": rng.choice("abcdef"),
        "concept_qname": rng.choice(CONCEPTS),
        "member_qnames": [rng.choice("ab")],
        "concepts": rng.sample(CONCEPTS, 2),
        "pairs": [(rng.choice(TICKERS), as_of - timedelta(hours=rng.randrange(2000))) for _ in range(3)],
        "limit": rng.choice((1, 5, 20)),
        "k": rng.choice((1, 10)),
        "series": rng.choice(("GDP", "a")),
        "day": rng.choice(("2024-03-01", "2024-04-20")),
        "period": "2024-01-01",
        "kind": "fx",
        "instrument": "EURUSD",
    }
    pool |= {"seed_id": rng.choice(IDS)} if rng.random() < 0.5 else {"embedding": [rng.random() for _ in range(VECTOR)]}
    inputs = {parameter.name: pool[parameter.name] for parameter in query.parameters if parameter.name in pool}
    inputs |= {
        parameter.name: [pool["series"]]
        for parameter in query.parameters
        if (parameter.name, parameter.type) == ("series", "texts")
    }
    bound = query.bind(inputs)
    if catalogue.COMPANY in bound:
        ticker = bound.pop("ticker")
        bound[catalogue.COMPANY] = ticker and rng.choice((ticker, f"{rng.choice(CIKS)} {ticker}"))
    return query, bound
