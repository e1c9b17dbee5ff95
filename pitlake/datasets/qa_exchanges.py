"""Contract of dataset `qa_exchanges`."""

from pitlake.contract import Column, Dataset
from pitlake.datasets import _shared as shared
from pitlake.datasets.transcripts import PART_GAPS

DATASET = Dataset(
    name="qa_exchanges",
    title="Question-and-answer exchanges of earnings calls",
    summary="One row per exchange between a questioner and management, numbered from 0 within its call.",
    availability="The same instant as that of its call in `transcripts`.",
    columns=(
        Column(name="transcript_id", type="string", required=True, meaning="The call, as in `transcripts`."),
        Column(name="ticker", type="string", required=True, meaning="Ticker of the company."),
        Column(name="sequence", type="int", required=True, meaning="Position in the call, from 0.", minimum=0),
        Column(name="questioner", type="string", meaning="Who asked."),
        Column(name="questioner_title", type="string", meaning="Employer of the questioner."),
        Column(name="responders", type="string", meaning="Who answered, joined by commas."),
        Column(name="responder_title", type="string", meaning="Titles of those who answered."),
        Column(name="exchanges", type="json", meaning="Questions and answers in order, as a JSON array."),
        Column(name="conference_datetime", type="instant", required=True, meaning="Start of the call."),
    ),
    key=("transcript_id", "sequence"),
    entity="ticker",
    knowable=dict.fromkeys(("transcript_id", "ticker"), "hindsight"),
    source_tag="neo4j_created",
    gap_rules=(*PART_GAPS, *shared.unreadable("sequence", "exchanges")),
)
