"""Contract of dataset `prepared_remarks`."""

from pitlake.contract import Column, Dataset
from pitlake.datasets import _shared as shared
from pitlake.datasets.transcripts import PART_GAPS

DATASET = Dataset(
    name="prepared_remarks",
    title="Prepared remarks of earnings calls",
    summary="The remarks of management before the questions, one row per call.",
    availability="The same instant as the call in `transcripts`.",
    columns=(
        Column("transcript_id", "string", "Id of the call, as in `transcripts`.", required=True),
        Column("ticker", "string", "Ticker of the company.", required=True),
        Column("content", "json", "Speaker statements in order, as a JSON array."),
        Column("conference_datetime", "instant", "Start of the call.", required=True),
    ),
    key=("transcript_id",),
    entity="ticker",
    knowable=dict.fromkeys(("transcript_id", "ticker"), "hindsight"),
    source_tag="neo4j_created",
    gap_rules=(*PART_GAPS, *shared.unreadable("content")),
)
