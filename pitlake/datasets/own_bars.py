"""Contract of dataset `own_bars`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _answers as answers
from pitlake.datasets import _drops as drops
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

NO_DAY = GapRule("bar has no readable day", "the line's date is not a valid date")

DATASET = Dataset(
    name="own_bars",
    title="Daily bars from a user's own files",
    summary=(
        "Raw daily bars as traded, from a user's files: `pitlake sync --prices`, or a folder of drops. Prices adjusted "
        "for splits reflect later ones; do not load them."
    ),
    availability=(
        "The close of New York's exchange on the bar's day, early closes included. Different values in a later file "
        f"create a revision, available when that file was received. {figures.BARS_COUNT_FROM}"
    ),
    columns=(
        Column("ticker", "string", "Ticker as written in the file, in capitals.", required=True),
        Column("date", "date", "Trading day of the bar, New York.", required=True),
        Column("open", "float", "First price of the day.", unit="USD", required=True),
        Column("high", "float", "Highest price.", unit="USD", required=True),
        Column("low", "float", "Lowest price.", unit="USD", required=True),
        Column("close", "float", "Last price, not adjusted.", unit="USD", required=True),
        Column("volume", "int", "Traded shares.", unit="shares", required=True),
    ),
    key=("ticker", "date"),
    entity="ticker",
    knowable={"ticker": "hindsight"},
    rules=shared.BAR_RULES,
    source_tag="time_series_timestamp",
    gap_rules=(
        NO_DAY,
        figures.NO_SESSION,
        figures.UNFINISHED,
        drops.UNFINISHED,
        answers.OTHER_SHAPE,
        drops.CONTRADICTED,
        shared.FUTURE,
        *shared.unreadable("ticker", "open", "high", "low", "close", "volume"),
    ),
    group="drops",
    lane=2,
)
