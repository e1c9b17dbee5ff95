"""The market for random Expressions: stocks, an index fund, a bond fund and quotes over 61 sessions."""

from datetime import datetime

import numpy as np

from pitlake.clock import NEW_YORK
from pitlake.exchange import session
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_quotes import quote
from tests.forge.test_untaken import DAYS, bar

LAST = 59
NOW = datetime(DAYS[LAST].year, DAYS[LAST].month, DAYS[LAST].day, 20, tzinfo=NEW_YORK)
STOCKS, YOUNG, FUND, UNKNOWN = ("AAA", "BBB", "CCC"), "NEW", "TLT", "TY"
EURO, OIL, GAS, RATE, YEARS = "fx:EURUSD", "future:CL:2024-12", "future:NG:2024-12", "curve:USD:10Y", 10
QUOTED = {EURO: "EURUSD", OIL: "CL", GAS: "NG", RATE: "rates"}
MULTIPLIER, MARGIN = 1000.0, 40_000.0
"""The multiplier and margin of the oil contract. The account has no gas contract."""


def walk(seed, start, sigma=0.02):
    """Return the opens and closes of 61 days. Each open differs from the previous close."""
    rng = np.random.default_rng(seed)
    closes = np.round(start * np.cumprod(1 + rng.normal(0, sigma, 61)), 4)
    opens = np.round(np.concatenate([[start], closes[:-1]]) * (1 + rng.normal(0, sigma / 2, 61)), 4)
    return opens, closes


WORLD = {name: walk(seed, 40.0 * (seed + 1)) for seed, name in enumerate((*STOCKS, "SPY", YOUNG, FUND))}
WORLD |= {EURO: walk(11, 1.1, 0.004), OIL: walk(12, 80.0), GAS: walk(14, 3.0)}
YIELDS = np.round(4 + np.cumsum(np.random.default_rng(13).normal(0, 0.05, 61)), 3)
WORLD[RATE] = (100 / (1 + YIELDS / 100) ** YEARS,) * 2
FIRST = {YOUNG: 48}
VOLUMES = {"AAA": 3e5, "BBB": 2e4, "CCC": 1e6, "SPY": 1e7, YOUNG: 1e5, FUND: 1e6}


def market(root):
    """Return the root of a lake with companies, an index fund, a bond fund, quotes, and a bar after NOW."""
    lake = Lake(root)
    rows, own = [], []
    for name, volume in VOLUMES.items():
        for number in range(FIRST.get(name, 0), 61):
            first, last = (float(part[number]) for part in WORLD[name])
            prices = {"open": first, "close": last, "high": max(first, last), "low": min(first, last), "volume": volume}
            kind = {"entity_kind": "index", "entity_id": "SPY"} if name == "SPY" else {"entity_id": str(ord(name[0]))}
            if name == FUND:
                own.append(prices | {"ticker": name, "date": DAYS[number], "available_at": session(DAYS[number]).close})
            else:
                rows.append(bar(DAYS[number], 1.0, symbol=name, **(kind | prices)))
    put_rows(lake, "prices", *rows)
    put_rows(lake, "own_bars", *own)
    quotes = []
    for number, day in enumerate(DAYS[:61]):
        quotes.append(quote(RATE, day, float(YIELDS[number]), "zero_rate", "percent"))
        for name, unit in ((EURO, "USD per EUR"), (OIL, "USD per barrel"), (GAS, "USD per mmBtu")):
            quotes.append(quote(name, day, float(WORLD[name][1][number]), "close", unit))
            quotes.append(quote(name, day, float(WORLD[name][0][number]), "open", unit))
    put_rows(lake, "market_quotes", *quotes)
    return lake.root
