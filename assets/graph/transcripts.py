"""Dataset `transcripts`: one row per earnings call, even if the graph has several nodes for it."""

from typing import Any

from assets.extraction import Extractor, Place, Record, RunFacts, parsed
from assets.graph import _calls, texts
from pitlake.datasets.transcripts import DATASET

FIELDS = f"""
RETURN t.company_name AS company_name, t.fiscal_year AS fiscal_year, t.fiscal_quarter AS fiscal_quarter,
       t.calendar_year AS calendar_year, t.calendar_quarter AS calendar_quarter, t.formType AS form_type,
       t.speakers AS speakers,
       [(t)-[:HAS_QA_SECTION]->(q:QuestionAnswer) | q.content] AS qa_sections,
       [(t)-[:HAS_FULL_TEXT]->(f:FullTranscriptText) | f.content] AS full_texts,
{_calls.CALL_FIELDS}"""

PARSERS = {
    "company_name": texts.word,
    "fiscal_year": texts.whole,
    "fiscal_quarter": texts.whole,
    "calendar_year": texts.whole,
    "calendar_quarter": texts.whole,
    "form_type": texts.word,
    "speakers": texts.json_or_text,
}


def locate(record: Record, run: RunFacts) -> Place:
    """Return the call's start plus the publication lag."""
    return _calls.place_call(record, run, texts.node("Transcript", record["call_node"]))


def values(record: Record) -> dict[str, Any]:
    """Return the business columns of a call, with fallback texts if the graph has no exchanges."""
    fallback = {
        "qa_section": min(filter(None, record["qa_sections"] or ()), default=None),
        "full_text": min(filter(None, record["full_texts"] or ()), default=None),
    }
    fallback_values = parsed(fallback, {"qa_section": texts.json_array, "full_text": texts.text})
    return _calls.call_values(record) | parsed(record, PARSERS) | fallback_values


EXTRACTOR = Extractor(
    dataset=DATASET,
    windows=(_calls.CALL_WINDOW + FIELDS,),
    sweeps=(_calls.UNDATED_CALL + FIELDS,),
    locate=locate,
    values=values,
    contest=_calls.RICHER_CALL,
    trail=_calls.LONGEST_LAG_DAYS,
)
