"""Contract of dataset `web_syntheses`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _answers as answers
from pitlake.datasets import _shared as shared

NO_ANSWER = GapRule("no prose", "the answer is empty without its <think> blocks", type="no_data")

DATASET = Dataset(
    name="web_syntheses",
    title="Web syntheses",
    summary=(
        "Prose that Perplexity's models wrote in answer to ask, reason and research. It may contain later events and "
        "proves no date, so it is never part of an as-of session."
    ),
    availability="When the answer was fetched; shown only in open mode.",
    columns=(
        Column("answer_id", "string", "The provider's id of the answer.", required=True),
        Column(
            "operation",
            "string",
            "ask, reason or research.",
            required=True,
            values=("ask", "reason", "research"),
            strict=True,
        ),
        Column("query", "string", "The question.", required=True),
        Column("model", "string", "The model that answered."),
        Column("answer", "string", "The prose, without <think> blocks.", required=True),
        Column("citations", "strings", "Addresses the prose cites, in their order.", required=True),
        Column("thoughts_removed", "int", "Number of removed <think> blocks.", required=True),
    ),
    key=("answer_id",),
    entity="operation",
    knowable={**dict.fromkeys(("query", "operation"), "asked"), "thoughts_removed": "lake"},
    source_tag="provider_metadata",
    gap_rules=(NO_ANSWER, answers.OTHER_SHAPE, shared.FUTURE),
    group="external",
    lane=3,
    open_only=True,
)
