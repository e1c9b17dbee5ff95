"""Contract of dataset `qa_exchanges`."""

from pitlake.contract import Column, Dataset
from pitlake.datasets import _shared as shared
from pitlake.datasets.transcripts import PART_GAPS

DATASET = Dataset(
    name="qa_exchanges",
    title="Question-and-answer exchanges of earnings calls",
    summary="One row per exchange between a questioner and management, numbered from 0 within its call.",
    availability="The same instant as the call in `transcripts`.",
    columns=(
        Column("transcript_id", "string", "The call, as in `transcripts`.", required=True),
        Column("ticker", "string", "Ticker of the company.", required=True),
        Column("sequence", "int", "Position in the call, from 0.", required=True, minimum=0),
        Column("questioner", "string", "Who asked."),
        Column("questioner_title", "string", "Employer of the questioner."),
        Column("responders", "string", "Who answered, joined by commas."),
        Column("responder_title", "string", "Titles of those who answered."),
        Column("exchanges", "json", "Questions and answers in order, as a JSON array."),
        Column("conference_datetime", "instant", "Start of the call.", required=True),
    ),
    key=("transcript_id", "sequence"),
    entity="ticker",
    knowable=dict.fromkeys(("transcript_id", "ticker"), "hindsight"),
    source_tag="neo4j_created",
    gap_rules=(*PART_GAPS, *shared.unreadable("sequence", "exchanges")),
)
