"""Derives `text_vectors`: computes the missing vectors of text revisions in the lake, each dated like its text.

It is a pure function of one lake version. pitlake.questions.embedding selects the model.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa

from assets.runs import RunReport, concluded
from pitlake import clock
from pitlake.datasets.text_vectors import DATASET, NO_WORDS
from pitlake.errors import LakeNotFound
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.audit import Audit
from pitlake.lake.publishing.stage import StagedGap, staged_schema
from pitlake.lake.storage.manifest import Snapshot
from pitlake.lake.tables.query import calculator, reading
from pitlake.questions.embedding import MODEL, own

BATCH, CHARACTERS = 2000, 4000


class Texts(NamedTuple):
    """SQL for the texts of a kind: their dataset, id, ticker and text. rows: selects one row per text."""

    dataset: str
    id: str
    ticker: str
    text: str
    rows: str = "{rows}"


# Articles are embedded by headline and teaser, because the words of the body would outweigh those of the headline.
_ARTICLE = "coalesce(nullif(concat_ws('. ', title, teaser), ''), body)"
TEXTS = {
    "news": Texts("news", "id", "ticker", _ARTICLE),
    "benzinga_news": Texts("benzinga_news", "id", "ticker", _ARTICLE),
    "qa_exchange": Texts(
        "qa_exchanges",
        "transcript_id || '_qa__' || sequence",
        "ticker",
        "array_to_string(json_extract_string(exchanges, '$[*].text'), ' ')",
    ),
    "call_transcripts": Texts(
        "call_transcripts",
        "exchange || ':' || ticker || ' ' || fiscal_year || 'Q' || fiscal_quarter || '_qa__' || sequence",
        "ticker",
        "part",
        "(SELECT *, unnest(parts) AS part, generate_subscripts(parts, 1) - 1 AS sequence FROM (SELECT *, CASE "
        "WHEN turn_count > 0 THEN json_extract_string(turns, '$[*].text') ELSE [text] END AS parts FROM {rows}))",
    ),
    "research_note": Texts("research_notes", "note", "NULL", "concat_ws('. ', title, text)"),
}
READS = tuple(texts.dataset for texts in TEXTS.values())
NEW = """
SELECT id, ticker, available_at, available_at_source, evidence, text
FROM (
    SELECT {name} AS id, {ticker}::VARCHAR AS ticker, available_at, available_at_source, evidence, content_hash,
        left(trim({text}), {characters}) AS text
    FROM {rows}
    WHERE available_at <= $observed
    QUALIFY row_number() OVER (PARTITION BY {name}, available_at ORDER BY content_hash DESC) = 1
)
ANTI JOIN ({known}) USING (id, available_at)
WHERE text <> ''
ORDER BY id, available_at"""
KNOWN = "SELECT id, available_at FROM {rows} WHERE kind = '{kind}' AND model = '{model}'"
NONE = "SELECT NULL::VARCHAR AS id, NULL::TIMESTAMPTZ AS available_at WHERE false"

Model = Callable[[str], Sequence[float]]


def derive(
    lake: Lake,
    *,
    run_id: str,
    observed_at: datetime | None = None,
    audits: Sequence[Audit] = (),
    model: Model = own,
    name: str = MODEL,
) -> RunReport:
    """Compute the vectors that the lake's newest version lacks, and publish them as one commit, or nothing.

    model, name: the function that computes the vector of a text, and the model's name. audits: checks in addition
    to the lake's own audit. Raises LakeError.
    """
    try:
        snapshot = lake.snapshot()
    except LakeNotFound:
        snapshot = Snapshot(0)
    moment = observed_at or clock.now()
    with lake.stage(DATASET, run_id) as stage:

        def fill() -> None:
            for kind in TEXTS:
                for texts in missing(snapshot, kind, name, moment):
                    rows, gaps = [], []
                    for text in texts:
                        vector = list(model(text["text"]))
                        if any(vector):
                            row = {key: value for key, value in text.items() if key != "text"}
                            rows.append({**row, "kind": kind, "model": name, "vector": vector})
                        else:
                            gaps.append(
                                StagedGap(NO_WORDS.type, NO_WORDS.reason, text["evidence"], text["available_at"])
                            )
                    stage.add(None, pa.Table.from_pylist(rows, staged_schema(DATASET)), gaps, extracted=len(texts))

        return concluded(stage, lake, fill, lambda: moment, audits)


def missing(snapshot: Snapshot, kind: str, model: str, until: datetime) -> Iterator[list[Mapping[str, Any]]]:
    """Yield batches of text revisions that were public by an instant and have no vector of a model yet."""
    texts = TEXTS[kind]
    files, had = snapshot.files(texts.dataset), snapshot.files(DATASET.name)
    if not files:
        return
    snapshot.fetch([*files, *had])
    existing = KNOWN.format(rows=reading(had), kind=kind, model=model) if had else NONE
    rows = texts.rows.format(rows=reading(files))
    query = NEW.format(
        name=texts.id, ticker=texts.ticker, text=texts.text, rows=rows, known=existing, characters=CHARACTERS
    )
    with calculator() as sql:
        new_texts = sql.sql(query, params={"observed": until}).to_arrow_table()
    for batch in new_texts.to_batches(max_chunksize=BATCH):
        yield batch.to_pylist()
