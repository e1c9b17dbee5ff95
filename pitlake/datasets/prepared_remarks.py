"""Contract of dataset `prepared_remarks`."""

from pitlake.contract import Column, Dataset
from pitlake.datasets import _shared as shared
from pitlake.datasets.transcripts import PART_GAPS

DATASET = Dataset(
    name="prepared_remarks",
    title="Prepared remarks of earnings calls",
    summary="The remarks of management before the questions, one row per call.",
    availability="The same instant as that of its call in `transcripts`.",
    columns=(
        Column(name="transcript_id", type="string", required=True, meaning="Id of the call, as in `transcripts`."),
        Column(name="ticker", type="string", required=True, meaning="Ticker of the company."),
        Column(name="content", type="json", meaning="Speaker statements in order, as a JSON array."),
        Column(name="conference_datetime", type="instant", required=True, meaning="Start of the call."),
    ),
    key=("transcript_id",),
    entity="ticker",
    knowable=dict.fromkeys(("transcript_id", "ticker"), "hindsight"),
    source_tag="neo4j_created",
    gap_rules=(*PART_GAPS, *shared.unreadable("content")),
)
