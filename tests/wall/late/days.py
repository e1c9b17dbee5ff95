"""The graph's days with their bars, dividends, splits and companies, and edits to them."""

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

from tests.wall.late.documents import Edit, Kind, State, new_york, setting, spelled, weekday
from tests.wall.late.found import Found, Label, Node, by, words


def day_born(number: int, rng: Random, at: datetime) -> State:
    bars = {f"X{number}": rng.randrange(100, 200), "SPY": rng.randrange(100, 200)}
    return {"number": number, "open": True, "close": (16, 0), "clock": "blank", "bars": bars, "stamp": None}


def day_bar(state: State, rng: Random, _at: datetime) -> None:
    symbol = rng.choice(sorted({*state["bars"], f"X{state['number']}"}))
    state["bars"][symbol] = rng.choice((rng.randrange(100, 200), rng.randrange(100, 200), None))


def day_of_number(number: int) -> date:
    """Return the day of a document; each document has a different one."""
    return date(2024, 3, 4) + timedelta(days=number % 100)


def day_found(state: State) -> Iterator[Found]:
    day = day_of_number(state["number"])
    close = spelled(new_york(day, *state["close"]), state["clock"]) if state["open"] and state["close"] else None
    opens = {
        name: spelled(new_york(day, hour, 0), "blank") if state["open"] else None
        for name, hour in (("pre_market_open", 4), ("market_open", 9), ("post_market_close", 20))
    }
    record = Node(
        date=day.isoformat(),
        is_trading_day="1" if state["open"] else "0",
        market_close=close,
        previous_trading_date=(day - timedelta(days=1)).isoformat(),
        next_trading_date=(day + timedelta(days=1)).isoformat(),
        **opens,
    )
    yield Found("calendar", (day,), 0, day.isoformat(), record)
    stamp = spelled(new_york(day, *state["stamp"]), "blank") if state["stamp"] else None
    for symbol, price in state["bars"].items():
        bar = Node(
            date=day.isoformat(),
            close_at=close,
            stamp=stamp,
            label="Company",
            entity_id=symbol,
            symbol=symbol,
            open=price,
            high=price,
            low=price,
            close=price,
            vwap=price,
            volume=1000,
            transactions=10,
        )
        yield Found("prices", (symbol, day), 0, day.isoformat(), bar)


def action_born(number: int, rng: Random, at: datetime) -> State:
    declared = weekday(at.date())
    return {
        "number": number,
        "ticker": f"X{number}",
        "companies": [str(number)] if number % 3 else [],
        "declared": declared,
        "ex": declared + timedelta(days=30),
        "amount": "0.5",
        "type": "Regular",
        "linked": True,
        "ratio": ("1", "4"),
        "named": "1_4",
    }


def action_moved(state: State, rng: Random, _at: datetime) -> None:
    state["declared"] = weekday(state["declared"] + timedelta(days=rng.randrange(-20, 20)))


def action_ex(state: State, rng: Random, _at: datetime) -> None:
    state["ex"] = state["declared"] + timedelta(days=rng.randrange(10, 50))


def split_ratio(state: State, rng: Random, _at: datetime) -> None:
    """Change the ratio. If the node's id contains it, only the day names the split, so the day never changes."""
    after = str(rng.randrange(2, 20))
    state["ratio"] = ("1", after)
    if _named_by_ratio(state):
        state["named"] = f"1_{after}"


def _named_by_ratio(state: State) -> bool:
    return bool(state["number"] % 2)


def unless_named_by_ratio(change: Edit) -> Edit:
    """Return an edit that applies only to splits whose node ids do not contain the ratio."""

    def edit(state: State, rng: Random, at: datetime) -> None:
        if not _named_by_ratio(state):
            change(state, rng, at)

    return edit


def _dates(state: State) -> dict[str, Any]:
    day = state["declared"]
    nodes = [[day.isoformat(), spelled(new_york(day, 16, 0), "blank")]] if state["linked"] else []
    return {"ticker": state["ticker"], "date_nodes": nodes, "cik": state["companies"]}


def action_renamed(state: State, rng: Random, _at: datetime) -> None:
    """Change the ticker of a linked company: the graph is filled again, and its nodes have different ids."""
    if state["companies"]:
        state["ticker"] = f"X{state['number']}.{rng.randrange(9)}"


def _payer(state: State) -> tuple[str]:
    return (f"{state['number']:010}" if state["companies"] else state["ticker"],)


def payer(row: Mapping[str, Any]) -> tuple[str]:
    """Return the name of a dividend's or split's payer: the company, or the ticker if no company is linked."""
    return (row["cik"] or row["ticker"],)


def dividend_found(state: State) -> Iterator[Found]:
    record = Node(
        node=f"{state['ticker']}_div",
        declaration_date=state["declared"].isoformat(),
        dividend_type=state["type"],
        ex_dividend_date=state["ex"].isoformat(),
        record_date=state["ex"].isoformat(),
        pay_date=state["ex"].isoformat(),
        cash_amount=state["amount"],
        currency="USD",
        frequency="4",
        **_dates(state),
    )
    yield Found("dividends", _payer(state), 0, state["declared"].isoformat(), record)


def split_found(state: State) -> Iterator[Found]:
    before, after = state["ratio"]
    record = Node(
        node=f"{state['ticker']}_{state['named']}",
        execution_date=state["declared"].isoformat(),
        split_from=before,
        split_to=after,
        **_dates(state),
    )
    yield Found("splits", _payer(state), 0, state["declared"].isoformat(), record)


def company_found(state: State) -> Iterator[Found]:
    cik = f"000000{state['number']}"
    record = Node(
        node=cik, cik=cik, ticker=state["ticker"], name=state["name"], sector=state["sector"], mkt_cap="1,000"
    )
    yield Found("companies", (cik,), 0, None, record)


LABELS = (
    Label(
        Kind(
            "day",
            day_born,
            {
                "bar corrected": day_bar,
                "bar changed": day_bar,
                "stamped": setting("stamp", lambda r: r.choice((None, (16, 5), (20, 0)))),
                "close moved": setting("close", lambda r: r.choice(((13, 0), (16, 0), None))),
                "clock flipped": setting("clock", lambda r: r.choice(("ny", "utc", "blank"))),
                "trading day or not": lambda s, _r, _a: s.update(open=not s["open"]),
            },
        ),
        day_found,
        {"calendar": by("date"), "prices": by("symbol", "date")},
    ),
    Label(
        Kind(
            "dividend",
            action_born,
            {
                "amount corrected": setting("amount", lambda r: f"0.{r.randrange(1, 99):02}"),
                "ex-date corrected": action_ex,
                "type corrected": setting("type", lambda r: r.choice(("Regular", "Special"))),
                "declaration moved": action_moved,
                "amount lost": setting("amount", lambda r: "0.0"),
                "company renamed": action_renamed,
                "day unlinked or back": lambda s, _r, _a: s.update(linked=not s["linked"]),
            },
        ),
        dividend_found,
        {"dividends": payer},
    ),
    Label(
        Kind(
            "split",
            action_born,
            {
                "ratio corrected": split_ratio,
                "company renamed": action_renamed,
                "execution moved": unless_named_by_ratio(action_moved),
                "ratio lost": unless_named_by_ratio(setting("ratio", lambda r: ("1", "many"))),
                "day unlinked or back": unless_named_by_ratio(lambda s, _r, _a: s.update(linked=not s["linked"])),
            },
        ),
        split_found,
        {"splits": payer},
    ),
    Label(
        Kind(
            "company",
            lambda n, r, _: {"number": n, "ticker": f"X{n}", "name": words(r), "sector": "A"},
            {
                "renamed": setting("name", words),
                "sector corrected": setting("sector", lambda r: r.choice("ABC")),
                "ticker changed": setting("ticker", lambda r: r.choice(("NEW", "OLD", None))),
            },
        ),
        company_found,
        {"companies": by("cik")},
    ),
)
