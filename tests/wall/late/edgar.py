"""EDGAR as a provider: submissions, facts and search hits of companies' filings, and their changes."""

from random import Random

from assets.feeds.feed import Scope
from pitlake.clock import NEW_YORK
from resources.http.capture import Request
from tests.wall.late.answers import DAYS, Answer, Told, cik, company, day_in, kind, marks_of, of, ticker
from tests.wall.late.documents import State, new_york, spelled
from tests.wall.late.found import by


def accession(state: State, number: int) -> str:
    """Return a filing's accession number."""
    return f"{cik(state)}-24-00000{number}"


def _header(request: Request, content: list[State]) -> Answer:
    """Return a filing's SGML header, which contains the acceptance in New York time."""
    number, item = next(
        (accession(state, number), each)
        for state in content
        for number, each in state["items"].items()
        if accession(state, number) in request.path
    )
    reply = (
        f"<SEC-HEADER>{number}.hdr.sgml : {item['at']:%Y%m%d}",
        f"<ACCEPTANCE-DATETIME>{item['at'].astimezone(NEW_YORK):%Y%m%d%H%M%S}",
        f"ACCESSION NUMBER:\t\t{number}",
        "</SEC-HEADER>",
    )
    return "\n".join(reply).encode(), {"content-type": "text/plain"}


def _submissions(request: Request, content: list[State]) -> Answer:
    if request.path.endswith(".sgml"):
        return _header(request, content)
    state = of(content, request.path[len("/submissions/CIK") : -len(".json")], cik)
    filings = [(accession(state, number), each) for number, each in state["items"].items()]
    columns: State = {
        "accessionNumber": [name for name, _ in filings],
        "acceptanceDateTime": [spelled(each["at"], each["clock"]) for _, each in filings],
        "filingDate": [str(each["at"].date()) for _, each in filings],
        "form": [each["form"] for _, each in filings],
        "items": [each["items"] for _, each in filings],
    }
    for name in ("reportDate", "act", "fileNumber", "filmNumber", "primaryDocument", "primaryDocDescription"):
        columns[name] = [""] * len(filings)
    columns |= {name: [0] * len(filings) for name in ("size", "isXBRL", "isInlineXBRL")}
    return {
        "cik": cik(state),
        "name": company(state),
        "tickers": [ticker(state)],
        "exchanges": [],
        "filings": {"recent": columns, "files": []},
    }, {}


def _filing(rng: Random, _number: int) -> State:
    return {
        "at": new_york(day_in(rng), rng.randrange(7, 20), rng.randrange(60)),
        "clock": "utc",
        "form": "8-K",
        "items": "2.02",
        "val": 1,
    }


def _facts(request: Request, content: list[State]) -> Answer:
    state = of(content, request.path.rpartition("/CIK")[2][: -len(".json")], cik)
    reply = [
        {
            "end": str(DAYS[number]),
            "val": each["val"],
            "accn": accession(state, number),
            "form": each["form"],
            "filed": str(each["at"].date()),
        }
        for number, each in state["items"].items()
    ]
    return {"cik": state["number"], "facts": {"us-gaap": {"Assets": {"units": {"USD": reply}}}}}, {}


def _hits(_request: Request, content: list[State]) -> Answer:
    hits = [
        {
            "_id": f"{accession(state, number)}:a.htm",
            "_source": {
                "adsh": accession(state, number),
                "ciks": [cik(state)],
                "form": each["form"],
                "root_forms": ["8-K"],
                "file_type": each["form"],
                "file_description": None,
                "sequence": 1,
                "items": [],
                "file_date": str(each["at"].date()),
                "period_ending": None,
            },
        }
        for state in content
        for number, each in state["items"].items()
    ]
    return {"hits": {"total": {"value": len(hits), "relation": "eq"}, "hits": hits}}, {}


FILING_EDITS = {
    "fact rewritten": lambda o, r, _: o.update(val=r.randrange(1, 10**6)),
    "clock flipped": lambda o, r, _: o.update(clock=r.choice(("utc", "wrong"))),
    "items corrected": lambda o, r, _: o.update(items=r.choice(("2.02", "7.01", "2.02,9.01"))),
    "form corrected": lambda o, r, _: o.update(form=r.choice(("8-K", "8-K/A"))),
}
FILINGS = kind("edgar", _filing, FILING_EDITS)


def _companies(content: list[State]) -> Scope:
    return Scope(ciks=tuple(map(cik, content)))


FEEDS = tuple(
    Told(dataset, FILINGS, scope, answer, by("accession_no"), marks_of(lambda s, n: (accession(s, n),), accession))
    for dataset, scope, answer in (
        ("sec_filings", _companies, _submissions),
        ("sec_facts", _companies, _facts),
        ("sec_fulltext_hits", lambda h: Scope(queries=("margin",)), _hits),
    )
)
