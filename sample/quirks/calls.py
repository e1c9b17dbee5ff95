"""Oddities of earnings calls: three forms of id, duplicates, exchanges counted from 0, fallbacks, parts without a
call.
"""

from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone

from sample.calendar import at
from sample.companies import ODD, by_ticker
from sample.expectations import Expectation, absent, gap, row
from sample.shapes import Graph, as_json
from sample.transcripts import Call, add_call, add_exchange, add_remarks

_COMPANY = by_ticker(ODD)
_DUPLICATE = "duplicate of another call"


def plant(graph: Graph) -> Iterator[Expectation]:
    """Plant the oddities and yield the expected outcomes."""
    yield from _natural()
    yield from _duplicates(graph)
    yield from _shapes(graph)
    yield from _exchanges(graph)
    yield from _fallbacks(graph)
    yield from _faults(graph)


def _call(day: date, time: str, node_id: str = "", year: int = 2024, quarter: int = 1) -> Call:
    return Call(_COMPANY, at(day, time), year, quarter, node_id)


def _parts(asker: str, question: str = "What of the margin?") -> list[dict[str, str]]:
    return [
        {"role": "question", "speaker": asker, "text": question},
        {"role": "answer", "speaker": "Ada Merriweather", "text": "It held."},
    ]


def _natural() -> Iterator[Expectation]:
    call = "NVDA_2024-05-22T17.00"
    start = datetime(2024, 5, 22, 21, tzinfo=timezone.utc)
    yield row(
        1,
        "a fiscal year with a separator",
        "transcripts",
        {"transcript_id": call},
        {"fiscal_year": 2025, "fiscal_quarter": 1, "calendar_year": 2024, "calendar_quarter": 2},
        "2024-05-23T21:00:00Z",
        f"neo4j:Transcript:{call}",
    )
    yield row(
        17,
        "a call is dated a day after its start",
        "transcripts",
        {"transcript_id": call},
        {"conference_datetime": start},
        "2024-05-23T21:00:00Z",
    )
    yield row(
        17,
        "its remarks too",
        "prepared_remarks",
        {"transcript_id": call},
        {"conference_datetime": start},
        "2024-05-23T21:00:00Z",
        f"neo4j:PreparedRemark:{call}_pr",
    )
    yield gap(
        0,
        "a call has no schedule, so its returns have no window",
        "event_returns",
        f"neo4j:Transcript:{call}/INFLUENCES/Company:0001045810/daily/stock",
        "window end is missing or unreadable",
        None,
    )


def _duplicates(graph: Graph) -> Iterator[Expectation]:
    """Plant a call stated twice with the same content, one stated twice differently, and two calls of the same fiscal
    quarter.
    """
    day = date(2024, 5, 2)
    for node_id in ("", f"{ODD}_2024-05-02T10:00:00-04:00"):
        twin = _call(day, "10:00", node_id)
        add_call(graph, twin)
        add_remarks(graph, twin, ["Ada Merriweather: Good day."])
        add_exchange(graph, twin, 0, _parts("Wen O'Hara"))
    call_id, other = f"{ODD}_2024-05-02T10.00", f"{ODD}_2024-05-02T10:00:00-04:00"
    yield row(
        31,
        "a call stated twice with the same content comes out once",
        "transcripts",
        {"transcript_id": call_id},
        {"ticker": ODD},
        "2024-05-03T14:00:00Z",
        f"neo4j:Transcript:{call_id}",
    )
    yield absent(31, "its twin is the same record seen twice", "transcripts", locator=f"neo4j:Transcript:{other}")
    yield row(
        31,
        "its exchange comes out once",
        "qa_exchanges",
        {"transcript_id": call_id, "sequence": 0},
        {"questioner": "Wen O'Hara"},
        "2024-05-03T14:00:00Z",
    )
    yield row(
        31,
        "its remarks come out once",
        "prepared_remarks",
        {"transcript_id": call_id},
        {"content": ["Ada Merriweather: Good day."]},
        "2024-05-03T14:00:00Z",
    )
    yield from _contested(graph)
    for shared_day in (date(2024, 2, 8), date(2024, 3, 20)):
        call = _call(shared_day, "11:11", year=2023, quarter=4)
        add_call(graph, call)
        yield row(
            31,
            f"calls that share a fiscal quarter are two: {shared_day}",
            "transcripts",
            {"transcript_id": call.key},
            {"fiscal_year": 2023, "fiscal_quarter": 4},
            f"{shared_day + timedelta(days=1)}T{16 if shared_day.month == 2 else 15}:11:00Z",
        )


def _contested(graph: Graph) -> Iterator[Expectation]:
    day, instant = date(2024, 8, 6), "2024-08-07T13:30:00Z"
    poorer, richer = _call(day, "9:30"), _call(day, "9:30", f"{ODD}_2024_3")
    add_call(graph, poorer, company_name="Quillfeather")
    add_call(graph, richer, company_name="Quillfeather & Daughters")
    for sequence in range(2):
        add_exchange(graph, poorer, sequence, _parts("Tom\u00e1s Brandt" if sequence else "Priya Lindqvist"))
    for sequence in range(3):
        add_exchange(graph, richer, sequence, _parts("Priya Lindqvist"))
    key: dict[str, object] = {"transcript_id": poorer.key}
    yield row(
        31,
        "of two versions, the one with more exchanges is used",
        "transcripts",
        key,
        {"company_name": "Quillfeather & Daughters"},
        instant,
        f"neo4j:Transcript:{richer.id}",
    )
    yield gap(31, "the other version is a gap", "transcripts", f"neo4j:Transcript:{poorer.id}", _DUPLICATE, instant)
    yield row(
        31,
        "the exchanges are those of the richer version",
        "qa_exchanges",
        key | {"sequence": 1},
        {"questioner": "Priya Lindqvist"},
        instant,
        f"neo4j:QAExchange:{richer.id}_qa__1",
    )
    yield gap(
        31,
        "an exchange stated differently is a gap",
        "qa_exchanges",
        f"neo4j:QAExchange:{poorer.id}_qa__1",
        _DUPLICATE,
        instant,
    )


def _shapes(graph: Graph) -> Iterator[Expectation]:
    call = _call(date(2023, 8, 3), "8:45", f"{ODD}_2023_2", 2023, 2)
    add_call(graph, call, quarter_key=f"{ODD}_2023_2")
    yield row(
        31,
        "an old id becomes ticker and minute",
        "transcripts",
        {"transcript_id": f"{ODD}_2023-08-03T08.45"},
        {"fiscal_year": 2023},
        "2023-08-04T12:45:00Z",
        f"neo4j:Transcript:{ODD}_2023_2",
    )


def _exchanges(graph: Graph) -> Iterator[Expectation]:
    call = _call(date(2024, 11, 7), "10:15", quarter=3)
    add_call(graph, call)
    for sequence in range(12):
        add_exchange(graph, call, sequence, _parts("Unknown", f"Question {sequence}?"))
    key: dict[str, object] = {"transcript_id": call.key}
    yield row(
        32,
        "the first exchange is number 0",
        "qa_exchanges",
        key | {"sequence": 0},
        {"questioner": "Unknown", "questioner_title": None},
        "2024-11-08T15:15:00Z",
    )
    yield row(
        32,
        "10 is a number, after 2",
        "qa_exchanges",
        key | {"sequence": 10},
        {"responders": "Ada Merriweather", "responder_title": "Chief Executive Officer"},
        "2024-11-08T15:15:00Z",
    )
    yield row(
        46,
        "the words of an exchange are JSON in a string",
        "qa_exchanges",
        key | {"sequence": 3},
        {"exchanges": _parts("Unknown", "Question 3?")},
        "2024-11-08T15:15:00Z",
    )
    bad = add_exchange(graph, call, 12, _parts("Unknown"))
    graph.nodes["QAExchange"][bad]["sequence"] = "twelfth"
    yield gap(
        32,
        "a sequence that is not a number",
        "qa_exchanges",
        f"neo4j:QAExchange:{bad}",
        "sequence is unreadable",
        "2024-11-08T15:15:00Z",
    )


def _fallbacks(graph: Graph) -> Iterator[Expectation]:
    """Plant a call whose exchanges could not be parsed, and one that has only a whole text."""
    unparsed, whole = _call(date(2024, 6, 11), "14:00"), _call(date(2024, 6, 12), "14:00")
    for call in (unparsed, whole):
        add_call(graph, call)
    graph.merged("QuestionAnswer", f"{unparsed.id}_qa", content=as_json(["Operator: We have a question."]))
    graph.edge(("Transcript", "HAS_QA_SECTION", "QuestionAnswer"), unparsed.id, f"{unparsed.id}_qa")
    graph.merged("FullTranscriptText", f"{whole.id}_full", content="Operator: Good day.")
    graph.edge(("Transcript", "HAS_FULL_TEXT", "FullTranscriptText"), whole.id, f"{whole.id}_full")
    yield row(
        46,
        "a question-and-answer part that could not be parsed",
        "transcripts",
        {"transcript_id": unparsed.key},
        {"qa_section": ["Operator: We have a question."], "full_text": None},
        "2024-06-12T18:00:00Z",
    )
    yield row(
        0,
        "a call that has only a whole text",
        "transcripts",
        {"transcript_id": whole.key},
        {"full_text": "Operator: Good day.", "qa_section": None},
        "2024-06-13T18:00:00Z",
    )


def _faults(graph: Graph) -> Iterator[Expectation]:
    blank = _call(date(2024, 6, 13), "14:00")
    add_call(graph, blank, conference_datetime="")
    part = add_exchange(graph, blank, 0, _parts("Unknown"))
    reason = "conference_datetime is missing or unreadable"
    yield gap(13, "a call without a start", "transcripts", f"neo4j:Transcript:{blank.id}", reason, None)
    yield gap(13, "an exchange of a call without a start", "qa_exchanges", f"neo4j:QAExchange:{part}", reason, None)
    nameless = _call(date(2024, 6, 14), "14:00")
    add_call(graph, nameless, symbol="")
    yield gap(
        0,
        "a call without a ticker",
        "transcripts",
        f"neo4j:Transcript:{nameless.id}",
        "no ticker",
        "2024-06-15T18:00:00Z",
    )
    lost = _call(date(2024, 6, 17), "14:00")
    remarks = add_remarks(graph, lost, ["Ada Merriweather: Good day."], linked=False)
    exchange = add_exchange(graph, lost, 0, _parts("Unknown"), linked=False)
    yield gap(
        0, "remarks without a call", "prepared_remarks", f"neo4j:PreparedRemark:{remarks}", "no parent transcript", None
    )
    yield gap(
        0, "an exchange without a call", "qa_exchanges", f"neo4j:QAExchange:{exchange}", "no parent transcript", None
    )
