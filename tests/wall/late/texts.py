"""Articles and calls in the graph with their embeddings, and edits to them."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from random import Random
from typing import Any

from tests.wall.late.documents import Edit, Kind, State, claimed, flip, moved, setting, spelled
from tests.wall.late.found import Found, Label, Node, Thing, by, vector, words


def news_born(number: int, rng: Random, at: datetime) -> State:
    blank = rng.random() < 0.25
    return {
        "number": number,
        "created": at,
        "updated": at,
        "clock": "ny",
        "version": 1,
        "blank": blank,
        "said": words(rng),
        "tags": words(rng).split(),
        "tickers": [f"X{number}"],
        "unreadable": False,
        "vector": None if blank or rng.random() < 0.3 else (1, 0),
    }


def _honest(state: State, rng: Random, at: datetime) -> None:
    if rng.random() < 0.5:
        state["updated"] = at


def news_rewritten(state: State, rng: Random, at: datetime) -> None:
    state["version"] += 1
    state["said"], state["blank"] = words(rng), False
    _honest(state, rng, at)
    if rng.random() < 0.7:
        state["vector"] = (state["version"], 0)


def news_blanked(state: State, rng: Random, at: datetime) -> None:
    state["blank"] = True
    _honest(state, rng, at)


def news_claim_moved(state: State, rng: Random, at: datetime) -> None:
    news_rewritten(state, rng, at)
    state["updated"] = claimed(rng, state["updated"], at)


def news_created_moved(state: State, rng: Random, _at: datetime) -> None:
    state["created"] = moved(rng, state["created"])


def news_vector(state: State, rng: Random, _at: datetime) -> None:
    run = state["vector"][1] + 1 if state["vector"] else 0
    state["vector"] = rng.choice((None, (state["version"], run), (state["version"], run)))


def news_found(state: State) -> Iterator[Found]:
    node = f"bzNews_{state['number']}"
    created = spelled(state["created"], state["clock"])
    updated = "soon" if state["unreadable"] else spelled(state["updated"], state["clock"])
    latest = max(updated, created)
    reply = None if state["blank"] else f"{state['said']} v{state['version']}"
    record = Node(
        id=node,
        title=reply,
        teaser=None,
        body=reply,
        url=f"https://example.com/{node}",
        authors='["A. Writer"]',
        channels='["News"]',
        tags=f'["{state["tags"][0]}"]',
        market_session=None,
        created=created,
        updated=updated,
        latest=latest,
        tickers=state["tickers"],
    )
    text = None if state["unreadable"] else latest
    yield Found("news", (node,), 0, text, record)
    if state["vector"]:
        version, run = state["vector"]
        told_by = Node(record, kind="news", vector=vector(version, run, state["number"]))
        yield Found("embeddings", ("news", node), 0, text, told_by)


def call_born(number: int, rng: Random, at: datetime) -> State:
    return {
        "number": number,
        "start": at.replace(second=0),
        "clock": "ny",
        "node": f"X{number}_call",
        "fiscal_year": 2024,
        "remarks": words(rng),
        "full": words(rng),
        "ticker": f"X{number}",
        "unreadable": False,
        "exchanges": {n: [1, words(rng), None if rng.random() < 0.3 else (1, 0)] for n in range(2)},
    }


def call_exchange(state: State, rng: Random, _at: datetime) -> None:
    number = rng.randrange(3)
    version = state["exchanges"][number][0] + 1 if number in state["exchanges"] else 1
    if version > 1 and rng.random() < 0.2:
        del state["exchanges"][number]
    else:
        state["exchanges"][number] = [version, words(rng), (version, 0) if rng.random() < 0.6 else None]


def call_vector(state: State, rng: Random, _at: datetime) -> None:
    for exchange in state["exchanges"].values():
        if rng.random() < 0.6:
            exchange[2] = (exchange[0], exchange[2][1] + 1 if exchange[2] else 0)


def call_moved(state: State, rng: Random, _at: datetime) -> None:
    state["start"] = moved(rng, state["start"])


def either(what: str, edit: Edit) -> Edit:
    """Return an edit of a call's start or of its node, never of both: they would make it another call."""

    def edited(state: State, rng: Random, at: datetime) -> None:
        if state.setdefault("edited", what) == what:
            edit(state, rng, at)

    return edited


def call_found(state: State) -> Iterator[Found]:
    start = "soon" if state["unreadable"] else spelled(state["start"], state["clock"])
    text = None if state["unreadable"] else start
    call = Node(
        call_node=state["node"],
        ticker=state["ticker"],
        conference_datetime=start,
        exchange_count=len(state["exchanges"]),
    )
    name = f"X{state['number']}"
    more = {"company_name": name, "fiscal_year": str(state["fiscal_year"]), "fiscal_quarter": "1", "speakers": "{}"}
    full = {"qa_sections": [], "full_texts": [state["full"]] if state["full"] else []}
    yield Found("transcripts", (name,), 0, text, Node(call, **more, **full))
    remark = Node(call, node=f"{name}_pr", content=f'["{state["remarks"]}"]' if state["remarks"] else None)
    yield Found("prepared_remarks", (name,), 0, text, remark)
    for number, (version, message, embedded) in state["exchanges"].items():
        place = Node(call, node=f"{name}_qa__{number}", sequence=str(number))
        spoken = Node(place, questioner="A. Analyst", exchanges=f'[{{"text":"{message} v{version}"}}]')
        yield Found("qa_exchanges", (name, number), 0, text, spoken)
        if embedded:
            told_by = Node(place, kind="qa_exchange", vector=vector(*embedded, state["number"]))
            yield Found("embeddings", (name, str(number)), 1, text, told_by)


def name_of_vector(row: Mapping[str, Any]) -> Thing:
    """Return the key of the article or exchange from which a vector was made."""
    return ("news", row["id"]) if row["kind"] == "news" else (row["ticker"], row["id"].rpartition("_qa__")[2])


LABELS = (
    Label(
        Kind(
            "news",
            news_born,
            {
                "rewritten": news_rewritten,
                "text blanked": news_blanked,
                "text appears": news_rewritten,
                "rewritten, its claim moved": news_claim_moved,
                "created moved": news_created_moved,
                "clock flipped": flip,
                "tickers corrected": lambda s, r, _: s.update(tickers=[f"X{s['number']}", r.choice("ABC")]),
                "tags corrected": setting("tags", lambda r: words(r).split()),
                "vector recomputed": news_vector,
                "update turns unreadable or back": lambda s, _r, _a: s.update(unreadable=not s["unreadable"]),
            },
        ),
        news_found,
        {"news": by("id"), "embeddings": name_of_vector},
    ),
    Label(
        Kind(
            "call",
            call_born,
            {
                "exchange rewritten": call_exchange,
                "exchange changed": call_exchange,
                "vectors recomputed": call_vector,
                "start moved": either("start", call_moved),
                "clock flipped": either("start", flip),
                "year corrected": setting("fiscal_year", lambda r: r.randrange(2020, 2030)),
                "remarks changed": setting("remarks", lambda r: r.choice((words(r), words(r), ""))),
                "full text changed": setting("full", lambda r: r.choice((words(r), ""))),
                "node replaced": either("node", lambda s, r, _: s.update(node=f"X{s['number']}_2024_{r.randrange(9)}")),
                "ticker blanked or back": lambda s, _r, _a: s.update(ticker=None if s["ticker"] else f"X{s['number']}"),
                "start turns unreadable or back": lambda s, _r, _a: s.update(unreadable=not s["unreadable"]),
            },
        ),
        call_found,
        {
            "transcripts": by("ticker"),
            "prepared_remarks": by("ticker"),
            "qa_exchanges": by("ticker", "sequence"),
            "embeddings": name_of_vector,
        },
    ),
)
