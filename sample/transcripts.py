"""Earnings calls: the call, its prepared remarks and its question-and-answer exchanges.

People are invented; titles and firms are generic. The id of a call is its ticker and New York minute.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from sample.companies import Company
from sample.fiscal import figures, position_of
from sample.returns import add_influences, event_returns
from sample.schedule import EARNINGS_ITEMS, filings
from sample.shapes import Graph, as_json, iso_new_york, rng
from sample.texts import embedding, prose

EMBEDDED = frozenset({"QACB", "QBRY", "QYRW"})

_EXECUTIVES = (("Ada Merriweather", "Chief Executive Officer"), ("Jonas Okafor", "Chief Financial Officer"))
_ANALYSTS = (
    ("Priya Lindqvist", "Analyst, Harbor Street Research"),
    ("Tom\u00e1s Brandt", "Analyst, Northlight Securities"),
    ("Wen O'Hara", "Analyst, Fallow & Pike"),
    ("Unknown", None),
)


@dataclass(frozen=True)
class Call:
    """An earnings call. node_id: the graph's id, if it is not made from ticker and minute."""

    company: Company
    start: datetime
    fiscal_year: int
    fiscal_quarter: int
    node_id: str = ""

    @property
    def key(self) -> str:
        """The id of a call: SYMBOL_YYYY-MM-DDTHH.MM in New York time."""
        return f"{self.company.ticker}_{self.start:%Y-%m-%dT%H.%M}"

    @property
    def id(self) -> str:
        return self.node_id or self.key


def calls(company: Company) -> list[Call]:
    """Return a call for every earnings release, an hour later or, if the release is before the open, at 8:30."""
    every_call = []
    for filing in filings(company):
        if filing.items == EARNINGS_ITEMS and filing.quarter:
            start = filing.accepted.replace(minute=0, second=0) + timedelta(hours=1)
            if filing.accepted.hour < 9:
                start = filing.accepted.replace(hour=max(filing.accepted.hour + 1, 8), minute=30, second=0)
            every_call.append(Call(filing.company, start, filing.quarter.fiscal_year, filing.quarter.number))
    return every_call


def add_calls(graph: Graph, company: Company) -> None:
    """Add every call of the company with all its parts."""
    for call in calls(company):
        random = rng("call", call.key.replace(company.ticker, company.seed))
        add_call(graph, call)
        add_remarks(graph, call, opening(call, random))
        for sequence in range(random.randrange(4, 8)):
            add_exchange(graph, call, sequence, exchange(random))


def add_call(graph: Graph, call: Call, **overrides: object) -> str:
    """Add the Transcript node and its edges, without the parts of the call."""
    start, company = iso_new_york(call.start), call.company
    people = dict(_EXECUTIVES) | {name: title for name, title in _ANALYSTS if title}
    properties: dict[str, object] = {
        "symbol": company.ticker,
        "company_name": company.name,
        "formType": f"TRANSCRIPT_Q{call.fiscal_quarter}",
        "conference_datetime": start,
        "fiscal_year": call.fiscal_year,
        "fiscal_quarter": call.fiscal_quarter,
        "calendar_year": call.start.year,
        "calendar_quarter": (call.start.month + 2) // 3,
        "speakers": as_json(people),
        "created": start,
        "updated": iso_new_york(call.start + timedelta(minutes=95)),
    }
    graph.merged("Transcript", call.id, **(properties | overrides))
    graph.edge(("Company", "HAS_TRANSCRIPT", "Transcript"), company.cik, call.id)
    add_influences(graph, "Transcript", call.id, company, start, event_returns(company, call.key, call.start))
    return call.id


def add_remarks(graph: Graph, call: Call, statements: list[str], linked: bool = True) -> str:
    """Add the prepared remarks: a JSON array of statements."""
    node_id = graph.merged("PreparedRemark", f"{call.id}_pr", content=as_json(statements))
    if linked:
        graph.edge(("Transcript", "HAS_PREPARED_REMARKS", "PreparedRemark"), call.id, node_id)
    return node_id


def add_exchange(
    graph: Graph, call: Call, sequence: int, parts: list[dict[str, str]], linked: bool = True, **overrides: object
) -> str:
    """Add one exchange, linked to the previous exchange. parts: questions and answers in turn."""
    node_id = f"{call.id}_qa__{sequence}"
    asker = next(part["speaker"] for part in parts if part["role"] == "question")
    answering = [part["speaker"] for part in parts if part["role"] == "answer"]
    properties: dict[str, object] = {
        "transcript_id": call.id,
        "sequence": sequence,
        "questioner": asker,
        "responders": ", ".join(answering),
        "responder_title": ", ".join(dict(_EXECUTIVES).get(name, "Management") for name in answering),
        "exchanges": as_json(parts),
    }
    title = dict(_ANALYSTS).get(asker)
    if title:
        properties["questioner_title"] = title
    if call.company.ticker in EMBEDDED:
        properties["embedding"] = embedding(" ".join(part["text"] for part in parts))
    graph.merged("QAExchange", node_id, **(properties | overrides))
    if linked:
        graph.edge(("Transcript", "HAS_QA_EXCHANGE", "QAExchange"), call.id, node_id)
    if linked and sequence:
        graph.edge(("QAExchange", "NEXT_EXCHANGE", "QAExchange"), f"{call.id}_qa__{sequence - 1}", node_id)
    return node_id


def opening(call: Call, random: Random) -> list[str]:
    """Return the prepared remarks: the quarter's figures, followed by prose."""
    lines = [f"{_EXECUTIVES[0][0]}: Good day, and welcome to the call of {call.company.name}."]
    fiscal_period = (call.fiscal_year, call.fiscal_quarter)
    quarters = (filing.quarter for filing in filings(call.company) if filing.quarter)
    quarter_end = next((q.end for q in quarters if (q.fiscal_year, q.number) == fiscal_period), None)
    if quarter_end:
        quarter_figures = figures(call.company, position_of(call.company, quarter_end))
        lines.append(f"{_EXECUTIVES[1][0]}: Revenue for the quarter was ${quarter_figures.revenue / 1e6:,.0f} million.")
    return [*lines, f"{_EXECUTIVES[1][0]}: {prose(random, 4)}"]


def exchange(random: Random) -> list[dict[str, str]]:
    """Return a question and one or two answers."""
    asker = random.choice(_ANALYSTS)[0]
    parts = [{"role": "question", "speaker": asker, "text": f"Could you say more? {prose(random, 1)}"}]
    for name, _ in random.sample(_EXECUTIVES, random.randrange(1, 3)):
        parts.append({"role": "answer", "speaker": name, "text": prose(random, 2)})
    return parts
