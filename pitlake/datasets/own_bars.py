"""Contract of dataset `own_bars`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _answers as answers
from pitlake.datasets import _drops as drops
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

NO_DAY = GapRule(type="unverifiable", reason="bar has no readable day", when="the line's date is not a calendar day")

DATASET = Dataset(
    name="own_bars",
    title="Daily bars from a user's own files",
    summary=(
        "Raw daily bars as traded, from a user's files: `pitlake sync --prices`, or a folder of drops. Prices adjusted "
        "for splits reflect later ones; do not load them."
    ),
    availability=(
        "The close of New York's exchange on the bar's day, early closes included. Other "
        "values in a later file are a revision, available when that file was received. "
        f"{figures.BARS_COUNT_FROM}"
    ),
    columns=(
        Column(name="ticker", type="string", required=True, meaning="Ticker as the file spells it, in capitals."),
        Column(name="date", type="date", required=True, meaning="Trading day of the bar, New York."),
        Column(name="open", type="float", unit="USD", required=True, meaning="First price of the day."),
        Column(name="high", type="float", unit="USD", required=True, meaning="Highest price."),
        Column(name="low", type="float", unit="USD", required=True, meaning="Lowest price."),
        Column(name="close", type="float", unit="USD", required=True, meaning="Last price, not adjusted."),
        Column(name="volume", type="int", unit="shares", required=True, meaning="Traded shares."),
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
    partitioned=False,
)
