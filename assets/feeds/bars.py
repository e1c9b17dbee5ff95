"""The availability of bars from outside sources: by the lake's setting, and later for untraded instruments."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import lru_cache

from assets.extraction import Record, RunFacts, Statements, day_of
from assets.feeds import dating, fields
from assets.feeds.items import Came
from pitlake.contract import Dataset
from pitlake.errors import Unparsable, Unreadable
from pitlake.lake.storage.conventions import AFTER_CLOSE, NEXT_DAY

# Closing auctions are reported within minutes, and late trades until 20:00.
REPORTED_WITHIN = timedelta(minutes=15)
TRADED = "traded"


def with_traded(bars: Callable[[], Iterable[Came]]) -> Iterator[Came]:
    """Yield bars, flagged whether any bar of their ticker in the answers has a volume. bars: reads the answers."""
    traded = set()
    with suppress(Unparsable):  # The rest is unreadable; earlier bars are yielded.
        for record, _ in bars():
            with suppress(Unreadable):
                if fields.number(record.get("volume")):
                    traded.add(record.get("ticker"))
    return (({**record, TRADED: record.get("ticker") in traded}, capture) for record, capture in bars())


def counts_from(close: datetime, record: Record, dataset: Dataset, run: RunFacts) -> datetime:
    """Return when a bar that ends with a close is available.

    An instrument without any volume, in these answers and in the lake, is a fund or an index. Its value is determined
    after the close, so it is available at the end of the day.
    """
    ticker = str(record["ticker"]).strip().upper()
    traded = record[TRADED] or (run.statements is not None and _was_traded(run.statements, dataset, ticker))
    if run.bars_count_from == NEXT_DAY or not traded:
        return dating.end_of_day(day_of(close))
    return close + REPORTED_WITHIN if run.bars_count_from == AFTER_CLOSE else close


@lru_cache(maxsize=64)
def _was_traded(statements: Statements, dataset: Dataset, ticker: str) -> bool:
    return any(bar["volume"] for bar in statements(dataset, "ticker", [ticker]))
