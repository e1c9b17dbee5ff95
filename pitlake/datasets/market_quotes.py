"""Contract of dataset `market_quotes`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _answers as answers
from pitlake.datasets import _drops as drops
from pitlake.datasets import _shared as shared

KINDS = ("curve", "fx", "future", "vol", "spread", "commodity", "index")
OUTRIGHT = "outright"
AHEAD = GapRule(
    "quoted for a day after its receipt",
    "the quote is for a later New York day than the one on which its file was received, so it is not used",
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
        Column("kind", "string", "Kind of quote.", required=True, values=KINDS, strict=True),
        Column("instrument", "string", "Name of the instrument, such as USD-SOFR or EURUSD.", required=True),
        Column("tenor", "string", "Maturity, such as 10Y or 2024-12; otherwise spot.", required=True),
        Column(
            "point",
            "string",
            "Point of a surface: a strike, or a delta such as 25P; otherwise outright.",
            required=True,
        ),
        Column("measure", "string", "Kind of the number, such as par_rate or mid.", required=True),
        Column("quoted_on", "date", "Business day of the quote; not its availability.", required=True),
        Column("value", "float", "The number.", required=True, unit="as `unit` says"),
        Column("unit", "string", "Unit of the number, such as percent, as given in the file."),
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
)
