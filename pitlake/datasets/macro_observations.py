"""Contract of dataset `macro_observations`."""

from datetime import date

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _answers as answers
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

NO_VINTAGE = GapRule("vintage date is missing", "realtime_start is not a date")
CLIPPED = GapRule(
    "vintage is clipped by the request", "realtime_start is the start of the request, so the value may be older"
)
FEWER = GapRule(
    "fewer observations than stated",
    "the pages of a window of vintages contain fewer observations than they announce",
    type="upstream_error",
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
        "on the vintage's day; otherwise the end of that day in New York. The evidence names the rule that was used. A "
        "release delayed within its day is still dated by the usual time; option `clocks` = none dates every vintage "
        "by the end of its day."
    ),
    columns=(
        Column("series_id", "string", "Id of the series at FRED, such as GDP.", required=True),
        Column("observation_date", "date", "First day of the observed period; never its availability.", required=True),
        Column("vintage_date", "date", "Day on which this value was published.", required=True),
        Column("value", "float", "The value; null if withdrawn.", unit="the series' own at that vintage"),
        Column("value_text", "string", "The value's digits as published; null if withdrawn."),
        Column(
            "withdrawn",
            "bool",
            "Whether this vintage has no value, because it was withdrawn or not measured.",
            required=True,
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
    first_day=date(1776, 7, 4),
)
