"""The rows that the sources of a union write about one thing: a bar, a fact, a filing, an article, a call, a dividend,
a split or a reported quarter of a company.

All sources of a family write a thing under the key by which the union recognises it. Content and date differ between
sources.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from tests.wall.late.documents import new_york

COMPANIES = tuple(range(1, 9))
OTHERS = 9  # the company to which a source may correct a record
SPRING = date(2024, 3, 4)
CONCEPTS = ("us-gaap:Assets", "us-gaap:Revenues")
_ENDS = (date(2023, 9, 30), date(2023, 12, 31))
# Each fact: index of its concept, index of its period end, number of its filing. The second filing restates the first.
_FACTS = ((0, 0, 5), (0, 0, 6), (0, 1, 6), (1, 1, 6))


@dataclass(frozen=True)
class Said:
    """The statement of a source about a thing at one time.

    value: determines prices, amounts, titles and so on. astray: whether the thing is stated for another company or
    day, or without a value. since: the source's date of the thing. written: the source's date of the last change.
    """

    value: int
    astray: bool
    since: datetime
    written: datetime


Row = dict[str, Any]
Write = Callable[[int, int, Said], Row]


def cik(company: int) -> str:
    """Return a company's CIK."""
    return f"{company:010}"


def ticker(company: int) -> str:
    """Return the company's ticker."""
    return f"U{company}"


def accession(company: int, number: int) -> str:
    """Return the accession number of a company's filing."""
    return f"{cik(company)}-24-{number:06}"


def day_of(number: int) -> date:
    """Return the weekday on which the thing with a number happens."""
    return SPRING + timedelta(days=7 * number)


def happened(number: int) -> datetime:
    """Return the instant, after the close, at which the thing happens."""
    return new_york(day_of(number), 16, 0)


def _owner(company: int, message: Said) -> int:
    return OTHERS if message.astray else company


def _bar(company: int, number: int, message: Said) -> Row:
    price = float(50 + message.value)
    return {"date": day_of(number), **dict.fromkeys(("open", "high", "low", "close"), price), "volume": 9}


def _price(company: int, number: int, message: Said) -> Row:
    names = {"entity_kind": "company", "entity_id": cik(company), "symbol": ticker(company)}
    return _bar(company, number, message) | names | {"volume": 9.0}


def _listed_bar(company: int, number: int, message: Said) -> Row:
    return _bar(company, number, message) | {"ticker": ticker(company)}


def _fact(company: int, number: int, message: Said) -> Row:
    concept, end, filing = _FACTS[number]
    return {
        "cik": cik(company),
        "accession_no": accession(company, filing),
        "form_type": "8-K" if (company + filing) % 3 == 0 else "10-Q",
        "concept": CONCEPTS[concept],
        "period_type": "duration" if concept else "instant",
        "period_start": date(2023, 10, 1) if concept else None,
        "period_end": _ENDS[end],
        "accepted_at": happened(number),
        "value": str(message.value),
        "value_number": float(message.value),
    }


def _graph_fact(company: int, number: int, message: Said) -> Row:
    statement = {
        "ticker": ticker(company),
        "unit": "iso4217:USD",
        "is_numeric": not message.astray,
        "is_nil": message.astray,
    }
    gone = {"value": None, "value_number": None} if message.astray else {}
    return _fact(company, number, message) | statement | {"dimensions": "", "members": "", "member_count": 0} | gone


def _edgar_fact(company: int, number: int, message: Said) -> Row:
    return _fact(company, number, message) | {"unit": "USD", "filing_date": day_of(number)}


def _report(company: int, number: int, message: Said) -> Row:
    owner = _owner(company, message)
    return {
        "accession_no": accession(company, number),
        "form_type": "8-K",
        "cik": cik(owner),
        "ticker": ticker(owner),
        "role": "primary_filer",
        "tickers": [ticker(owner)],
        "items": [f"Item {_item(message)}: Results"],
        "created": happened(number),
    }


def _filing(company: int, number: int, message: Said) -> Row:
    return {
        "accession_no": accession(company, number),
        "form_type": "8-K",
        "cik": cik(company),
        "items": [_item(message)],
        "accepted_at": happened(number),
        "acceptance_rule": "offset",
        "acceptance_raw": happened(number).isoformat(),
        "filing_date": day_of(number),
    }


def _item(message: Said) -> str:
    return "2.02" if message.value % 3 else "7.01"


def _article(company: int, number: int, message: Said) -> Row:
    owner = ticker(_owner(company, message))
    return {
        "id": f"{company}{number}",
        "ticker": owner,
        "tickers": [owner],
        "title": f"title {message.value}",
        "channels": ["news"],
        "tags": [],
        "created": happened(number),
        "updated": message.written,
    }


def _graph_article(company: int, number: int, message: Said) -> Row:
    return _article(company, number, message) | {"id": f"bzNews_{company}{number}", "updated": happened(number)}


def _call(company: int, number: int, message: Said) -> Row:
    start = happened(number) + timedelta(days=2 if message.astray else 0)
    return {
        "transcript_id": f"{ticker(company)}_{number}",
        "ticker": ticker(company),
        "company_name": f"Company {message.value}",
        "conference_datetime": start,
        "fiscal_year": 2024,
        "fiscal_quarter": None if company % 4 == 0 else number + 1,
    }


def _exchange(company: int, number: int, message: Said) -> Row:
    return {
        "transcript_id": f"{ticker(company)}_{number}",
        "ticker": ticker(company),
        "sequence": 0,
        "exchanges": json.dumps([{"role": "question", "text": f"said {message.value}"}]),
        "conference_datetime": happened(number) + timedelta(days=2 if message.astray else 0),
    }


def _told_call(company: int, number: int, message: Said) -> Row:
    turns = [{"speaker": "spk0", "text": f"said {message.value}"}, {"speaker": "spk1", "text": "said"}]
    return {
        "exchange": "NYSE",
        "ticker": ticker(company),
        "fiscal_year": 2024,
        "fiscal_quarter": number + 1,
        "call_start": None if message.astray else happened(number) + timedelta(hours=message.value % 5),
        "text": f"said {message.value}",
        "turns": json.dumps(turns) if company % 2 else None,
        "turn_count": len(turns) * (company % 2),
    }


def _dividend(company: int, number: int, message: Said) -> Row:
    ex = day_of(number) + timedelta(days=10 if message.astray else 7)
    return {
        "ticker": ticker(company),
        "declaration_date": day_of(number),
        "ex_dividend_date": ex,
        "cash_amount": (1 + message.value) / 100,
        "currency": "USD",
        "dividend_id": f"{ticker(company)}_{number}",
    }


def _graph_dividend(company: int, number: int, message: Said) -> Row:
    linked = {"cik": cik(company)} if company % 2 else {}
    return _dividend(company, number, message) | linked | {"dividend_type": "Regular", "frequency": "Quarterly"}


def _polygon_dividend(company: int, number: int, message: Said) -> Row:
    statement = {"dividend_type": "CD", "frequency": 4, "ordinal": number, "cash_amount_text": str(message.value)}
    return _dividend(company, number, message) | statement


def _split(company: int, number: int, message: Said) -> Row:
    return {
        "ticker": ticker(company),
        "execution_date": day_of(number) + timedelta(days=40 if message.astray else 0),
        "split_from": 1.0,
        "split_to": float(2 + message.value % 2),
        "split_id": f"{ticker(company)}_{number}",
    }


def _graph_split(company: int, number: int, message: Said) -> Row:
    return _split(company, number, message) | ({"cik": cik(company)} if company % 2 else {})


def _polygon_split(company: int, number: int, message: Said) -> Row:
    """Return a split as Polygon lists it, in some cases a day early."""
    result = _split(company, number, message) | {"ordinal": number}
    return result | {"execution_date": result["execution_date"] - timedelta(days=company % 2)}


def _quarter(company: int, number: int, message: Said) -> Row:
    return {
        "ticker": ticker(company),
        "period_type": "quarter",
        "fiscal_date_ending": date(2023, 12, 31) - timedelta(days=91 * number),
        "reported_date": day_of(number) + timedelta(days=int(message.astray)),
        "report_time": "post-market",
        "reported_eps": float(message.value),
    }


# Each union's sources, the preferred one first, and the number of things per company.
FAMILIES: dict[str, tuple[dict[str, Write], int]] = {
    "bars": ({"prices": _price, "own_bars": _listed_bar, "av_daily_bars": _listed_bar}, 3),
    "facts": ({"xbrl_facts": _graph_fact, "sec_facts": _edgar_fact}, len(_FACTS)),
    "filings": ({"reports": _report, "sec_filings": _filing}, 3),
    "articles": ({"news": _graph_article, "benzinga_news": _article}, 3),
    "calls": ({"transcripts": _call, "call_transcripts": _told_call}, 2),
    "dividends": ({"dividends": _graph_dividend, "polygon_dividends": _polygon_dividend}, 2),
    "splits": ({"splits": _graph_split, "polygon_splits": _polygon_split}, 1),
    "quarters": ({"av_earnings": _quarter}, 2),
    "exchanges": ({"qa_exchanges": _exchange}, 2),
}
SOURCES = tuple(dataset for writers, _ in FAMILIES.values() for dataset in writers)
DERIVED = "earnings_events"  # derived from reports, sec_filings, av_earnings and call_transcripts
DATASETS = (*SOURCES, DERIVED)
