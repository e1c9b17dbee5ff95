"""What was known about a company at an instant: one session's answers to all page questions."""

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from pitlake.web import questions
from pitlake.web.address import Address, Move

if TYPE_CHECKING:
    from pitlake.session import Session

CONCEPTS = (
    "us-gaap:Revenues",
    "us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax",
    "ifrs-full:Revenue",
    "us-gaap:CostOfRevenue",
    "ifrs-full:CostOfSales",
    "us-gaap:GrossProfit",
    "ifrs-full:GrossProfit",
    "us-gaap:OperatingIncomeLoss",
    "ifrs-full:ProfitLossFromOperatingActivities",
    "us-gaap:NetIncomeLoss",
    "ifrs-full:ProfitLossAttributableToOwnersOfParent",
    "ifrs-full:ProfitLoss",
    "us-gaap:EarningsPerShareDiluted",
    "ifrs-full:DilutedEarningsLossPerShare",
    "us-gaap:NetCashProvidedByUsedInOperatingActivities",
    "ifrs-full:CashFlowsFromUsedInOperatingActivities",
    "us-gaap:Assets",
    "ifrs-full:Assets",
    "us-gaap:Liabilities",
    "ifrs-full:Liabilities",
    "us-gaap:StockholdersEquity",
    "ifrs-full:EquityAttributableToOwnersOfParent",
    "ifrs-full:Equity",
    "us-gaap:CashAndCashEquivalentsAtCarryingValue",
    "ifrs-full:CashAndCashEquivalents",
    "dei:EntityCommonStockSharesOutstanding",
)
"""The order figures are shown in."""
QUARTER, YEAR, BALANCE = "quarter", "year", "balance"
_LENGTHS = {3: QUARTER, 12: YEAR}
PERIODS = 8
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
    companies: list[Any]
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
        """Return the newest quarter, year and balance of each concept that the company still states."""
        newest: dict[tuple[str, str, str], Any] = {}
        last = max((figure.period_end for figure in self.figures), default=date.min)
        for figure in self.figures:
            length = span(figure)
            if length and (last - figure.period_end).days <= _STATED_DAYS:
                newest.setdefault((figure.concept, figure.unit or "", length), figure)
        return sorted(
            newest.values(), key=lambda figure: (CONCEPTS.index(figure.concept), span(figure), figure.unit or "")
        )

    @property
    def heat(self) -> tuple[list[date], list[tuple[str, dict[date, Any]]]]:
        """Return the newest quarters, and the figures of each concept by quarter."""
        quarters = [figure for figure in self.figures if span(figure) == QUARTER]
        ends = sorted({figure.period_end for figure in quarters}, reverse=True)[:PERIODS]
        table: dict[str, dict[date, Any]] = {}
        for figure in quarters:
            if figure.period_end in ends:
                table.setdefault(figure.concept, {}).setdefault(figure.period_end, figure)
        return ends[::-1], sorted(table.items(), key=lambda item: CONCEPTS.index(item[0]))

    @property
    def sources(self) -> list["SourceRows"]:
        """Return every source of the page, with the number of its rows and its gaps."""
        totals = {entry.dataset: entry for entry in self.holdings}
        return [SourceRows(name, len(self.rows_of(name)), totals[name].rows, self._gaps_of(name)) for name in _SHOWN]

    def rows_of(self, dataset: str) -> list[Any]:
        lists = {
            "av_estimates": self.estimates,
            "macro_observations": self.macro,
            "names": self.names,
        }
        several = (*self.bars, *self.figures, *self.filings, *self.news, *self.calls, *self.planned)
        return lists[dataset] if dataset in lists else [row for row in several if row.dataset == dataset]

    def _gaps_of(self, dataset: str) -> list[Any]:
        return [gap for gap in self.gaps if gap.dataset == dataset]


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
class SourceRows:
    """A dataset on the page: the number of this company's rows, the number of any rows at T, and its gaps."""

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
    return CompanyView(address=address, ciks=company.ciks, notes=company.notes_on(labels=True), **rows)
