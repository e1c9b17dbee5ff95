"""The cost of the time machine on the demo's lake: its first page, a move of T to a new instant, and the same page
again.
"""

import random
import sys
import time
from datetime import timedelta
from pathlib import Path
from statistics import median

from starlette.testclient import TestClient

from bench.figures import Figure, figure
from pitlake.clock import instant
from pitlake.errors import LakeNotFound
from pitlake.web.address import Address
from pitlake.web.app import ServerSettings, application
from pitlake.web.pool import Pool
from pitlake.web.serve import warm_up

DEMO = Path(".pitlake/demo/lake")
HOME = Address(instant("2024-05-29T21:00:00Z"), "NVDA")
FIRST, MINUTES = instant("2023-06-01T20:00:00Z"), 60 * 24 * 700
TICKERS = ("NVDA", "AAPL", "M", "NOG", "JPM", "XOM")


def run(root: Path = DEMO, moves: int = 50) -> list[Figure]:
    """Return every figure; none if the lake is missing."""
    chance = random.Random(0)
    settings = ServerSettings(Pool(root, "process"), HOME, "")
    try:
        warm_up(settings)
    except LakeNotFound:
        print(f"web: there is no lake at {root}; `make demo` builds it", file=sys.stderr)
        return []
    with TestClient(application(settings), base_url="http://127.0.0.1:8765") as client:
        first = _milliseconds(client, HOME)
        requests = [
            Address(FIRST + timedelta(minutes=chance.randrange(MINUTES)), chance.choice(TICKERS)) for _ in range(moves)
        ]
        moved = [_milliseconds(client, request) for request in requests]
        again = [_milliseconds(client, requests[-1]) for _ in range(10)]
    return [
        figure("first page", first, "ms", aim="≤ 300"),
        figure(f"move of T, p50 of {moves} instants never asked for", median(moved), "ms", aim="≤ 150"),
        figure("the same page again, p50", median(again), "ms", aim="≤ 30"),
    ]


def _milliseconds(client: TestClient, request: Address) -> float:
    began = time.perf_counter()
    client.get(request.url()).raise_for_status()
    return 1000 * (time.perf_counter() - began)
