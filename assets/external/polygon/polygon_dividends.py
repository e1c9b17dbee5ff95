"""Dataset `polygon_dividends`: exact cash dividends, dated by the end of their declaration day, or by the fetch if a
split may have followed, because Polygon has restated amounts after splits.

options: version, v3 (default) or v1. Answers of version 1 state amounts both as paid and as restated after splits.
"""

from typing import Any

from assets.external.polygon import _pages
from assets.extraction import Place, Record, RunFacts, dated, parsed
from assets.feeds import dating, fields
from assets.feeds.feed import Scope
from assets.feeds.naming import Values
from assets.splits import EVIDENCE, per_share_since
from pitlake.datasets import _shared as shared
from pitlake.datasets import polygon_dividends as contract
from pitlake.datasets.polygon_dividends import DATASET
from pitlake.errors import RecordRefused

UNKNOWN = "UNKNOWN"
RESTATED = "split_adjusted_cash_amount"
KINDS = {"recurring": "CD", "special": "SC", "supplemental": "SC", "irregular": UNKNOWN, "unknown": UNKNOWN}

PARSERS = {
    "record_date": fields.day,
    "pay_date": fields.day,
    "frequency": lambda value: None if value is None else fields.whole(value),
    "currency": fields.word,
    "dividend_type": lambda value: KINDS.get(fields.word(value) or "", fields.word(value)) or UNKNOWN,
    "dividend_id": fields.word,
}


def locate(record: Record, run: RunFacts) -> Place:
    """Return the end of the declaration day, or the fetch time if a split may have restated the amount since."""
    undated = contract.NO_DECLARATION.reason
    place = _pages.place(record, run, named_by="ex_dividend_date", dated_by="declaration_date", undated=undated)
    if place.available_at is None or record.get(RESTATED) is not None:
        return place
    return dated(place.evidence, per_share_since(str(record.get("ticker")), place.available_at, run))


def values(record: Record) -> dict[str, Any]:
    ticker = _pages.parse_required(fields.word, record.get("ticker"), shared.NO_TICKER.reason)
    amount = _pages.parse_required(fields.number, record.get("cash_amount"), contract.NO_AMOUNT.reason)
    if amount < 0:
        raise RecordRefused(contract.NO_AMOUNT.reason)
    kind = record.get("distribution_type", record.get("dividend_type"))
    return parsed({**record, "dividend_id": record.get("id"), "dividend_type": kind}, PARSERS) | {
        "ticker": ticker,
        "declaration_date": dating.day(record["declaration_date"]),
        "ex_dividend_date": _pages.parse_required(
            fields.day, record.get("ex_dividend_date"), contract.NO_EX_DATE.reason
        ),
        "cash_amount": amount,
        "cash_amount_text": str(record["cash_amount"]),
    }


def likeness(row: Values, other: Values) -> int:
    """Compare by day, amount, declaration and kind.

    If a record is missing from its day, a record a few days earlier or later may be its replacement.
    """
    same = [row[name] == other[name] for name in WEIGHTS]
    near = abs(row["ex_dividend_date"] - other["ex_dividend_date"]) <= _pages.MOVED_AT_MOST
    alike = same[0] or row["cash_amount"] == other["cash_amount"] or row["dividend_type"] == other["dividend_type"]
    return (
        1 + sum(weight for equal, weight in zip(same, WEIGHTS.values(), strict=True) if equal) if near and alike else 0
    )


WEIGHTS = {
    "ex_dividend_date": 64,
    "cash_amount": 32,
    "declaration_date": 16,
    "pay_date": 8,
    "record_date": 4,
    "dividend_type": 2,
}
FEED = _pages.ticker_feed(
    DATASET,
    {_pages.OLDER: "/v3/reference/dividends", _pages.NEWER: "/stocks/v1/dividends"},
    "ex_dividend_date",
    "dividend_id",
    key={
        "ticker": fields.word,
        "ex_dividend_date": fields.day,
        "dividend_type": fields.word,
        "declaration_date": dating.day,
        "cash_amount": fields.number,
    },
    likeness=likeness,
    order=lambda row: (row["ex_dividend_date"], row["declaration_date"], row["cash_amount"], row["dividend_id"] or ""),
    example=Scope(tickers=("QAU",)),
    locate=locate,
    values=values,
    after=EVIDENCE,
)
