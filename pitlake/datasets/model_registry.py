"""Contract of dataset `model_registry`."""

from pitlake.contract import Column, Dataset
from pitlake.datasets import _answers as answers
from pitlake.datasets import _drops as drops
from pitlake.datasets import _shared as shared

DATASET = Dataset(
    name="model_registry",
    title="Language models",
    summary=(
        "When each language model was released and up to when it knows: what a decision made with it may have known. "
        "Dropped as CSV files; a model that is not here counts as one that knows everything."
    ),
    availability=drops.RECEIVED,
    columns=(
        Column(name="model", type="string", required=True, meaning="Id of the model in requests."),
        Column(name="provider", type="string", meaning="Who makes it."),
        Column(name="released", type="date", meaning="Day it was released."),
        Column(
            name="knowledge_cutoff",
            type="date",
            meaning="Last day it was trained on; a month counts as its last day. Null if its maker does not state it.",
        ),
        Column(name="source", type="string", required=True, meaning="Address of the page that says so."),
    ),
    key=("model",),
    entity="model",
    source_tag="provider_metadata",
    gap_rules=(
        drops.UNFINISHED,
        answers.OTHER_SHAPE,
        answers.REPEATED,
        shared.FUTURE,
        *shared.unreadable("model", "released", "knowledge_cutoff", "source"),
    ),
    group="drops",
    partitioned=False,
)
