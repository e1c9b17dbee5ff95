"""Contract of dataset `polygon_dividends`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

NO_DECLARATION = GapRule(
    type="unverifiable",
    reason="no declaration date",
    when="the dividend has no readable or plausible declaration date, so nothing dates it",
)
NO_EX_DATE = GapRule(type="unverifiable", reason="no ex-date", when="the ex-date is absent or unreadable")
NO_AMOUNT = GapRule(type="unverifiable", reason="no amount", when="the amount is absent, negative or no number")

DATASET = Dataset(
    name="polygon_dividends",
    title="Cash dividends of Polygon (Massive)",
    summary=(
        "Declared cash dividends with exact amounts. Ex, record and pay dates are known by declaration. "
        "Distributions in kind are not known."
    ),
    availability=(
        "The END of the declaration day in New York: at most a day late, and never early if the stated day is right. "
        "A dividend without a declaration date is a gap. If the source does not state the amount as paid, and no poll "
        "of the company's splits proves that no split restated it, the fetch time counts instead."
    ),
    columns=(
        Column(name="ticker", type="string", required=True, meaning="Ticker of the paying company."),
        Column(name="ex_dividend_date", type="date", required=True, meaning="First day without the dividend."),
        Column(
            name="dividend_type",
            type="string",
            required=True,
            meaning="CD regular, SC special, LT or ST capital gains; UNKNOWN where it is not stated.",
            values=("CD", "SC", "LT", "ST", "UNKNOWN"),
        ),
        Column(
            name="ordinal",
            type="int",
            required=True,
            meaning=(
                "Number of the dividend within the ticker, in the order of ex-dates when first seen. It never "
                "changes, even if the dividend is corrected."
            ),
            minimum=0,
            strict=True,
        ),
        Column(name="declaration_date", type="date", required=True, meaning="Day of declaration."),
        Column(name="record_date", type="date", meaning="Day holders are recorded."),
        Column(name="pay_date", type="date", meaning="Day of payment."),
        Column(
            name="cash_amount",
            type="float",
            unit="per share, in `currency`",
            required=True,
            meaning="As the source stated it when fetched: as paid, or restated by the splits until then.",
            minimum=0,
            strict=True,
        ),
        Column(
            name="cash_amount_text",
            type="string",
            required=True,
            meaning="The amount with exactly the digits stated.",
        ),
        Column(
            name="currency",
            type="string",
            meaning="Currency of the amount; null if it is not stated.",
            pattern="[A-Z]{3}",
        ),
        Column(
            name="frequency",
            type="int",
            unit="per year",
            meaning="Payments per year; 0 for a single payment.",
            minimum=0,
        ),
        Column(name="dividend_id", type="string", meaning="The source's id; older answers have none."),
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
    partitioned=False,
    freshness=timedelta(days=120),
)
