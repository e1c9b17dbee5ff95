"""What was known of a company at an instant: every question of the time machine, asked of one session."""

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from pitlake.web import questions
from pitlake.web.asked import Asked, Move

if TYPE_CHECKING:
    from pitlake.session import Session

CONCEPTS = (
    "us-gaap:Revenues",
    "us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax",
    "us-gaap:CostOfRevenue",
    "us-gaap:GrossProfit",
    "us-gaap:OperatingIncomeLoss",
    "us-gaap:NetIncomeLoss",
    "us-gaap:EarningsPerShareDiluted",
    "us-gaap:NetCashProvidedByUsedInOperatingActivities",
    "us-gaap:Assets",
    "us-gaap:Liabilities",
    "us-gaap:StockholdersEquity",
    "us-gaap:CashAndCashEquivalentsAtCarryingValue",
    "dei:EntityCommonStockSharesOutstanding",
)
"""The order figures are shown in."""
QUARTER, YEAR, BALANCE = "quarter", "year", "balance"
_LENGTHS = {3: QUARTER, 12: YEAR}
PERIODS = 8


@dataclass(frozen=True, kw_only=True)
class Known:
    """What a session told. Lists hold the questions' rows, newest first as they were asked.

    ciks: the company's; empty where no company is known by the ticker. notes: how the ticker was read. title: its name
    at T, else the ticker.
    """

    asked: Asked
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
    known: list[Any] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The company's name as stated by T."""
        return next((one.name for one in self.names if one.kind == "company_name" and one.name), self.asked.ticker)

    @property
    def ticker_proof(self) -> Any | None:
        """The statement, public at T, that gives the company this ticker; None where there is none."""
        ticker = self.asked.ticker
        return next((one for one in self.names if one.kind == "ticker" and ticker in one.all_names), None)

    @property
    def releases(self) -> list[Move]:
        """Filings and calls that were public, newest first, as steps to the instants at which they first were."""
        found = [Move(one.form_type or "filing", one.first_public) for one in self.filings]
        found += [Move("call", one.first_public) for one in self.calls]
        return sorted(found, key=lambda one: (one.to, one.label), reverse=True)

    @property
    def newest_figures(self) -> list[Any]:
        """Of each concept the newest quarter, the newest year and the newest balance."""
        found: dict[tuple[str, str, str], Any] = {}
        for one in self.figures:
            length = span(one)
            if length:
                found.setdefault((one.concept, one.unit or "", length), one)
        return sorted(found.values(), key=lambda one: (CONCEPTS.index(one.concept), span(one), one.unit or ""))

    @property
    def heat(self) -> tuple[list[date], list[tuple[str, dict[date, Any]]]]:
        """The newest quarters, and of each concept its figures by quarter."""
        quarters = [one for one in self.figures if span(one) == QUARTER]
        ends = sorted({one.period_end for one in quarters}, reverse=True)[:PERIODS]
        table: dict[str, dict[date, Any]] = {}
        for one in quarters:
            if one.period_end in ends:
                table.setdefault(one.concept, {}).setdefault(one.period_end, one)
        return ends[::-1], sorted(table.items(), key=lambda item: CONCEPTS.index(item[0]))

    @property
    def sources(self) -> list["SourceRows"]:
        """Every source the page asks, with what it gave."""
        held = {one.dataset: one for one in self.known}
        return [SourceRows(name, len(self.rows_of(name)), held[name].rows, self._gaps_of(name)) for name in _SHOWN]

    def rows_of(self, dataset: str) -> list[Any]:
        """The rows of a dataset that the page has."""
        of = [one for one in self.filings if one.dataset == dataset]
        planned = [one for one in self.planned if one.dataset == dataset]
        lists = {
            "prices": self.bars,
            "xbrl_facts": self.figures,
            "reports": of,
            "sec_filings": of,
            "news": self.news,
            "transcripts": self.calls,
            "av_estimates": self.estimates,
            "macro_observations": self.macro,
            "av_earnings_calendar": planned,
            "dividends": planned,
            "names": self.names,
        }
        return lists[dataset]

    def _gaps_of(self, dataset: str) -> list[Any]:
        return [one for one in self.gaps if one.dataset == dataset]


_SHOWN = (
    "prices",
    "xbrl_facts",
    "reports",
    "sec_filings",
    "news",
    "transcripts",
    "av_estimates",
    "macro_observations",
    "av_earnings_calendar",
    "dividends",
    "names",
)


@dataclass(frozen=True)
class SourceRows:
    """A dataset: how many of its rows the page has of this company, how many it holds of any at T, and its gaps."""

    dataset: str
    here: int
    held: int
    gaps: list[Any]


def span(figure: Any) -> str:
    """What length of period a figure is of: a quarter, a year, a balance of one day; empty for another."""
    return BALANCE if figure.period_type == "instant" else _LENGTHS.get(figure.months, "")


def known(session: "Session", asked: Asked) -> Known:
    """Ask everything. Raises what a session raises."""
    company = session.company(asked.ticker)
    rows = {name: questions.rows(one.ask(session, company.company)) for name, one in questions.all_questions().items()}
    return Known(asked=asked, ciks=company.ciks, notes=company.notes_on(labels=True), **rows)
