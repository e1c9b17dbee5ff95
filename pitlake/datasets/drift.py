"""Contract of dataset `drift`."""

from pitlake.contract import Column, Dataset
from pitlake.datasets import _shared as shared

WHOLE_RECORD = "*"

DATASET = Dataset(
    name="drift",
    title="How providers rewrite the past",
    summary=(
        "For each field of earlier captured records, the number of values that differ today from the first capture. "
        "Questions as of an instant still show the first-seen values."
    ),
    availability="When it was measured.",
    columns=(
        Column("source", "string", "Provider that was queried again.", required=True),
        Column("dataset", "string", "Dataset of its records.", required=True),
        Column(
            "field",
            "string",
            f"Column that was compared; `{WHOLE_RECORD}` counts records that no longer become rows.",
            required=True,
        ),
        Column("measured_at", "instant", "When the provider was queried again.", required=True),
        Column("compared", "int", "Values that could be compared.", required=True, minimum=1, strict=True),
        Column("changed", "int", "Values that differ today.", required=True, minimum=0, strict=True),
        Column("share", "float", "Changed / compared.", required=True, minimum=0, maximum=1, strict=True),
        Column("low", "float", "Lower end of the 95 % Wilson interval of the share.", required=True),
        Column("high", "float", "Upper end of the 95 % Wilson interval of the share.", required=True),
    ),
    key=("dataset", "field"),
    identity=("dataset", "field", "measured_at"),
    entity="dataset",
    knowable=dict.fromkeys(("share", "low", "high", "changed", "compared", "measured_at"), "lake"),
    rules=("changed <= compared", "low <= high"),
    source_tag="provider_metadata",
    gap_rules=(shared.FUTURE,),
    warnings=("drifted",),
    group="derived",
    cites="the measurement: dataset, field and instant",
)
