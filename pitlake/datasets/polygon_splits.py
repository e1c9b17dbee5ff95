"""Contract of dataset `polygon_splits`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

NO_DATE = GapRule("no execution date", "the execution date is absent, unreadable or implausible")
NO_RATIO = GapRule("no ratio", "a side of the ratio is missing, zero or not a number")

DATASET = Dataset(
    name="polygon_splits",
    title="Share splits of Polygon (Massive)",
    summary=(
        "Executed share splits and reverse splits with exact ratios. The source may list one split under two dates "
        "within a week; both are kept."
    ),
    availability=(
        "The market close of the execution day, when the first bar on the new basis is public. If the exchange is "
        "closed that day, the end of the day in New York. The split was announced earlier, but no source says when. A "
        "split that was still in the future when fetched becomes a gap. This is never early: splits are announced "
        "days to months beforehand."
    ),
    columns=(
        Column("ticker", "string", "Ticker of the company.", required=True),
        Column("execution_date", "date", "Day the split takes effect, New York.", required=True),
        Column(
            "ordinal",
            "int",
            "Number of the split within the ticker, in the order of days when first seen. It never changes.",
            required=True,
            minimum=0,
            strict=True,
        ),
        Column("split_from", "float", "Shares before.", required=True, unit="shares"),
        Column("split_to", "float", "Shares after.", required=True, unit="shares"),
        Column("split_id", "string", "The source's id; older answers have none."),
    ),
    key=("ticker", "ordinal"),
    entity="ticker",
    knowable={"ticker": "hindsight", "ordinal": "lake"},
    rules=("split_from > 0", "split_to > 0"),
    source_tag="provider_metadata",
    gap_rules=(
        shared.FUTURE,
        shared.NO_TICKER,
        NO_DATE,
        NO_RATIO,
        figures.OTHER_TICKER,
        figures.TOLD_TWICE,
        figures.MORE_PAGES,
        *shared.unreadable("split_id"),
    ),
    group="external",
    lane=2,
)
