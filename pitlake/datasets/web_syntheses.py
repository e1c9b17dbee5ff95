"""Contract of dataset `web_syntheses`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _answers as answers
from pitlake.datasets import _shared as shared

NO_ANSWER = GapRule(type="no_data", reason="no prose", when="the answer is empty without its <think> blocks")

DATASET = Dataset(
    name="web_syntheses",
    title="Web syntheses",
    summary=(
        "Prose that Perplexity's models wrote in answer to ask, reason and research. It may contain later events and "
        "proves no date, so it is never part of an as-of session."
    ),
    availability="When the answer was fetched; shown only in open mode.",
    columns=(
        Column(name="answer_id", type="string", required=True, meaning="The provider's id of the answer."),
        Column(
            name="operation",
            type="string",
            required=True,
            meaning="ask, reason or research.",
            values=("ask", "reason", "research"),
            strict=True,
        ),
        Column(name="query", type="string", required=True, meaning="The question."),
        Column(name="model", type="string", meaning="The model that answered."),
        Column(name="answer", type="string", required=True, meaning="The prose, without <think> blocks."),
        Column(name="citations", type="strings", required=True, meaning="Addresses the prose cites, in their order."),
        Column(name="thoughts_removed", type="int", required=True, meaning="Number of removed <think> blocks."),
    ),
    key=("answer_id",),
    entity="operation",
    knowable={**dict.fromkeys(("query", "operation"), "asked"), "thoughts_removed": "lake"},
    source_tag="provider_metadata",
    gap_rules=(NO_ANSWER, answers.OTHER_SHAPE, shared.FUTURE),
    group="external",
    lane=3,
    open_only=True,
    partitioned=False,
)
