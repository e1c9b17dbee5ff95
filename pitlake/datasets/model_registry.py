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
        "made a decision. Loaded from dropped CSV files; a model that is not listed is assumed to know everything."
    ),
    availability=drops.RECEIVED,
    columns=(
        Column("model", "string", "Id of the model in requests.", required=True),
        Column("provider", "string", "Who makes it."),
        Column("released", "date", "Day it was released."),
        Column(
            "knowledge_cutoff",
            "date",
            ("Last day of its training data; a month means its last day. Null if its maker does not publish it."),
        ),
        Column("source", "string", "Address of the page with these facts.", required=True),
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
)
