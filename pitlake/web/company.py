"""The knowledge about a company at an instant: one session's answers to all page questions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from pitlake.answers.own_fields import OWNERS, owner
from pitlake.clock import AVAILABLE_AT
from pitlake.lake.tables.query import quoted as identifier
from pitlake.questions.catalogue import COMPANY
from pitlake.web import questions
from pitlake.web.address import Address, Move

if TYPE_CHECKING:
    from pitlake.contract import Dataset
    from pitlake.session import Session

ITEMS = {
    "revenue": "Revenue",
    "cost_of_revenue": "Cost of revenue",
    "gross_profit": "Gross profit",
    "operating_income": "Operating income",
    "net_income": "Net income",
    "eps_diluted": "EPS, diluted",
    "operating_cash_flow": "Operating cash flow",
    "assets": "Assets",
    "liabilities": "Liabilities",
    "equity": "Equity",
    "cash": "Cash",
    "shares": "Shares outstanding",
}
"""The line items of the page in their order, each with its name there."""
QUARTER, YEAR, BALANCE = "quarter", "year", "balance"
_LENGTHS = {3: QUARTER, 12: YEAR}
PERIODS, OWN_ROWS, OWN_COLUMNS = 8, 200, 6
_STATED_DAYS = 460
"""A year, and the time until a late annual report. A figure whose period ended earlier than this before the newest
period is no longer stated.
"""


@dataclass(frozen=True, kw_only=True)
class CompanyView:
    """A session's answers about a company. Each list has the rows of the page question of that name.

    ciks: the CIKs of the company, empty if no company is known by the ticker. notes: how the ticker was resolved.
    title: the company's name at T, otherwise the ticker.
    """

    address: Address
    ciks: tuple[str, ...]
    notes: tuple[str, ...]
    names: list[Any] = field(default_factory=list)
    bars: list[Any] = field(default_factory=list)
    figures: list[Any] = field(default_factory=list)
    filings: list[Any] = field(default_factory=list)
    news: list[Any] = field(default_factory=list)
    calls: list[Any] = field(default_factory=list)
    estimates: list[Any] = field(default_factory=list)
    macro: list[Any] = field(default_factory=list)
    planned: list[Any] = field(default_factory=list)
    gaps: list[Any] = field(default_factory=list)
    holdings: list[Any] = field(default_factory=list)
    own: list["OwnRows"] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Return the company's name as stated by T, else its ticker."""
        return next((row.name for row in self.names if row.kind == "company_name" and row.name), self.address.ticker)

    @property
    def ticker_proof(self) -> Any | None:
        """Return the statement that gives the company this ticker; None if there was none at T."""
        ticker = self.address.ticker
        return next((row for row in self.names if row.kind == "ticker" and ticker in row.all_names), None)

    @property
    def releases(self) -> list[Move]:
        """Return moves to the instants at which filings and calls became public, newest first."""
        moves = [Move(filing.form_type or "filing", filing.first_public) for filing in self.filings]
        moves += [Move("call", call.first_public) for call in self.calls]
        return sorted(moves, key=lambda move: (move.to, move.label), reverse=True)

    @property
    def newest_figures(self) -> list[Any]:
        """Return the newest quarter, year and balance of each line item that the company still states."""
        newest: dict[tuple[str, str, str], Any] = {}
        last = max((figure.period_end for figure in self.figures), default=date.min)
        for figure in self.figures:
            length = span(figure)
            if length and (last - figure.period_end).days <= _STATED_DAYS:
                newest.setdefault((figure.item, figure.unit or "", length), figure)
        return sorted(newest.values(), key=lambda figure: (_place(figure.item), span(figure), figure.unit or ""))

    @property
    def quarters(self) -> dict[str, dict[date, Any]]:
        """Return the figures of each line item by quarter, the newest first."""
        table: dict[str, dict[date, Any]] = {}
        for figure in self.figures:
            if span(figure) == QUARTER:
                table.setdefault(figure.item, {}).setdefault(figure.period_end, figure)
        return dict(sorted(table.items(), key=lambda line: _place(line[0])))

    @property
    def heat(self) -> tuple[list[date], list[tuple[str, dict[date, Any]]]]:
        """Return the newest quarters, and the figures of each line item by quarter."""
        table = self.quarters
        ends = sorted({end for line in table.values() for end in line}, reverse=True)[:PERIODS]
        lines = [(item, {end: line[end] for end in ends if end in line}) for item, line in table.items()]
        return ends[::-1], [(item, line) for item, line in lines if line]

    @property
    def empty(self) -> list[str]:
        """Return the names of the page's sections that have no rows."""
        return [name for name, rows in _SECTIONS.items() if not getattr(self, rows)]

    @property
    def sources(self) -> list["SourceRows"]:
        """Return every source of the page, with the number of its rows and its gaps."""
        totals = {entry.dataset: entry for entry in self.holdings}
        gaps = {name: [gap for gap in self.gaps if gap.dataset == name] for name in _SHOWN}
        return [SourceRows(name, len(self.rows_of(name)), totals[name].rows, gaps[name]) for name in _SHOWN]

    def rows_of(self, dataset: str) -> list[Any]:
        lists = {"av_estimates": self.estimates, "macro_observations": self.macro, "names": self.names}
        several = (*self.bars, *self.figures, *self.filings, *self.news, *self.calls, *self.planned)
        return lists[dataset] if dataset in lists else [row for row in several if row.dataset == dataset]


_SECTIONS = {
    "prices": "bars",
    "filings": "filings",
    "figures": "figures",
    "news": "news",
    "calls": "calls",
    "estimates": "estimates",
    "macro": "macro",
    "planned dates": "planned",
}
"""The sections of the page by their names, each with the rows it shows."""
_SHOWN = (
    "prices",
    "own_bars",
    "av_daily_bars",
    "xbrl_facts",
    "sec_facts",
    "reports",
    "sec_filings",
    "news",
    "benzinga_news",
    "transcripts",
    "call_transcripts",
    "av_estimates",
    "macro_observations",
    "av_earnings_calendar",
    "dividends",
    "polygon_dividends",
    "names",
)


@dataclass(frozen=True)
class OwnRows:
    """The newest rows of a mounted table about the company, by the day they are about."""

    name: str
    title: str
    columns: list[str]
    rows: list[Any]


@dataclass(frozen=True)
class SourceRows:
    """A dataset on the page: the number of this company's rows, the number of all rows at T, and its gaps."""

    dataset: str
    here: int
    total: int
    gaps: list[Any]


def span(figure: Any) -> str:
    """Return the kind of a figure's period: quarter, year or balance; empty for others."""
    return BALANCE if figure.period_type == "instant" else _LENGTHS.get(figure.months, "")


def read_company(session: "Session", address: Address) -> CompanyView:
    """Ask a session all page questions about a company. Raises the errors of a session."""
    company = session.company(address.ticker)
    rows = {
        name: questions.rows(question.ask(session, company.company))
        for name, question in questions.all_questions().items()
    }
    own = []
    for contract in own_tables(session.contracts):
        days = [each.name for each in contract.columns if each.type == "date" and each.name in contract.key]
        order = ", ".join(f"{identifier(name)} DESC" for name in (*days, AVAILABLE_AT))
        of_company = f"FROM {identifier(contract.name)} WHERE {OWNERS[owner(contract)]}"
        limited = f"{of_company} ORDER BY {order}, evidence LIMIT {OWN_ROWS}"
        result = session.sql(limited, {COMPANY: company.company})
        plumbing = {contract.entity, owner(contract), "evidence"}
        columns = [name for name in result.columns if name not in plumbing and not name.startswith(AVAILABLE_AT)]
        columns.sort(key=lambda name: name not in contract.key)
        own.append(OwnRows(contract.name, contract.title, columns[:OWN_COLUMNS], questions.rows(result)))
    notes = company.notes_on(labels=True)
    return CompanyView(
        address=address, ciks=company.ciks, notes=notes, own=[table for table in own if table.rows], **rows
    )


def own_tables(contracts: Mapping[str, "Dataset"]) -> list["Dataset"]:
    """Return the mounted tables that name companies."""
    return [each for each in contracts.values() if each.group == "mounted" and owner(each)]


def _place(item: str) -> int:
    return list(ITEMS).index(item)
