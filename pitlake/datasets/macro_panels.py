"""Contract of dataset `macro_panels`."""

from datetime import date

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _answers as answers
from pitlake.datasets import _shared as shared

NO_NAME = GapRule("file names no vintage", "the file's name contains no year and month")

DATASET = Dataset(
    name="macro_panels",
    title="Macroeconomic panel",
    summary="The FRED-MD monthly panel, one row per month and series; each file is one vintage of the whole panel.",
    availability=(
        "The file's Last-Modified, which dates its current content. The fetch time is used if there is no "
        "Last-Modified, or one before the month in the file's name. The month in the file's name has no other use."
    ),
    columns=(
        Column("series", "string", "Name of the series in the panel.", required=True),
        Column("observation_date", "date", "First day of the observed month.", required=True),
        Column(
            "vintage",
            "string",
            "Month in the file's name, YYYY-MM.",
            required=True,
            pattern="[0-9]{4}-[0-9]{2}",
            strict=True,
        ),
        Column("value", "float", "The value, untransformed.", required=True, unit="the series' own"),
        Column(
            "transformation",
            "int",
            "The panel's code, 1 to 7, for the transformation that makes the series stationary.",
            minimum=1,
            maximum=7,
        ),
    ),
    key=("series", "observation_date"),
    identity=("series", "observation_date", "vintage"),
    tiebreak=("vintage",),
    newer_by=("vintage",),
    entity="series",
    source_tag="provider_metadata",
    gap_rules=(NO_NAME, answers.OTHER_SHAPE, shared.FUTURE, *shared.unreadable("observation_date", "value")),
    group="external",
    first_day=date(1959, 1, 1),
)
