"""Providers of text: the responses of Benzinga, earningscall.biz, Perplexity and web pages, and their changes."""

from datetime import datetime, timedelta
from email.utils import format_datetime
from random import Random

from assets.feeds.feed import Scope
from resources.http.capture import Request
from tests.wall.late.answers import DAYS, SPRING, Answer, Told, by_ticker, company, day_in, kind, marks_of, of, ticker
from tests.wall.late.documents import State, claimed, moved, new_york, spelled
from tests.wall.late.found import by, words

BEFORE_ANY = new_york(SPRING - timedelta(days=40))  # earlier than any time that a source gives for an update


def _article(state: State, number: int, item: State) -> State:
    text = "" if item["blank"] else item["said"]
    updated = "soon" if item["unreadable"] else format_datetime(item["updated"])
    return {
        "id": state["number"] * 10 + number,
        "author": "A",
        "created": format_datetime(item["created"]),
        "updated": updated,
        "title": text,
        "teaser": "",
        "body": text,
        "stocks": [{"name": ticker(state)}],
        "channels": [],
        "tags": [],
    }


def _articles(_request: Request, content: list[State]) -> Answer:
    return [_article(state, n, each) for state in content for n, each in state["items"].items()], {}


def _rewritten(item: State, rng: Random, at: datetime) -> None:
    item["said"], item["blank"] = words(rng), False
    if rng.random() < 0.5:
        item["updated"] = at.replace(microsecond=0)


def _listed(request: Request, content: list[State]) -> Answer:
    state = of(content, dict(request.query)["symbol"])
    reply = [
        {"year": 2024, "quarter": number + 1, "conference_date": each["start"] and spelled(each["start"], "ny")}
        for number, each in state["items"].items()
    ]
    if request.path == "events":
        return {"company_name": company(state), "events": reply}, {}
    quarter = int(dict(request.query)["quarter"])
    item = state["items"].get(quarter - 1)
    if item is None:
        return (None if request.path == "slides" else {}), {}
    modified = {"last-modified": format_datetime(item["modified"], usegmt=True)} if item["modified"] else {}
    if request.path == "slides":
        return f"%PDF-1.7 {item['said']}".encode(), {"content-type": "application/pdf", **modified}
    event = {"year": 2024, "quarter": quarter, "conference_date": item["start"] and spelled(item["start"], "ny")}
    message = [{"speaker": "spk01", "text": item["said"]}]
    return {"event": event, "speakers": message}, modified


def _call(rng: Random, number: int) -> State:
    return {"start": new_york(DAYS[number], 17, 0), "said": words(rng), "modified": None}


def _calendar(_request: Request, content: list[State]) -> Answer:
    reply = [
        {
            "exchange": "NYSE",
            "symbol": ticker(state),
            "year": 2024,
            "quarter": number + 1,
            "conference_date": each["start"] and spelled(each["start"], "ny"),
            "company_name": company(state),
            "transcript_ready": each["modified"] is not None,
        }
        for state in content
        for number, each in state["items"].items()
    ]
    return reply, {}


def _quarters(content: list[State]) -> Scope:
    companies = tuple(f"NYSE:{ticker(each)}" for each in content)
    return Scope(tickers=companies, options={"quarters": "2024Q1,2024Q2,2024Q3"})


CALL_EDITS = {
    "rewritten": lambda o, r, _: o.update(said=r.choice((words(r), words(r), " "))),
    "start moved": lambda o, r, _: o.update(start=moved(r, o["start"]) if o["start"] else new_york(day_in(r), 17, 0)),
    "start lost": lambda o, _r, _a: o.update(start=None),
    "file written": lambda o, r, at: o.update(modified=r.choice((None, at.replace(microsecond=0)))),
}


def _found(_request: Request, content: list[State]) -> Answer:
    reply = [
        {
            "title": each["said"],
            "url": f"https://example.com/{state['number']}/{number}",
            "snippet": each["said"],
            "date": each["day"] and str(each["day"]),
            "last_updated": each["updated"] and str(each["updated"]),
        }
        for state in content
        for number, each in state["items"].items()
    ]
    return {"id": "s", "results": reply}, {}


def _page(request: Request, content: list[State]) -> Answer:
    _, number, item = request.path.rstrip("/").rsplit("/", 2)
    state = next(each for each in content if str(each["number"]) == number)
    each = state["items"].get(int(item))
    if each is None:
        return b"<html></html>", {"content-type": "text/html; charset=utf-8"}
    claims = [("article:published_time", each["at"]), ("article:modified_time", each["updated"])]
    text = "".join(f'<meta property="{name}" content="{at.isoformat()}">' for name, at in claims if at is not None)
    title = f"<title>{each['said']}</title>{text}"
    html = f"<!doctype html><html><head>{title}</head><body><p>{each['said']}</p></body></html>"
    return html.encode(), {"content-type": "text/html; charset=utf-8"}


def _pages(content: list[State]) -> Scope:
    urls = tuple(f"https://www.prnewswire.com/{each['number']}/{n}" for each in content for n in range(3))
    return Scope(queries=urls)


def _story(rng: Random, _number: int) -> State:
    at = new_york(day_in(rng), 10, 30)
    return {"said": words(rng), "blank": rng.random() < 0.3, "created": at, "updated": at, "unreadable": False}


NEWS = kind(
    "benzinga_news",
    _story,
    {
        "rewritten": _rewritten,
        "text appears": _rewritten,
        "blanked": lambda o, r, at: o.update(blank=True, updated=r.choice((o["updated"], at.replace(microsecond=0)))),
        "rewritten, its claim moved": lambda o, r, at: o.update(
            said=words(r), updated=claimed(r, o["updated"], at).replace(microsecond=0)
        ),
        "update turns unreadable or back": lambda o, _r, _a: o.update(unreadable=not o["unreadable"]),
    },
)
PAGES = kind(
    "web_pages",
    lambda r, n: {"said": words(r), "at": r.choice((None, new_york(day_in(r), 10, 30))), "updated": None},
    {
        "rewritten": lambda o, r, _: o.update(said=words(r)),
        "rewritten with its date": lambda o, r, at: o.update(said=words(r), updated=at.replace(microsecond=0)),
        "claim moved": lambda o, r, _: o.update(at=moved(r, o["at"]) if o["at"] else new_york(day_in(r), 10, 30)),
        "date lost": lambda o, _r, _a: o.update(at=None, updated=None),
    },
)
RESULTS = kind(
    "web_results",
    lambda r, n: {"said": words(r), "day": r.choice((None, day_in(r))), "updated": None},
    {
        "rewritten": lambda o, r, _: o.update(said=words(r)),
        "rewritten with its date": lambda o, r, at: o.update(said=words(r), updated=at.date()),
        "claim moved": lambda o, r, _: o.update(day=day_in(r)),
        "date lost": lambda o, _r, _a: o.update(day=None, updated=None),
    },
)

FEEDS = (
    Told(
        "benzinga_news",
        NEWS,
        lambda h: Scope(updated_since=BEFORE_ANY),
        _articles,
        by("id"),
        marks_of(lambda s, n: (str(s["number"] * 10 + n),), lambda s, n: f"item={s['number'] * 10 + n}"),
    ),
    Told(
        "call_events",
        kind("call_events", _call, CALL_EDITS),
        lambda h: Scope(tickers=tuple(f"NYSE:{ticker(each)}" for each in h)),
        _listed,
        by("ticker", "fiscal_quarter"),
        marks_of(lambda s, n: (ticker(s), n + 1), by_ticker, lambda s, n: f"/2024/{n + 1}"),
    ),
    *(
        Told(
            name,
            kind(name, _call, CALL_EDITS),
            _quarters,
            _listed,
            by("ticker", "fiscal_quarter"),
            marks_of(lambda s, n: (ticker(s), n + 1), by_ticker, lambda s, n: f"2024Q{n + 1}"),
        )
        for name in ("call_transcripts", "call_slides")
    ),
    Told(
        "call_calendar",
        kind("call_calendar", _call, CALL_EDITS),
        lambda h: Scope(date_from=SPRING),
        _calendar,
        by("ticker", "fiscal_quarter"),
        marks_of(lambda s, n: (ticker(s), n + 1), by_ticker, lambda s, n: f"/2024/{n + 1}"),
    ),
    Told(
        "web_results",
        RESULTS,
        lambda h: Scope(queries=("a question",)),
        _found,
        by("url"),
        marks_of(
            lambda s, n: (f"https://example.com/{s['number']}/{n}",), lambda s, n: f"example.com/{s['number']}/{n}"
        ),
    ),
    Told(
        "web_pages",
        PAGES,
        _pages,
        _page,
        by("url"),
        marks_of(lambda s, n: (f"https://www.prnewswire.com/{s['number']}/{n}",), lambda s, n: f"/{s['number']}/{n}"),
    ),
)
