"""Dataset `embeddings`: the vectors on News and QAExchange nodes, dated as the texts they embed."""

from typing import Any

from assets.extraction import Contest, Extractor, Place, Record, RunFacts
from assets.graph import _calls, news, qa_exchanges, texts
from pitlake.datasets.embeddings import DATASET
from pitlake.errors import RecordRefused, Unreadable

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
RETURN 'qa_exchange' AS kind, p.embedding AS vector, p.id AS node, p.sequence AS sequence,
{_calls.CALL_FIELDS}"""

ORPHANS = """
MATCH (p:QAExchange)
WHERE p.embedding IS NOT NULL AND NOT EXISTS { (:Transcript)-[:HAS_QA_EXCHANGE]->(p) }
RETURN 'qa_exchange' AS kind, p.id AS node
"""


LARGEST_FLOAT32 = 3.4e38


def locate(record: Record, run: RunFacts) -> Place:
    """Where the embedded text belongs."""
    if record["kind"] == "news":
        return news.locate(record, run)
    return _calls.place_call(record, run, f"neo4j:QAExchange:{record['node']}")


def values(record: Record) -> dict[str, Any]:
    """The text's id in its dataset, and the vector."""
    try:
        found = vector(record["vector"])
    except Unreadable:
        raise RecordRefused("vector is unreadable") from None
    if record["kind"] == "news":
        tickers = filter(None, map(texts.word, record["tickers"] or ()))
        named = {"id": record["id"], "ticker": min(tickers, default=None)}
    else:
        named = exchange(record)
    return {"kind": record["kind"], **named, "vector": found}


def exchange(record: Record) -> dict[str, Any]:
    """The id an exchange has in `qa_exchanges`, whatever the node is called."""
    try:
        sequence = qa_exchanges.sequence(record["sequence"])
    except Unreadable:
        raise RecordRefused("sequence is unreadable") from None
    call = _calls.call_values(record)
    return {"id": f"{call['transcript_id']}_qa__{sequence}", "ticker": call["ticker"]}


def vector(value: Any) -> list[float]:
    """A list of finite numbers that has a direction: not all of them are 0, or no angle to it could be told."""
    if not isinstance(value, list) or not all(_is_finite(number) for number in value) or not any(value):
        raise Unreadable("no vector")
    return [float(number) for number in value]


def _is_finite(number: Any) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and abs(number) <= LARGEST_FLOAT32


EXTRACTOR = Extractor(
    dataset=DATASET,
    windows=(NEWS_WINDOW, _calls.CALL_WINDOW + EXCHANGES),
    sweeps=(NEWS_UNDATED, _calls.UNDATED_CALL + EXCHANGES, ORPHANS),
    locate=locate,
    values=values,
    contest=Contest(
        group=DATASET.key,
        contender=lambda record: str(record.get("call_node") or record.get("id")),
        rank=lambda record: _calls.RICHER_CALL.rank(record) if record["kind"] == "qa_exchange" else (0, 0),
        reason=_calls.RICHER_CALL.reason,
    ),
    trail=_calls.LONGEST_LAG_DAYS,
    batch=250,
)
