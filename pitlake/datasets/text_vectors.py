"""Contract of dataset `text_vectors`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

KINDS = ("news", "benzinga_news", "qa_exchange", "call_transcripts", "research_note")
NO_WORDS = GapRule("no words", "the text has no word that the model knows", type="no_data")

DATASET = Dataset(
    name="text_vectors",
    title="Vectors of texts",
    summary=(
        "Vectors of texts by the lake's own model, one row per revision of an article, an exchange or a speaker's turn "
        "in a call, or a research note. They allow nearest-neighbour search in addition to the graph's `embeddings`."
    ),
    availability=(
        "The instant and the source tag of the revision from which the vector was made. The model was trained later "
        "than many of the texts, so even a vector as of an early instant reflects later knowledge of the language."
    ),
    columns=(
        Column("kind", "string", "Dataset of the text.", required=True, values=KINDS, strict=True),
        Column(
            "id",
            "string",
            (
                "`news.id` or `benzinga_news.id`; the id of a call, `_qa__` and the position in it; or "
                "`research_notes.note`."
            ),
            required=True,
        ),
        Column("ticker", "string", "Ticker of the company, as in the text's dataset."),
        Column("model", "string", "Name of the model; compare only vectors of the same model.", required=True),
        Column("vector", "vector", "The vector, of length 1.", required=True),
    ),
    key=("kind", "id", "model"),
    revised_at="available_at",
    entity="ticker",
    knowable=dict.fromkeys(("id", "ticker", "vector"), "hindsight"),
    source_tag="neo4j_created",
    other_tags=("provider_metadata",),
    gap_rules=(NO_WORDS, shared.FUTURE),
    group="derived",
)
