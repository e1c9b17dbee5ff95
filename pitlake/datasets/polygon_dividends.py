"""Contract of dataset `polygon_dividends`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

NO_DECLARATION = GapRule(
    "no declaration date", "the dividend has no readable or plausible declaration date, so it has no date"
)
NO_EX_DATE = GapRule("no ex-date", "the ex-date is absent or unreadable")
NO_AMOUNT = GapRule("no amount", "the amount is absent, negative or no number")

DATASET = Dataset(
    name="polygon_dividends",
    title="Cash dividends of Polygon (Massive)",
    summary=(
        "Declared cash dividends with exact amounts. Ex, record and pay dates are known by declaration. "
        "Distributions in kind are not known."
    ),
    availability=(
        "The end of the declaration day in New York: at most a day late, and never early if the stated day is right. A "
        "dividend without a declaration date becomes a gap. If the source does not give the amount as paid, and no "
        "poll of the company's splits proves that no split restated it, the fetch time is used instead."
    ),
    columns=(
        Column("ticker", "string", "Ticker of the paying company.", required=True),
        Column("ex_dividend_date", "date", "First day without the dividend.", required=True),
        Column(
            "dividend_type",
            "string",
            "CD regular, SC special, LT or ST capital gains; UNKNOWN where it is not stated.",
            required=True,
            values=("CD", "SC", "LT", "ST", "UNKNOWN"),
        ),
        Column(
            "ordinal",
            "int",
            (
                "Number of the dividend within the ticker, in the order of ex-dates when first seen. It never "
                "changes, even if the dividend is corrected."
            ),
            required=True,
            minimum=0,
            strict=True,
        ),
        Column("declaration_date", "date", "Day of declaration.", required=True),
        Column("record_date", "date", "Day holders are recorded."),
        Column("pay_date", "date", "Day of payment."),
        Column(
            "cash_amount",
            "float",
            "As the source stated it when fetched: as paid, or restated by the splits until then.",
            unit="per share, in `currency`",
            required=True,
            minimum=0,
            strict=True,
        ),
        Column("cash_amount_text", "string", "The amount with exactly the digits stated.", required=True),
        Column("currency", "string", "Currency of the amount; null if it is not stated.", pattern="[A-Z]{3}"),
        Column("frequency", "int", "Payments per year; 0 for a single payment.", unit="per year", minimum=0),
        Column("dividend_id", "string", "The source's id; older answers have none."),
    ),
    key=("ticker", "ordinal"),
    entity="ticker",
    knowable={"ticker": "hindsight", "ordinal": "lake"},
    source_tag="provider_metadata",
    gap_rules=(
        shared.FUTURE,
        shared.NO_TICKER,
        NO_DECLARATION,
        NO_EX_DATE,
        NO_AMOUNT,
        figures.OTHER_TICKER,
        figures.TOLD_TWICE,
        figures.MORE_PAGES,
        *shared.unreadable("record_date", "pay_date", "frequency", "currency", "dividend_type", "dividend_id"),
    ),
    group="external",
    lane=2,
    freshness=timedelta(days=120),
)
