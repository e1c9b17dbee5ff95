"""Providers of figures: the responses of Polygon, Alpha Vantage, Yahoo, ALFRED and FRED-MD, and their corrections."""

import json
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from email.utils import format_datetime
from random import Random
from typing import Any

from assets.external.alpha_vantage import av_estimates
from assets.feeds.feed import Scope
from pitlake.clock import new_york_day
from resources.http.capture import Request
from tests.wall.late.answers import (
    DAYS,
    SPRING,
    Answer,
    Told,
    by_ticker,
    day_in,
    kind,
    marks_of,
    of,
    shifted,
    ticker,
    tickers,
)
from tests.wall.late.documents import State, new_york
from tests.wall.late.found import by


def _results(request: Request, content: list[State], reply: Callable[[State, int, State], State]) -> Answer:
    state = of(content, dict(request.query)["ticker"])
    return {"status": "OK", "results": [reply(state, number, each) for number, each in state["items"].items()]}, {}


def _dividend(state: State, number: int, item: State) -> State:
    reply = {
        "ticker": ticker(state),
        "cash_amount": item["amount"],
        "ex_dividend_date": str(item["ex"]),
        "dividend_type": "CD",
        "frequency": number,
        "declaration_date": item["declared"] and str(item["declared"]),
        "id": item["id"],
    }
    return {name: value for name, value in reply.items() if value is not None}


def _split(state: State, number: int, item: State) -> State:
    reply = {
        "ticker": ticker(state),
        "execution_date": str(item["ex"]),
        "split_from": number + 1,
        "split_to": item["to"],
        "id": item["id"],
    }
    return {name: value for name, value in reply.items() if value is not None}


def _new_id(item: State, rng: Random, _at: datetime) -> None:
    item["id"] = f"id{rng.randrange(10**6)}"


def _amount(rng: Random) -> float:
    return rng.randrange(1, 99) / 100


DIVIDENDS = kind(
    "polygon_dividends",
    lambda r, n: {
        "amount": _amount(r),
        "ex": SPRING + timedelta(days=40 * n + 20),
        "declared": SPRING + timedelta(days=40 * n),
        "id": r.choice((None, f"id{r.randrange(10**6)}")),
    },
    {
        "amount corrected": lambda o, r, _: o.update(amount=_amount(r)),
        "id replaced": _new_id,
        "ex-date corrected": lambda o, r, _: o.update(ex=o["ex"] + timedelta(days=r.choice((-1, 1)))),
        "declaration moved": lambda o, r, _: o.update(declared=SPRING + timedelta(days=r.randrange(90))),
        "declaration lost or back": lambda o, r, _: o.update(declared=None if o["declared"] else day_in(r)),
    },
)
SPLITS = kind(
    "polygon_splits",
    lambda r, n: {"ex": SPRING + timedelta(days=40 * n), "to": r.randrange(2, 20), "id": None},
    {
        "ratio corrected": lambda o, r, _: o.update(to=r.randrange(2, 20)),
        "execution moved": lambda o, r, _: o.update(ex=o["ex"] + timedelta(days=r.choice((-1, 1)))),
        "id replaced": _new_id,
    },
)


def _bars(request: Request, content: list[State], series: str, meta: State) -> Answer:
    state = of(content, dict(request.query)["symbol"])
    bars = {
        each["stamp"]: dict.fromkeys(("1. open", "2. high", "3. low", "4. close"), f"{each['price']}.0")
        | {"5. volume": "9"}
        for each in state["items"].values()
    }
    return {"Meta Data": {"2. Symbol": ticker(state), **meta}, series: bars}, {}


WINDOW = timedelta(days=30)
DAILY = {"3. Last Refreshed": "2024-07-30", "5. Time Zone": "US/Eastern"}
WEEKLY = {"3. Last Refreshed": "2024-07-30", "4. Time Zone": "US/Eastern"}
INTRADAY = {"3. Last Refreshed": "2024-07-30 19:55:00", "4. Interval": "5min", "6. Time Zone": "US/Eastern"}
PRICE = {"corrected": lambda o, r, _: o.update(price=r.randrange(100, 200))}


def _day(item: State) -> date:
    return date.fromisoformat(item["stamp"][:10])


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _friday(day: date) -> date:
    return _monday(day) + timedelta(days=4)


def _within_window(state: State, at: datetime) -> State:
    """Return the state with only the bars that are still reported: those of the last thirty days."""
    first = new_york_day(at) - WINDOW
    return state | {"items": {number: each for number, each in state["items"].items() if _day(each) >= first}}


def _after_the_first_day(content: list[State], at: datetime, row: Mapping[str, Any]) -> bool:
    """Return whether a bar is later than a response's first day, which may be incomplete."""
    reply = [_day(item) for state in content if ticker(state) == row["ticker"] for item in state["items"].values()]
    return new_york_day(row["bar_start"]) > min(reply, default=new_york_day(at) - WINDOW)


def _earnings(request: Request, content: list[State]) -> Answer:
    state = of(content, dict(request.query)["symbol"])
    quarters = [
        {
            "fiscalDateEnding": QUARTERS[number],
            "reportedDate": str(each["day"]) if each["day"] else "None",
            "reportedEPS": str(each["eps"]) if each["eps"] else "None",
            "estimatedEPS": "1.5",
            "surprise": "0.03",
            "surprisePercentage": "2",
            "reportTime": each["time"],
        }
        for number, each in state["items"].items()
    ]
    return {"symbol": ticker(state), "annualEarnings": [], "quarterlyEarnings": quarters}, {}


QUARTERS = ("2023-12-31", "2023-09-30", "2023-06-30", "2023-03-31")


FIGURES = tuple(av_estimates.PARSERS)


def _estimates(request: Request, content: list[State]) -> Answer:
    state = of(content, dict(request.query)["symbol"])
    reply = [
        dict.fromkeys(FIGURES) | {"date": QUARTERS[number], "horizon": "fiscal quarter", FIGURES[0]: str(each["price"])}
        for number, each in state["items"].items()
    ]
    return {"symbol": ticker(state), "estimates": reply}, {}


def _coming(request: Request, content: list[State]) -> Answer:
    state = of(content, dict(request.query)["symbol"])
    head = "symbol,name,reportDate,fiscalDateEnding,estimate,currency,timeOfTheDay"
    lines = [
        f"{ticker(state)},NAME,{each['day']},{QUARTERS[number]},{each['price']},USD,post-market"
        for number, each in state["items"].items()
    ]
    return "\r\n".join([head, *lines, ""]).encode(), {"content-type": "application/x-download"}


def _event(rng: Random, number: int) -> State:
    eps = rng.choice((None, 1.5, 1.5))
    return {"day": SPRING + timedelta(days=30 * number), "eps": eps, "lost": eps is None}


def _event_moved(item: State, rng: Random, _at: datetime) -> None:
    """Move an event by a day, unless it has no figure: then only its day names it."""
    if not item["lost"]:
        item["day"] += timedelta(days=rng.choice((-1, 1)))


def _events(request: Request, content: list[State]) -> Answer:
    message = json.dumps(request.json)
    state = next(each for each in content if f'"{ticker(each)}"' in message)
    columns = [
        {"id": name} for name in ("startdatetime", "timeZoneShortName", "epsestimate", "epsactual", "epssurprisepct")
    ]
    rows = [
        [f"{each['day']}{_minute(state)}", "EDT", float(number), each["eps"], 2.0]
        for number, each in state["items"].items()
    ]
    return {"finance": {"result": [{"documents": [{"columns": columns, "rows": rows}]}], "error": None}}, {}


def _minute(state: State, _number: int = 0) -> str:
    """Return the minute at which all events of a company begin, by which gaps about them name the company."""
    return f"T20:{state['number'] % 60:02}:00Z"


def _ratings(request: Request, content: list[State]) -> Answer:
    state = of(content, request.path.rpartition("/")[2])
    history = [
        {
            "epochGradeDate": int(new_york(DAYS[number], 9, 30).timestamp()) + 3600 * each["moved"],
            "firm": f"Firm {number}",
            "toGrade": each["to"],
            "fromGrade": "Hold",
            "action": "up",
            "currentPriceTarget": each["price"],
            "priorPriceTarget": 0,
        }
        for number, each in state["items"].items()
    ]
    return {"quoteSummary": {"result": [{"upgradeDowngradeHistory": {"history": history}}], "error": None}}, {}


def _series(request: Request, content: list[State]) -> Answer:
    query = dict(request.query)
    if request.path == "release/dates":
        state = next(each for each in content if each["number"] == int(query["release_id"]))
        return {
            "count": 4,
            "release_dates": [{"release_id": state["number"], "date": day} for day in _vintages(state)],
        }, {}
    state = of(content, query["series_id"], series)
    if request.path == "series/release":
        return {"releases": [{"id": state["number"]}]}, {}
    if request.path == "series/vintagedates":
        return {"count": len(state["items"]), "vintage_dates": _vintages(state)}, {}
    reply = [
        {"realtime_start": item["day"], "realtime_end": "9999-12-31", "date": "2024-01-01", "value": str(item["price"])}
        for item in state["items"].values()
    ]
    return {"count": len(reply), "limit": 100_000, "offset": 0, "observations": reply}, {}


def _vintages(state: State) -> list[str]:
    return sorted(item["day"] for item in state["items"].values())


def series(state: State) -> str:
    """Return the id of a document's series."""
    return f"S{state['number']}"


def _panel(_request: Request, content: list[State]) -> Answer:
    months = {number for state in content for number in state["items"]}
    lines = ["sasdate," + ",".join(map(series, content)), "Transform:" + ",5" * len(content)]
    for number in sorted(months):
        reply = (str(state["items"].get(number, {}).get("price", "")) for state in content)
        lines += [f"{number + 9}/1/2023," + ",".join(reply)]
    output = max(
        (item["modified"] for state in content for item in state["items"].values() if item["modified"]), default=None
    )
    header = {"last-modified": format_datetime(output, usegmt=True)} if output else {}
    return "\n".join(lines).encode(), {"content-type": "text/csv", **header}


REPORTED = {
    "figure corrected": lambda o, r, _: o.update(eps=r.randrange(1, 400) / 100),
    "figure lost": lambda o, _r, _a: o.update(eps=None),
    "day corrected": lambda o, r, _: o.update(day=shifted(r, o["day"]) if o["day"] else day_in(r)),
}


FEEDS = (
    Told(
        "polygon_dividends",
        DIVIDENDS,
        tickers,
        lambda q, h: _results(q, h, _dividend),
        by("ticker", "frequency"),
        marks_of(
            lambda s, n: (ticker(s), n),
            by_ticker,
            lambda s, n: str(s["items"][n]["ex"]) if n in s["items"] else "-none-",
        ),
    ),
    Told(
        "polygon_splits",
        SPLITS,
        tickers,
        lambda q, h: _results(q, h, _split),
        by("ticker", "split_from"),
        marks_of(
            lambda s, n: (ticker(s), float(n + 1)),
            by_ticker,
            lambda s, n: str(s["items"][n]["ex"]) if n in s["items"] else "-none-",
        ),
    ),
    Told(
        "av_daily_bars",
        kind("av_daily_bars", lambda r, n: {"stamp": str(DAYS[n]), "price": r.randrange(100, 200)}, PRICE),
        tickers,
        lambda q, h: _bars(q, h, "Time Series (Daily)", DAILY),
        by("ticker", "date"),
        marks_of(lambda s, n: (ticker(s), DAYS[n]), by_ticker, lambda s, n: str(DAYS[n])),
    ),
    Told(
        "av_period_bars",
        kind("av_period_bars", lambda r, n: {"stamp": str(_friday(DAYS[n])), "price": r.randrange(100, 200)}, PRICE),
        tickers,
        lambda q, h: _bars(q, h, "Weekly Time Series", WEEKLY),
        by("ticker", "period_start"),
        marks_of(lambda s, n: (ticker(s), _monday(DAYS[n])), by_ticker, lambda s, n: str(_monday(DAYS[n]))),
    ),
    Told(
        "av_intraday_bars",
        kind("av_intraday_bars", lambda r, n: {"stamp": f"{DAYS[n]} 10:00:00", "price": r.randrange(100, 200)}, PRICE),
        tickers,
        lambda q, h: _bars(q, h, "Time Series (5min)", INTRADAY),
        by("ticker", "bar_start"),
        marks_of(lambda s, n: (ticker(s), new_york(DAYS[n], 10, 0)), by_ticker, lambda s, n: str(DAYS[n])),
        _within_window,
        _after_the_first_day,
    ),
    Told(
        "av_earnings",
        kind(
            "av_earnings",
            lambda r, n: {"day": r.choice((None, day_in(r))), "eps": r.choice((None, 1.5)), "time": "post-market"},
            REPORTED,
        ),
        tickers,
        _earnings,
        by("ticker", "fiscal_date_ending"),
        marks_of(lambda s, n: (ticker(s), date.fromisoformat(QUARTERS[n])), by_ticker, lambda s, n: QUARTERS[n]),
    ),
    Told(
        "av_estimates",
        kind("av_estimates", lambda r, n: {"price": r.randrange(1, 9)}, PRICE),
        tickers,
        _estimates,
        by("ticker", "fiscal_date_ending"),
        marks_of(lambda s, n: (ticker(s), date.fromisoformat(QUARTERS[n])), by_ticker, lambda s, n: QUARTERS[n]),
    ),
    Told(
        "av_earnings_calendar",
        kind(
            "av_earnings_calendar",
            lambda r, n: {"price": r.randrange(1, 9), "day": day_in(r) + timedelta(days=200)},
            PRICE,
        ),
        tickers,
        _coming,
        by("ticker", "fiscal_date_ending"),
        marks_of(lambda s, n: (ticker(s), date.fromisoformat(QUARTERS[n])), by_ticker, lambda s, n: QUARTERS[n]),
    ),
    Told(
        "yahoo_earnings",
        kind(
            "yahoo_earnings",
            _event,
            REPORTED | {"day corrected": _event_moved, "figure lost": lambda o, _r, _a: o.update(eps=None, lost=True)},
        ),
        tickers,
        _events,
        by("ticker", "estimated_eps"),
        marks_of(
            lambda s, n: (ticker(s), float(n)),
            _minute,
            lambda s, n: str(s["items"][n]["day"]) if n in s["items"] else "-none-",
        ),
    ),
    Told(
        "yahoo_upgrades",
        kind(
            "yahoo_upgrades",
            lambda r, n: {"to": "Buy", "price": r.randrange(100, 200), "moved": 0},
            PRICE
            | {
                "grade corrected": lambda o, r, _: o.update(to=r.choice(("Buy", "Sell", "Hold"))),
                "instant corrected": lambda o, r, _: o.update(moved=r.randrange(-70, 70)),
            },
        ),
        tickers,
        _ratings,
        by("ticker", "firm"),
        marks_of(lambda s, n: (ticker(s), f"Firm {n}"), by_ticker, lambda s, n: f"Firm {n}"),
    ),
    Told(
        "macro_observations",
        kind("macro_observations", lambda r, n: {"day": str(DAYS[n]), "price": r.randrange(1, 99)}, PRICE),
        lambda h: Scope(series=tuple(map(series, h))),
        _series,
        by("series_id", "vintage_date"),
        marks_of(lambda s, n: (series(s), DAYS[n]), lambda s, n: series(s), lambda s, n: str(DAYS[n])),
    ),
    Told(
        "macro_panels",
        kind(
            "macro_panels",
            lambda r, n: {"price": r.randrange(1, 99), "modified": None},
            PRICE | {"file written": lambda o, _r, at: o.update(modified=at.replace(microsecond=0))},
        ),
        lambda h: Scope(series=("2024-01",)),
        _panel,
        by("series", "observation_date"),
        marks_of(
            lambda s, n: (series(s), date(2023, n + 9, 1)), lambda s, n: series(s), lambda s, n: f"{n + 9}/1/2023"
        ),
    ),
)
