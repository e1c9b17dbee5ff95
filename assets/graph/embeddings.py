"""Dataset `embeddings`: the vectors on News and QAExchange nodes, dated like the texts that they embed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from hashlib import sha256
from typing import Any

from assets.extraction import Contest, Extractor, GraphReader, Place, Record, RunFacts
from assets.graph import _calls, news, qa_exchanges, texts
from pitlake.datasets import embeddings as contract
from pitlake.datasets.embeddings import DATASET
from pitlake.errors import LakeNotFound, RecordRefused, Unreadable
from pitlake.lake.lake import Lake
from pitlake.lake.tables.query import calculator, reading

NEWS_FIELDS = f"RETURN 'news' AS kind, n.embedding AS vector, {news.FIELDS}"

NEWS_WINDOW = f"""
MATCH (n:News)
WHERE n.embedding IS NOT NULL
{news.LATEST}WHERE latest >= $lo AND latest < $hi
{NEWS_FIELDS}"""

NEWS_UNDATED = f"""
MATCH (n:News)
WHERE n.embedding IS NOT NULL
  AND (NOT coalesce(n.created =~ $dated, false)
       OR (coalesce(n.updated, '') <> '' AND NOT coalesce(n.updated =~ $dated, false)))
{news.LATEST}{NEWS_FIELDS}"""

EXCHANGES = f"""
MATCH (t)-[:HAS_QA_EXCHANGE]->(p:QAExchange)
WHERE p.embedding IS NOT NULL
RETURN 'qa_exchange' AS kind, p.embedding AS vector, p.id AS node, p.sequence AS sequence, p.exchanges AS exchanges,
{_calls.CALL_FIELDS}"""

ORPHANS = """
MATCH (p:QAExchange)
WHERE p.embedding IS NOT NULL AND NOT EXISTS { (:Transcript)-[:HAS_QA_EXCHANGE]->(p) }
RETURN 'qa_exchange' AS kind, p.id AS node
"""


LARGEST_FLOAT32 = 3.4e38

# The embedded texts by kind: their dataset, the name of a row in it, and the columns of the text.
TEXTS = {
    "news": ("news", "id", ("title", "teaser", "body")),
    "qa_exchange": ("qa_exchanges", "transcript_id || '_qa__' || sequence", ("exchanges",)),
}
NEWEST = """
SELECT {name}, arg_max(sha256(concat_ws(chr(31), {text})), (available_at, content_hash)) FROM {rows}
WHERE available_at <= $observed GROUP BY 1
"""
Digests = Mapping[tuple[str, str], str]


def prepared(_graph: GraphReader, lake: Lake, run: RunFacts, _days: Sequence[date]) -> Extractor:
    """Return the extractor with the lake's newest texts by kind and id. Embedded texts must be among these texts."""
    try:
        snapshot = lake.snapshot()
    except LakeNotFound:
        return replace(EXTRACTOR, prepared=None)
    digests: dict[tuple[str, str], str] = {}
    for kind, (dataset, name, parts) in TEXTS.items():
        files = snapshot.files(dataset)
        if files:
            snapshot.fetch(files)
            text = ", ".join(f"coalesce({part}, '')" for part in parts)
            with calculator() as sql:
                query = NEWEST.format(name=name, text=text, rows=reading(files))
                newest = sql.sql(query, params={"observed": run.observed_at}).fetchall()
            digests |= {(kind, id_): digest for id_, digest in newest}
    return replace(EXTRACTOR, locate=partial(locate, digests=digests), prepared=None)


def _is_another(record: Record, digests: Digests) -> bool:
    """Return whether the lake's text differs from the embedded text."""
    try:
        digest = digests.get((record["kind"], record["id"] if record["kind"] == "news" else exchange(record)["id"]))
    except RecordRefused:
        return False
    parser = texts.text if record["kind"] == "news" else texts.json_array
    parts = (texts.readable(parser, record[part]) or "" for part in TEXTS[record["kind"]][2])
    return digest is not None and digest != sha256("\x1f".join(parts).encode()).hexdigest()


def locate(record: Record, run: RunFacts, digests: Digests) -> Place:
    """Return the availability of the embedded text; a gap if the lake's text differs."""
    if record["kind"] == "news":
        place = news.locate(record, run)
    else:
        place = _calls.place_call(record, run, texts.node("QAExchange", record["node"]))
    if not place.reason and _is_another(record, digests):
        return Place(place.evidence, day=place.day, reason=contract.OTHER_TEXT.reason)
    return place


def values(record: Record) -> dict[str, Any]:
    """Return the text's id in its dataset, and the vector."""
    try:
        embedding = vector(record["vector"])
    except Unreadable:
        raise RecordRefused("vector is unreadable") from None
    if record["kind"] == "news":
        tickers = filter(None, map(texts.word, record["tickers"] or ()))
        facts = {"id": record["id"], "ticker": min(tickers, default=None)}
    else:
        facts = exchange(record)
    return {"kind": record["kind"], **facts, "vector": embedding}


def exchange(record: Record) -> dict[str, Any]:
    """Return the id of an exchange in `qa_exchanges`, which does not depend on the node's id."""
    try:
        sequence = qa_exchanges.sequence(record["sequence"])
    except Unreadable:
        raise RecordRefused("sequence is unreadable") from None
    call = _calls.call_values(record)
    return {"id": f"{call['transcript_id']}_qa__{sequence}", "ticker": call["ticker"]}


def vector(value: Any) -> list[float]:
    """Return a list of finite numbers. Raises Unreadable for others, or if all are 0, which is not a direction."""
    if (
        not isinstance(value, list)
        or not all(
            isinstance(number, int | float) and not isinstance(number, bool) and abs(number) <= LARGEST_FLOAT32
            for number in value
        )
        or not any(value)
    ):
        raise Unreadable("no vector")
    return [float(number) for number in value]


EXTRACTOR = Extractor(
    dataset=DATASET,
    windows=(NEWS_WINDOW, _calls.CALL_WINDOW + EXCHANGES),
    sweeps=(NEWS_UNDATED, _calls.UNDATED_CALL + EXCHANGES, ORPHANS),
    locate=partial(locate, digests={}),
    values=values,
    prepared=prepared,
    after=("news", "qa_exchanges"),
    contest=Contest(
        group=DATASET.key,
        contender=lambda record: str(record.get("call_node") or record.get("id")),
        rank=lambda record: _calls.RICHER_CALL.rank(record) if record["kind"] == "qa_exchange" else (0, 0),
        reason=_calls.RICHER_CALL.reason,
    ),
    trail=_calls.LONGEST_LAG_DAYS,
    batch=250,
)
