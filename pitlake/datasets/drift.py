"""Contract of dataset `drift`."""

from pitlake.contract import Column, Dataset
from pitlake.datasets import _shared as shared

WHOLE_RECORD = "*"

DATASET = Dataset(
    name="drift",
    title="How providers rewrite the past",
    summary=(
        "How many values per field of earlier captured records differ today from the first capture. Questions as of "
        "an instant still show the first-seen values."
    ),
    availability="When it was measured.",
    columns=(
        Column(name="source", type="string", required=True, meaning="Provider that was queried again."),
        Column(name="dataset", type="string", required=True, meaning="Dataset of its records."),
        Column(
            name="field",
            type="string",
            required=True,
            meaning=f"Column that was compared; `{WHOLE_RECORD}` counts records that no longer become rows.",
        ),
        Column(name="measured_at", type="instant", required=True, meaning="When the provider was queried again."),
        Column(
            name="compared", type="int", required=True, minimum=1, strict=True, meaning="Values that could be compared."
        ),
        Column(name="changed", type="int", required=True, minimum=0, strict=True, meaning="Values that differ today."),
        Column(
            name="share", type="float", required=True, minimum=0, maximum=1, strict=True, meaning="Changed / compared."
        ),
        Column(name="low", type="float", required=True, meaning="Lower end of the 95 % Wilson interval of the share."),
        Column(name="high", type="float", required=True, meaning="Upper end of the 95 % Wilson interval of the share."),
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
    partitioned=False,
)
