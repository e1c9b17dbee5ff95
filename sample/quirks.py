"""Plants the oddities of `quirks.yaml`: every quirk of the source that an extractor can encounter, with its expected
outcome.

A case in that file has a title, patches of the graph (`plant`, each of a kind of `_Planter`), and an outcome: a row, a
gap, absence, or revisions. `at` is the instant of an outcome's availability (default: its observation). `<QFH-301>`
represents the accession number of a planted filing, `<QFH-301 8>` the id of its fact 8. Quirks that are omissions, such
as a missing day or a lost filing, are in the generators; the file states their outcomes.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

import yaml

from pitlake.clock import NEW_YORK, iso
from sample.actions import Dividend, add_dividend, add_split
from sample.companies import NEVER_PRICED, ODD, by_ticker
from sample.expectations import ABSENT, GAP, REVISIONS, ROW, Expectation, Revision
from sample.filings import add_exhibit, add_report, add_section, add_statement, add_whole_text, link_filer
from sample.fiscal import position_of, quarters
from sample.news import Article, add_article
from sample.schedule import Filing, accession
from sample.shapes import Graph, Properties
from sample.transcripts import Call, add_call, add_exchange, add_remarks
from sample.xbrl import Fact, Period, add_context, add_document, add_fact

FILE = Path(__file__).with_suffix(".yaml")
_REFERENCE = re.compile(r"<([A-Z]+-\d+)( \d+)?>")
_ODD_NUMBERS = 900_000
"""The accession numbers of planted filings are above this, so that they never equal a generated number."""
_STORY: Properties = {
    "title": "Quillfeather Opens A Third Shop", "teaser": "A teaser of our own.", "body": "<p>A body of our own.</p>",
}  # fmt: skip
_BAR: Properties = {
    "open": 10.0, "high": 10.5, "low": 9.5, "close": 10.25, "vwap": 10.1, "volume": 1000.5, "transactions": 40.0,
    "daily_return": 0.5,
}  # fmt: skip

Case = dict[str, Any]


@dataclass(frozen=True)
class Change:
    """New properties of one node, which overwrite the old ones."""

    label: str
    name: str
    properties: Properties


@dataclass(frozen=True)
class Evolved:
    """The changes of the graph between two runs: overwritten and added nodes, and outcomes of a second extraction."""

    changes: tuple[Change, ...]
    arrivals: Graph
    expectations: tuple[Expectation, ...]


def plant_all(graph: Graph) -> tuple[Expectation, ...]:
    """Plant all oddities and return the expected outcomes, in order of quirks."""
    return _planted(_Planter(graph))


@cache
def evolved() -> Evolved:
    """Return the changes of the graph between two runs."""
    planter = _Planter(Graph())
    _planted(planter)
    planter.graph, changes, expectations = Graph(), [], []
    for case in _cases()["evolved"]:
        for patch in case.get("plant", ()):
            if "change" in patch:
                changes.append(Change(**planter.resolved(patch["change"])))
            else:
                planter.plant(patch)
        expectations.append(planter.expectation(case))
    return Evolved(tuple(changes), planter.graph, tuple(expectations))


def _planted(planter: "_Planter") -> tuple[Expectation, ...]:
    expectations = []
    for case in _cases()["quirks"]:
        for patch in case.get("plant", ()):
            planter.plant(patch)
        if "case" in case:
            expectations.append(planter.expectation(case))
    return tuple(sorted(expectations, key=lambda outcome: (outcome.quirk, outcome.dataset, outcome.title)))


@cache
def _cases() -> dict[str, list[Case]]:
    loaded: dict[str, list[Case]] = yaml.load(FILE.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    return loaded


class _Planter:
    """Applies patches to a graph, and stores the planted filings, facts and calls by name."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._filings: dict[str, Filing] = {}
        self._facts: dict[str, tuple[str, Filing, Fact]] = {}
        self._calls: dict[str, Call] = {}
        self._kinds: dict[str, Callable[..., object]] = {
            "node": lambda label, name, properties: self.graph.merged(label, name, **properties),
            "edge": self._edge,
            "change": lambda label, name, properties: self.graph.nodes[label][name].update(properties),
            "bar": lambda day, industry, changes: self.graph.edge(
                ("Date", "HAS_PRICE", "Industry"), day.isoformat(), industry, **(_BAR | changes)
            ),
            "filing": self._filing,
            "section": partial(self._content, add_section),
            "exhibit": partial(self._content, add_exhibit),
            "statement": partial(self._content, add_statement),
            "text": lambda filing, **text: add_whole_text(self.graph, self._filings[filing], **text),
            "fact": self._fact,
            "context": self._context,
            "article": self._article,
            "call": self._call,
            "remarks": lambda call, **remarks: add_remarks(self.graph, self._calls[call], **remarks),
            "exchange": self._exchange,
            "dividend": self._dividend,
            "split": self._split,
        }

    def plant(self, patch: dict[str, Case]) -> None:
        """Apply a patch, given as its kind with arguments."""
        [(kind, arguments)] = patch.items()
        self._kinds[kind](**self.resolved(arguments))

    def resolved(self, value: Any) -> Any:
        """Return a value in which references to filings and facts are replaced by ids."""
        if isinstance(value, dict):
            return {name: self.resolved(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.resolved(inner) for inner in value]
        return _REFERENCE.sub(self._id, value) if isinstance(value, str) else value

    def _id(self, name: re.Match[str]) -> str:
        return self._facts[name[0][1:-1]][0] if name[2] else self._filings[name[1]].accession

    def expectation(self, case: Case) -> Expectation:
        """Return the expected outcome of a case."""
        [kind] = [kind for kind in (ROW, GAP, ABSENT, REVISIONS) if kind in case]
        outcome = self.resolved(case[kind])
        revisions = tuple(Revision(each["values"], _iso(each.get("at"))) for each in outcome.pop("revisions", ()))
        more = {"quirk": 0, "gap_type": "unverifiable" if kind == GAP else ""} | outcome
        at = _iso(more.pop("at", None))
        return Expectation(title=case["case"], kind=kind, available_at=at, revisions=revisions, **more)

    def _edge(self, kind: Sequence[str], start: str, end: str, properties: Properties | None = None) -> None:
        first, relation, last = kind
        self.graph.edge((first, relation, last), start, end, **(properties or {}))

    def _filing(
        self, name: str, form: str, at: datetime, parts: Sequence[str] = ("report", "filer"), **more: Any
    ) -> None:
        """Add a filing's parts: its report, the link to its filer, and its XBRL document. more: its items and quarter's
        end, the role of the filer, and properties of report and link.
        """
        ticker, _, number = name.rpartition("-")
        company, accepted, end = by_ticker(ticker), at.astimezone(NEW_YORK), more.get("end")
        quarter = quarters(company)[position_of(company, end)] if end else None
        accession_no = accession(company, accepted.year, _ODD_NUMBERS + int(number))
        filing = Filing(company, form, accepted, quarter, tuple(more.get("items", ())), (), accession_no)
        self._filings[name] = filing
        if "report" in parts:
            add_report(self.graph, filing, **({"xbrl_status": more.get("status", "SKIPPED")} | more.get("changes", {})))
        if "filer" in parts:
            link_filer(self.graph, filing, more.get("role", "PRIMARY_FILER"), **more.get("edge", {}))
        if "xbrl" in parts:
            add_document(self.graph, filing, linked="report" in parts)

    def _content(
        self, add: Callable[..., str], filing: str, name: str, content: Any, linked: bool = True, times: int = 1
    ) -> None:
        add(self.graph, self._filings[filing], name, content * times if times > 1 else content, linked)

    def _fact(
        self, filing: str, number: int, period: Sequence[date | None], without: Sequence[str] = (), salt: str = "",
        **facts: Any,
    ) -> None:  # fmt: skip
        start, end = period
        fields: Case = {name: tuple(v) if isinstance(v, list) else v for name, v in facts.items()}
        fact, filed = Fact(period=Period(start, end), **fields), self._filings[filing]
        node = add_fact(self.graph, filed, number, fact, tuple(without), salt)
        self._facts[f"{filing} {number}"] = node, filed, fact

    def _context(self, fact: str, salt: str = "", members: Sequence[str] = ()) -> None:
        node, filing, original = self._facts[fact]
        context = add_context(self.graph, filing, replace(original, members=tuple(members)), salt)
        self.graph.edge(("Fact", "IN_CONTEXT", "Context"), node, context)

    def _article(self, name: str, at: datetime, **more: Any) -> None:
        edge, changes = more.pop("edge", None), more.pop("changes", {})
        fields = _STORY | {"updated": at} | {key: tuple(v) if isinstance(v, list) else v for key, v in more.items()}
        article = Article(by_ticker(ODD), name, at.astimezone(NEW_YORK), **fields)  # type: ignore[arg-type]
        add_article(self.graph, article, edge, **changes)

    def _call(
        self, at: datetime, year: int, quarter: int, name: str = "", added: bool = True, **more: Properties
    ) -> None:
        call = Call(by_ticker(ODD), at.astimezone(NEW_YORK), year, quarter, name)
        self._calls[call.id] = call
        if added:
            add_call(self.graph, call, **more.get("changes", {}))

    def _exchange(
        self, call: str, sequence: int, asker: str, question: str = "What of the margin?", linked: bool = True
    ) -> None:
        parts = [
            {"role": "question", "speaker": asker, "text": question},
            {"role": "answer", "speaker": "Ada Merriweather", "text": "It held."},
        ]
        add_exchange(self.graph, self._calls[call], sequence, parts, linked)

    def _dividend(
        self, declared: date, amount: float, kind: str = "Regular", company: bool = True, **more: Any
    ) -> None:
        ex = more.get("ex", declared.replace(day=28))
        dividend = Dividend(more.get("ticker", ODD), declared, ex, amount, kind)
        add_dividend(self.graph, dividend, by_ticker(ODD).cik if company else None, more.get("linked", declared))

    def _split(self, day: date, ratio: Sequence[object], ticker: str = NEVER_PRICED, **more: date | None) -> None:
        before, after = ratio
        cik = by_ticker(ticker).cik
        add_split(self.graph, ticker, cik, day, (before, after), more.get("linked", day))


def _iso(at: datetime | None) -> str | None:
    return iso(at) if at else None
