"""Dataset `polygon_splits`: exact share splits, dated by the close of their execution day."""

from typing import Any

from assets.external.polygon import _pages
from assets.extraction import Place, Record, RunFacts, dated, parsed
from assets.feeds import dating, fields
from assets.feeds.feed import Scope
from assets.feeds.naming import Values
from pitlake.datasets import _shared as shared
from pitlake.datasets import polygon_splits as contract
from pitlake.datasets.polygon_splits import DATASET
from pitlake.errors import RecordRefused
from pitlake.exchange import session


def locate(record: Record, run: RunFacts) -> Place:
    """Return the close of the execution day (its end if the exchange is closed), if the answer was made after it."""
    undated = contract.NO_DATE.reason
    place = _pages.place(record, run, named_by="execution_date", dated_by="execution_date", undated=undated)
    session_day = session(dating.day(record["execution_date"])) if place.available_at is not None else None
    if session_day is not None:
        place = dated(place.evidence, session_day.close)
    if run.fetched_at is not None and place.available_at is not None and place.available_at > run.fetched_at:
        return Place(place.evidence, day=place.day, reason=shared.FUTURE.reason)  # The split may still be cancelled.
    return place


def values(record: Record) -> dict[str, Any]:
    return parsed({"split_id": record.get("id")}, {"split_id": fields.word}) | {
        "ticker": _pages.parse_required(fields.word, record.get("ticker"), shared.NO_TICKER.reason),
        "execution_date": dating.day(record["execution_date"]),
        "split_from": _side(record.get("split_from")),
        "split_to": _side(record.get("split_to")),
    }


def _side(value: Any) -> float:
    parsed_value: float = _pages.parse_required(fields.number, value, contract.NO_RATIO.reason)
    if parsed_value <= 0:
        raise RecordRefused(contract.NO_RATIO.reason)
    return parsed_value


def likeness(row: Values, other: Values) -> int:
    """Compare by day and ratio. A record that is missing from its day may have moved to a day nearby."""
    near = abs(row["execution_date"] - other["execution_date"]) <= _pages.MOVED_AT_MOST
    same_ratio = all(row[name] == other[name] for name in ("split_from", "split_to"))
    return 1 + 4 * (row["execution_date"] == other["execution_date"]) + 2 * same_ratio if near else 0


FEED = _pages.ticker_feed(
    DATASET,
    {_pages.OLDER: "/v3/reference/splits", _pages.NEWER: "/stocks/v1/splits"},
    "execution_date",
    "split_id",
    key={"ticker": fields.word, "execution_date": dating.day, "split_from": fields.number, "split_to": fields.number},
    likeness=likeness,
    order=lambda row: (row["execution_date"], row["split_from"], row["split_to"], row["split_id"] or ""),
    example=Scope(tickers=("QBRY",)),
    locate=locate,
    values=values,
)
