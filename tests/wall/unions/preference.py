"""The expected answers to questions over several sources, computed slowly from every source's stored rows.

For each thing, the newest public statement of the most preferred source counts. Only the order of a key's revisions
is shared with the SQL.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from itertools import product
from typing import Any

from pitlake.clock import AVAILABLE_AT, NEW_YORK
from pitlake.datasets import get
from pitlake.tombstones import newest_first
from tests.catalogue.test_full_text import slow_bm25
from tests.wall.unions.questions import SEARCHED, Question
from tests.wall.unions.sources import FAMILIES, Row, cik, ticker

Rows = Mapping[str, list[Row]]  # every revision of each dataset
Shown = list[tuple[Any, ...]]
BARS = tuple(FAMILIES["bars"][0])
HALF_AN_HOUR, THREE_HOURS = timedelta(minutes=30), timedelta(hours=3)
WEEK, MONTH = timedelta(days=7), timedelta(days=30)


class Public:
    """The public rows about a company at an instant."""

    def __init__(self, rows: Rows, company: int, moment: datetime) -> None:
        self.company, self.moment, self._rows = company, moment, rows

    def stated(self, dataset: str) -> list[Row]:
        """Return every public revision, of any company."""
        return [row for row in self._rows[dataset] if row[AVAILABLE_AT] <= self.moment]

    def newest(self, dataset: str) -> list[Row]:
        """Return the newest public revision of each key, of any company."""
        contract, result = get(dataset), dict[tuple[Any, ...], Row]()
        for row in sorted(self.stated(dataset), key=lambda row: _order(row, newest_first(contract))):
            result[tuple(row[name] for name in contract.key)] = row
        return list(result.values())

    def about(self, rows: Iterable[Row]) -> list[Row]:
        """Return the rows about the company, matched by CIK, or by ticker if they have none."""
        return [row for row in rows if self._is_about(row)]

    def of(self, dataset: str) -> list[Row]:
        """Return the newest revisions that are about the company."""
        return self.about(self.newest(dataset))

    def _is_about(self, row: Row) -> bool:
        number = row.get("cik") or row.get("entity_id")
        if number is not None:
            return bool(number == cik(self.company))
        response = row.get("tickers") or [row.get("ticker")]
        return ticker(self.company) in response


def _order(row: Row, names: Iterable[str]) -> tuple[Any, ...]:
    return tuple((row[name] is not None, row[name]) for name in names)


def bars(public: Public) -> dict[Any, tuple[str, Row]]:
    """Return the bar of each day."""
    result: dict[Any, tuple[str, Row]] = {}
    for dataset in BARS:
        for row in public.of(dataset):
            result.setdefault(row["date"], (dataset, row))
    return result


def last_bar(public: Public) -> tuple[Any, ...]:
    """Return the day, close and source of the newest bar."""
    day, (dataset, row) = max(bars(public).items(), default=(None, (None, {"close": None})))
    return day, row["close"], dataset


def facts(public: Public) -> list[tuple[str, Row]]:
    """Return every statement of a fact, without EDGAR's where the graph had already stated the fact."""
    graph = public.about(public.stated("xbrl_facts"))
    edgar = [
        row
        for row in public.about(public.stated("sec_facts"))
        if not any(_fact(each) == _fact(row) and each[AVAILABLE_AT] <= row[AVAILABLE_AT] for each in graph)
    ]
    return [*(("xbrl_facts", row) for row in graph), *(("sec_facts", row) for row in edgar)]


def _fact(row: Row) -> tuple[Any, ...]:
    return row["concept"], row["period_start"], row["period_end"], row["accession_no"]


def _is_number(row: Row) -> bool:
    return bool(row.get("is_numeric", True))


def _is_periodic(row: Row) -> bool:
    return bool(row["form_type"] == "10-Q")


def last_facts(public: Public) -> dict[Any, tuple[str, Row]]:
    """Return each fact as last stated by a periodic report, otherwise by any filing."""
    order = ("available_at", "accepted_at", "accession_no", "evidence", "content_hash")
    result = {}
    for source, row in sorted(facts(public), key=lambda each: (_is_periodic(each[1]), *_order(each[1], order))):
        result[row["concept"], row["period_start"], row["period_end"]] = source, row
    return result


def newest_facts(public: Public) -> dict[Any, tuple[str, Row]]:
    """Return the newest period's number of each concept, from a periodic report if one states it."""
    order = ("available_at", "accession_no", "evidence", "content_hash")
    numbers = [fact for fact in facts(public) if _is_number(fact[1])]
    result = {}
    for source, row in sorted(
        numbers, key=lambda each: (each[1]["period_end"], _is_periodic(each[1]), *_order(each[1], order))
    ):
        if row["period_end"] <= row[AVAILABLE_AT].astimezone(NEW_YORK).date():
            result[row["concept"]] = source, row
    return result


def filings(public: Public) -> Shown:
    """Return each filing as the graph has it, otherwise as EDGAR lists it."""
    graph = {row["accession_no"]: ("reports", row["created"], row) for row in public.of("reports")}
    edgar = {row["accession_no"]: ("sec_filings", row["accepted_at"], row) for row in public.of("sec_filings")}
    result = edgar | graph
    return [
        (number, source, at, tuple(row["items"]), row[AVAILABLE_AT], row["evidence"])
        for number, (source, at, row) in result.items()
    ]


def articles(public: Public) -> Shown:
    """Return each article as the graph has it, otherwise as Benzinga serves it."""
    return [(name, source, row["title"], row[AVAILABLE_AT], row["evidence"]) for name, source, row in _articles(public)]


def _articles(public: Public) -> list[tuple[str, str, Row]]:
    content = {row["id"] for row in public.newest("news")}
    result = [("news", row) for row in public.of("news")]
    result += [("benzinga_news", row) for row in public.of("benzinga_news") if f"bzNews_{row['id']}" not in content]
    return [(row["id"], source, row) for source, row in result]


def articles_of_last_month(public: Public) -> int:
    """Return how many articles were first published as the company's in the last thirty days."""
    first: dict[str, datetime] = defaultdict(lambda: public.moment)
    for dataset, prefix in (("news", ""), ("benzinga_news", "bzNews_")):
        for row in public.about(public.stated(dataset)):
            name = prefix + row["id"]
            first[name] = min(first[name], row[AVAILABLE_AT])
    return sum(at > public.moment - MONTH for at in first.values())


def calls(public: Public) -> Shown:
    """Return the graph's calls, and the calls of earningscall.biz that the graph lacks."""
    graph = public.of("transcripts")
    reply = [row for row in public.of("call_transcripts") if not any(_is_same_call(each, row) for each in graph)]
    return [
        *(("transcripts", row["fiscal_quarter"], row[AVAILABLE_AT], row["evidence"]) for row in graph),
        *(("call_transcripts", row["fiscal_quarter"], row[AVAILABLE_AT], row["evidence"]) for row in reply),
    ]


def _is_same_call(graph: Row, reply: Row) -> bool:
    """Return whether two records are of the same call, judged by the start, or by the quarter if a start is missing."""
    is_of_quarter = all(graph[name] == reply[name] for name in ("fiscal_year", "fiscal_quarter"))
    if reply["call_start"] is None:
        return is_of_quarter
    apart = abs(graph["conference_datetime"] - reply["call_start"])
    return bool(apart <= (THREE_HOURS if is_of_quarter else HALF_AN_HOUR))


def found_articles(public: Public) -> Shown:
    """Return every article's score in a search, computed by reading all articles."""
    texts = [(source, row["title"], row["evidence"]) for _, source, row in _articles(public)]
    return _found("news_full_text", texts)


def found_exchanges(public: Public) -> Shown:
    """Return the scores of the graph's exchanges, and of the turns or whole text of other calls."""
    statement = {row["transcript_id"]: row for row in public.newest("transcripts")}
    graph = public.of("qa_exchanges")
    periods = ({"fiscal_year": None, "fiscal_quarter": None} | statement.get(row["transcript_id"], {}) for row in graph)
    content = [
        period | {"conference_datetime": row["conference_datetime"]} for row, period in zip(graph, periods, strict=True)
    ]
    reply = [row for row in public.of("call_transcripts") if not any(_is_same_call(each, row) for each in content)]
    texts = [("qa_exchanges", text, row["evidence"]) for row in graph for text in _texts(row["exchanges"])]
    texts += [
        ("call_transcripts", text, row["evidence"])
        for row in reply
        for text in (_texts(row["turns"]) if row["turns"] else [row["text"]])
    ]
    return _found("transcript_search_qa", texts)


def _texts(spoken: str) -> list[str]:
    return [part["text"] for part in json.loads(spoken)]


def _found(query: str, texts: list[tuple[str, str, str]]) -> Shown:
    scores = slow_bm25([text for _, text, _ in texts], SEARCHED[query]) if texts else {}
    return [(texts[number][0], round(score, 6), texts[number][2]) for number, score in scores.items()]


def dividends(public: Public) -> Shown:
    """Return the graph's dividends and Polygon's on other ex-dates; of like ones within four days the first counts."""
    statement = [(source, row) for source in ("dividends", "polygon_dividends") for row in public.of(source)]
    return [
        (row["ex_dividend_date"], source, row["cash_amount"], row[AVAILABLE_AT], row["evidence"])
        for source, row in statement
        if not any(_repeats((source, row), other) for other in statement)
    ]


def _repeats(item: tuple[str, Row], other: tuple[str, Row]) -> bool:
    """Return whether another row, which takes precedence, states the same dividend."""
    (source, row), (other_source, other_row) = item, other
    days = abs((row["ex_dividend_date"] - other_row["ex_dividend_date"]).days)
    if not days:
        return source > other_source
    same = row["declaration_date"] == other_row["declaration_date"]
    same |= abs(row["cash_amount"] - other_row["cash_amount"]) < 0.0006
    places = ((name, reply[AVAILABLE_AT], reply["ex_dividend_date"]) for name, reply in (other, item))
    return days <= 4 and same and next(places) < next(places)


def splits(public: Public) -> Shown:
    """Return the splits, at most one per source here. A day with two ratios has no ratio."""
    statement = [(source, row) for source in ("splits", "polygon_splits") for row in public.of(source)]
    if len(statement) > 1:
        (_, item), (_, other) = statement
        apart = abs(item["execution_date"] - other["execution_date"])
        if item["split_to"] == other["split_to"] and apart <= WEEK:
            source, first = min(statement, key=lambda each: each[1][AVAILABLE_AT])
            return [(item["execution_date"], item["split_to"], source, first[AVAILABLE_AT], first["evidence"])]
        if not apart:
            return [(item["execution_date"], None, "splits", item[AVAILABLE_AT], item["evidence"])]
    return [
        (row["execution_date"], row["split_to"], source, row[AVAILABLE_AT], row["evidence"])
        for source, row in statement
    ]


def bars_of(public: Public) -> Shown:
    """Return the bar of each day with its source."""
    result = bars(public).items()
    return [(day, source, row["close"], row[AVAILABLE_AT], row["evidence"]) for day, (source, row) in result]


def facts_of(public: Public) -> Shown:
    """Return each fact as last stated, with its source."""
    result = last_facts(public).items()
    return [(*fact, source, row["value"], row["accession_no"], row["evidence"]) for fact, (source, row) in result]


Due = Callable[[Public], Shown]

# For each question, a function that returns the expected rows, and the columns of the answer that show them.
SERIES: dict[str, tuple[Due, tuple[str, ...]]] = {
    "entity_price_series": (bars_of, ("date", "source", "close", "available_at", "evidence")),
    "xbrl_all_metrics": (
        lambda public: [
            (*fact, source, row["value"], row["accession_no"], row[AVAILABLE_AT], row["evidence"])
            for fact, (source, row) in last_facts(public).items()
            if _is_periodic(row) and _is_number(row)
        ],
        ("concept_qname", "period_start", "period_end", "source", "value", "accessionNo", "available_at", "evidence"),
    ),
    "FROM articles": (articles, ("id", "source", "title", "available_at", "evidence")),
    "FROM bars": (bars_of, ("date", "source", "close", "available_at", "evidence")),
    "FROM calls": (calls, ("source", "fiscal_quarter", "available_at", "evidence")),
    "FROM facts": (facts_of, ("concept", "period_start", "period_end", "source", "value", "accession_no", "evidence")),
    "FROM filings": (filings, ("accession_no", "source", "created", "items", "available_at", "evidence")),
    "report_range": (filings, ("accessionNo", "source", "created", "items", "available_at", "evidence")),
    "page filings": (
        lambda public: [(number, source, items, at, name) for number, source, _, items, at, name in filings(public)],
        ("accession_no", "dataset", "items", "available_at", "evidence"),
    ),
    "news_date_range": (articles, ("id", "source", "title", "available_at", "evidence")),
    "page news": (articles, ("id", "dataset", "title", "available_at", "evidence")),
    "news_full_text": (found_articles, ("source", "ft_score", "evidence")),
    "transcript_search_qa": (found_exchanges, ("source", "ft_score", "evidence")),
    "transcript_range": (calls, ("source", "fiscal_quarter", "available_at", "evidence")),
    "page calls": (calls, ("dataset", "fiscal_quarter", "available_at", "evidence")),
    "entity_dividends": (dividends, ("ex_dividend_date", "source", "cash_amount", "available_at", "evidence")),
    "entity_splits": (splits, ("execution_date", "split_to", "source", "available_at", "evidence")),
}
PAIRS: dict[str, tuple[Due, tuple[str, ...]]] = {
    "prices_as_of_event": (lambda public: [last_bar(public)], ("date", "close", "source")),
    "panel": (
        lambda public: [(*last_bar(public), articles_of_last_month(public))],
        ("price_date", "close", "price_source", "news_count"),
    ),
    "facts_as_of_event": (
        lambda public: [
            (concept, row["period_end"], row["value_number"], source, row["accession_no"], row["evidence"])
            for concept, (source, row) in newest_facts(public).items()
        ],
        ("concept_qname", "period_end", "value", "source", "accessionNo", "evidence"),
    ),
}


def is_judged(question: Question) -> bool:
    """Return whether the expected answer can be computed, which requires that the question names companies by CIK."""
    return question.by_cik and question.name in {*SERIES, *PAIRS}


def mistake(question: Question, answer: list[Row], rows: Rows, as_of: datetime) -> str | None:
    """Return how an answer differs from the expected one; None if it does not."""
    is_of_pairs = question.name in PAIRS
    due, columns = (PAIRS if is_of_pairs else SERIES)[question.name]
    instants = question.at if is_of_pairs else (as_of,)
    display = defaultdict[Any, Shown](list)
    for row in answer:
        pair = (row["ticker"], row["at"]) if is_of_pairs else (ticker(question.companies[0]), as_of)
        display[pair].append(tuple(_plain(row[name]) for name in columns))
    for company, moment in product(question.companies, instants):
        expected = _sorted(due(Public(rows, company, moment)))
        inputs = _sorted(display.pop((ticker(company), moment), []))
        if expected != inputs:
            return f"of {ticker(company)} as of {moment.isoformat()} {inputs} instead of {expected}"
    return f"pairs that were not asked for: {list(display)}" if display else None


def _sorted(display: Iterable[tuple[Any, ...]]) -> Shown:
    return sorted(display, key=repr)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
