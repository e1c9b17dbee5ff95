"""Contract of dataset `model_registry`."""

from pitlake.contract import Column, Dataset
from pitlake.datasets import _answers as answers
from pitlake.datasets import _drops as drops
from pitlake.datasets import _shared as shared

DATASET = Dataset(
    name="model_registry",
    title="Language models",
    summary=(
        "Release day and knowledge cutoff of language models. They show which facts a model may have known when it "
        "made a decision. Loaded from dropped CSV files; a model that is not listed counts as knowing everything."
    ),
    availability=drops.RECEIVED,
    columns=(
        Column(name="model", type="string", required=True, meaning="Id of the model in requests."),
        Column(name="provider", type="string", meaning="Who makes it."),
        Column(name="released", type="date", meaning="Day it was released."),
        Column(
            name="knowledge_cutoff",
            type="date",
            meaning=(
                "Last day of its training data; a month counts as its last day. Null if its maker does not state it."
            ),
        ),
        Column(name="source", type="string", required=True, meaning="Address of the page that states this."),
    ),
    key=("model",),
    entity="model",
    source_tag="provider_metadata",
    gap_rules=(
        drops.UNFINISHED,
        answers.OTHER_SHAPE,
        drops.CONTRADICTED,
        shared.FUTURE,
        *shared.unreadable("model", "released", "knowledge_cutoff", "source"),
    ),
    group="drops",
    partitioned=False,
)
