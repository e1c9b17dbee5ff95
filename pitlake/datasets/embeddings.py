"""Contract of dataset `embeddings`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared
from pitlake.datasets import news
from pitlake.datasets.transcripts import PART_GAPS

OTHER_TEXT = GapRule(
    "its text is not in the lake yet",
    "the text seen with the vector is not the lake's newest revision, so the vector has no date",
)

DATASET = Dataset(
    name="embeddings",
    title="Embeddings of articles and of exchanges in calls",
    summary="The graph's stored vectors, for nearest-neighbour search. Compare only vectors of the same length.",
    availability=(
        "When the embedded text in `news` or `qa_exchanges` became public, never before that text's newest revision in "
        "the lake. A vector of a different text stays a gap until the lake has that text. The model was trained later "
        "than many of the texts, so even a vector as of an early instant reflects later knowledge of the language."
    ),
    columns=(
        Column("kind", "string", "news or qa_exchange.", required=True, values=("news", "qa_exchange"), strict=True),
        Column(
            "id",
            "string",
            "`news.id`, or `qa_exchanges.transcript_id`, `_qa__` and `qa_exchanges.sequence`.",
            required=True,
        ),
        Column("ticker", "string", "Ticker of the company, as in the text's dataset."),
        Column("vector", "vector", "The embedding.", required=True),
    ),
    key=("kind", "id"),
    follows=(("id", "news", "{id}"), ("id", "qa_exchanges", "{transcript_id}_qa__{sequence}")),
    entity="ticker",
    alike=("kind",),
    knowable=dict.fromkeys(("id", "ticker", "vector"), "hindsight"),
    source_tag="neo4j_created",
    gap_rules=(
        news.NO_CREATED,
        news.BAD_UPDATED,
        news.NOT_NEWS,
        news.NO_TEXT,
        OTHER_TEXT,
        *PART_GAPS,
        *shared.unreadable("sequence", "vector"),
    ),
)
