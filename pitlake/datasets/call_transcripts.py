"""Contract of dataset `call_transcripts`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _earnings as earnings
from pitlake.datasets import _shared as shared

NO_TEXT = GapRule("no text", "the transcript contains no spoken words", type="no_data")

DATASET = Dataset(
    name="call_transcripts",
    title="Transcripts of earnings calls",
    summary=(
        "Transcripts from earningscall.biz, one row per call. A changed text is a new revision, available when it was "
        "observed."
    ),
    availability=earnings.PUBLISHED,
    columns=(
        *earnings.CALL,
        earnings.START,
        Column("stated_start", "string", "The start as stated, with the company's own offset.", proof=True),
        Column("listed_start", "instant", "The latest start in the company's list of calls.", proof=True),
        Column("published", "instant", "When the provider says it published the transcript.", proof=True),
        earnings.FILE_MODIFIED,
        Column("text", "string", "The spoken text, one paragraph per speaker's turn.", required=True),
        Column("turns", "json", "Turns in order: speaker code, name and title if known, and text."),
        Column("turn_count", "int", "Number of turns; 0 if they are not separated.", required=True),
    ),
    key=earnings.KEY,
    entity="ticker",
    knowable={
        **dict.fromkeys(("exchange", "ticker"), "hindsight"),
        **dict.fromkeys(("listed_start", "turn_count"), "lake"),
    },
    source_tag="provider_metadata",
    gap_rules=(NO_TEXT, *earnings.RULES, *shared.unreadable("turns")),
    group="external",
    lane=2,
)
