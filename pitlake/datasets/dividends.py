"""Contract of dataset `dividends`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NO_AMOUNT = GapRule("amount is missing or zero", "the amount failed to parse upstream")
OTHER_DATE = GapRule("declaration date differs from its date node", "the two disagree")

TWO_NODES = GapRule(
    "two contents of one dividend",
    "another node of the company, day and kind has different content, and the node with the greater id is used",
)

DATASET = Dataset(
    name="dividends",
    title="Cash dividends",
    summary=(
        "Declared cash dividends. Ex, record and pay dates fall after the declaration, which announces them. "
        "Distributions in kind are not known."
    ),
    # The graph does not say when it loaded an amount, so an earlier split may have restated it.
    availability=(
        "The end of the declaration day (the linked Date) in New York. A dividend that is first seen when the "
        "graph or the lake has a later split is not public before that split. Dividends on a holiday or without a "
        "linked Date become gaps."
    ),
    columns=(
        shared.LINKED_CIK,
        Column("ticker", "string", "Ticker of the paying company.", required=True),
        Column("declaration_date", "date", "Day of declaration, New York.", required=True),
        Column(
            "dividend_type",
            "string",
            "Regular, Special, LongTermGain, ShortTermGain or UNKNOWN.",
            required=True,
            values=("Regular", "Special", "LongTermGain", "ShortTermGain", "UNKNOWN"),
        ),
        Column("ex_dividend_date", "date", "First day without the right to the dividend."),
        Column("record_date", "date", "Day on which holders are recorded."),
        Column("pay_date", "date", "Day of payment."),
        Column(
            "cash_amount",
            "float",
            "Amount as the graph keeps it: rounded to 3 decimals when it was stored.",
            unit="per share, in `currency`",
        ),
        Column("currency", "string", "Currency of the amount.", pattern="[A-Z]{3}"),
        Column("frequency", "string", "Quarterly, Monthly, Annual and so on."),
        Column(
            "dividend_id",
            "string",
            (
                "Id of the node without the amount, and with the CIK instead of the ticker if exactly one company is "
                "linked."
            ),
            required=True,
        ),
    ),
    key=("dividend_id",),
    entity="ticker",
    follows=(("cik", "splits", "{cik}"), ("ticker", "splits", "{ticker}"), ("ticker", "polygon_splits", "{ticker}")),
    knowable=dict.fromkeys(("ticker", "dividend_id"), "hindsight"),
    rules=("cash_amount > 0",),
    source_tag="time_series_timestamp",
    gap_rules=(
        shared.NO_TICKER,
        shared.NO_DATE,
        OTHER_DATE,
        shared.NO_CLOSE,
        shared.STRAY_CLOSE,
        NO_AMOUNT,
        TWO_NODES,
        shared.FUTURE,
        *shared.unreadable("declaration_date", "ex_dividend_date", "record_date", "pay_date"),
    ),
)
