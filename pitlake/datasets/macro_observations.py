"""Contract of dataset `macro_observations`."""

from datetime import date

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _answers as answers
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

NO_VINTAGE = GapRule(type="unverifiable", reason="vintage date is missing", when="realtime_start is not a day")
CLIPPED = GapRule(
    type="unverifiable",
    reason="vintage is clipped by the request",
    when="realtime_start equals the start of the request, so the value may be older",
)
FEWER = GapRule(
    type="upstream_error",
    reason="fewer observations than stated",
    when="the pages of a window of vintages contain fewer observations than they state",
)

DATASET = Dataset(
    name="macro_observations",
    title="Macroeconomic observations",
    summary=(
        "Values of FRED series as archived by ALFRED: every vintage of every observation is a revision. A value that "
        "a vintage withdrew is null, and `withdrawn` is true."
    ),
    availability=(
        "The release's time of day (08:30 New York for GDP, consumer prices and payrolls) if its calendar shows data "
        "on the vintage's day; otherwise the END of that day in New York. The evidence names the rule that was used. "
        "A release delayed "
        "within its day is still dated by the usual time; option `clocks` = none dates every vintage by the END of "
        "its day."
    ),
    columns=(
        Column(name="series_id", type="string", required=True, meaning="Id of the series at FRED, such as GDP."),
        Column(
            name="observation_date",
            type="date",
            required=True,
            meaning="First day of the observed period; never its availability.",
        ),
        Column(name="vintage_date", type="date", required=True, meaning="Day on which this value was published."),
        Column(
            name="value", type="float", unit="the series' own at that vintage", meaning="The value; null if withdrawn."
        ),
        Column(name="value_text", type="string", meaning="The value's digits as published; null if withdrawn."),
        Column(
            name="withdrawn",
            type="bool",
            required=True,
            meaning="Whether this vintage has no value, because it was withdrawn or not measured.",
        ),
    ),
    key=("series_id", "observation_date"),
    identity=("series_id", "observation_date", "vintage_date"),
    thing=("series_id", "observation_date"),
    tiebreak=("vintage_date",),
    newer_by=("vintage_date",),
    entity="series_id",
    knowable={"withdrawn": "lake"},
    source_tag="provider_metadata",
    gap_rules=(
        NO_VINTAGE,
        CLIPPED,
        FEWER,
        figures.TOLD_TWICE,
        answers.OTHER_SHAPE,
        shared.FUTURE,
        *shared.unreadable("observation_date", "value"),
    ),
    group="external",
    partitioned=False,
    first_day=date(1776, 7, 4),
)
