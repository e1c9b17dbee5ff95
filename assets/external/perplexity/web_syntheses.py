"""Dataset `web_syntheses`: the prose of chat answers, for open mode only. Pure.

The requests are the same as for web_results, so this dataset can read the same captures.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from assets.external.perplexity import _asking as asking
from assets.extraction import Place, Record, RunFacts, dated
from assets.feeds.feed import Feed, Scope, Unit
from pitlake.datasets import _answers as answers
from pitlake.datasets import web_syntheses as contract
from pitlake.datasets.web_syntheses import DATASET
from pitlake.errors import BadInput
from resources.http.capture import Capture
from resources.http.providers.perplexity import PROVIDER

# A block without an end tag extends to the end of the text, because all later text may belong to it.
_THOUGHT = re.compile(r"<think\b[^<>]*>.*?(?:</think\s*>|\Z)", re.DOTALL | re.IGNORECASE)
# Text before an end tag without a start tag belongs to a block whose start was cut off.
_HEADLESS = re.compile(r"\A.*</think\s*>", re.DOTALL | re.IGNORECASE)


def units(scope: Scope) -> Sequence[Unit]:
    """Return one unit per question. Raises BadInput for a search, whose answer has no prose."""
    if asking.operation(scope) == asking.SEARCH:
        raise BadInput("op", "the result of a search has no prose", f"choose one of {', '.join(asking.MODELS)}")
    return asking.units(scope)


def records(_unit: Unit, captures: Sequence[Capture]) -> Iterator[tuple[Record, Capture]]:
    for capture in captures:
        operation, query = asking.question_of(capture)
        body = capture.json()
        yield {"answer": body, "sha256": capture.sha256, "operation": operation, "query": query}, capture


def without_thoughts(prose: str) -> tuple[str, int]:
    """Return prose without its <think> blocks, and the number of blocks."""
    text, count = _THOUGHT.subn("", prose)
    text, headless = _HEADLESS.subn("", text)
    return text.strip(), count + headless


def _prose(body: Any) -> str | None:
    try:
        content = body["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        return None
    return content if isinstance(content, str) else None


def locate(record: Record, run: RunFacts) -> Place:
    """Return when the answer was fetched, because prose proves no date."""
    prose = _prose(record["answer"])
    if prose is None:
        return Place(run.evidence, reason=answers.OTHER_SHAPE.reason)
    place = dated(run.evidence, run.fetched_at or run.observed_at)
    if not without_thoughts(prose)[0]:
        return Place(run.evidence, place.available_at, place.day, contract.NO_ANSWER.reason)
    return place


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of an answer."""
    body = record["answer"]
    prose, thoughts = without_thoughts(_prose(body) or "")
    cited, model = body.get("citations"), body.get("model")
    return {
        "answer_id": str(body.get("id") or record["sha256"]),
        "operation": record["operation"],
        "query": record["query"],
        "model": model if isinstance(model, str) else None,
        "answer": prose,
        "citations": [citation for citation in cited if isinstance(citation, str)] if isinstance(cited, list) else [],
        "thoughts_removed": thoughts,
    }


FEED = Feed(
    dataset=DATASET,
    provider=PROVIDER,
    example=Scope(queries=("what did phones earn?",), options={"op": "ask"}),
    units=units,
    collect=asking.collect,
    records=records,
    locate=locate,
    values=values,
)
