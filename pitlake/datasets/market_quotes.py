"""Contract of dataset `market_quotes`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _answers as answers
from pitlake.datasets import _drops as drops
from pitlake.datasets import _shared as shared

KINDS = ("curve", "fx", "future", "vol", "spread", "commodity", "index")
OUTRIGHT = "outright"
AHEAD = GapRule(
    type="unverifiable",
    reason="quoted for a day after its receipt",
    when="the quote is for a later New York day than the one its file was received on, so it does not count",
)

DATASET = Dataset(
    name="market_quotes",
    title="Quotes of a trading desk",
    summary=(
        "CSV files that a trading desk drops: curves, currencies, futures, volatilities, spreads. One row per "
        "instrument, tenor, point, measure and day."
    ),
    availability=drops.RECEIVED,
    columns=(
        Column(name="kind", type="string", required=True, values=KINDS, strict=True, meaning="Kind of quote."),
        Column(
            name="instrument",
            type="string",
            required=True,
            meaning="Name of the instrument, such as USD-SOFR or EURUSD.",
        ),
        Column(
            name="tenor",
            type="string",
            required=True,
            meaning="Maturity, such as 10Y or 2024-12; otherwise spot.",
        ),
        Column(
            name="point",
            type="string",
            required=True,
            meaning="Point of a surface: a strike, or a delta such as 25P; otherwise outright.",
        ),
        Column(name="measure", type="string", required=True, meaning="Kind of the number, such as par_rate or mid."),
        Column(
            name="quoted_on", type="date", required=True, meaning="Business day of the quote; not its availability."
        ),
        Column(name="value", type="float", required=True, unit="as `unit` says", meaning="The number."),
        Column(name="unit", type="string", meaning="Unit of the number, such as percent, as the file states it."),
    ),
    key=("kind", "instrument", "tenor", "point", "measure", "quoted_on"),
    entity="instrument",
    source_tag="provider_metadata",
    gap_rules=(
        AHEAD,
        drops.UNFINISHED,
        answers.OTHER_SHAPE,
        drops.CONTRADICTED,
        shared.FUTURE,
        *shared.unreadable("kind", "instrument", "measure", "quoted_on", "value"),
    ),
    group="drops",
    partitioned=False,
)
