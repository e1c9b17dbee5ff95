"""Filings and the nodes that belong to them in the graph, and edits to them."""

from collections.abc import Iterator
from datetime import datetime
from random import Random

from tests.wall.late.documents import Kind, State, flip, moved, setting, spelled
from tests.wall.late.found import Found, Label, Node, by, words

CONCEPTS = ("us-gaap:Revenues", "us-gaap:NetIncomeLoss", "us-gaap:Assets")


def filing_born(number: int, rng: Random, at: datetime) -> State:
    return {
        "number": number,
        "created": at,
        "clock": "ny",
        "form": rng.choice(("10-Q", "10-K", "8-K")),
        "unreadable": False,
        "items": ["Item 2.02: Results"],
        "ticker": f"X{number}",
        "status": "COMPLETED" if rng.random() < 0.8 else "QUEUED",
        "sections": {"RiskFactors": words(rng), "Business": words(rng)},
        "exhibits": {"EX-99.1": words(rng)},
        "text": words(rng),
        "statements": {"BalanceSheets": 1},
        "facts": {concept: [rng.randrange(1, 9_000_000), "-3", "2023-12-31"] for concept in CONCEPTS[:2]},
    }


def filing_text(state: State, rng: Random, _at: datetime) -> None:
    part, name = rng.choice(
        (("sections", "RiskFactors"), ("sections", "Legal"), ("exhibits", "EX-99.1"), ("exhibits", "EX-10.1"))
    )
    choice = rng.random()
    if choice < 0.15:
        state[part].pop(name, None)
    else:
        state[part][name] = None if choice < 0.35 else words(rng)


def filing_fact(state: State, rng: Random, _at: datetime) -> None:
    concept = rng.choice(CONCEPTS)
    if concept not in state["facts"] or rng.random() < 0.5:
        state["facts"][concept] = [rng.randrange(1, 9_000_000), "-3", "2023-12-31"]
    elif rng.random() < 0.2:
        del state["facts"][concept]
    else:
        state["facts"][concept][0] = rng.choice((rng.randrange(1, 9_000_000), "many"))


def filing_statement(state: State, rng: Random, _at: datetime) -> None:
    state["statements"][rng.choice(("BalanceSheets", "StatementsOfIncome"))] = rng.randrange(100)


def filing_moved(state: State, rng: Random, _at: datetime) -> None:
    state["created"] = moved(rng, state["created"])


def filing_found(state: State) -> Iterator[Found]:
    number = state["number"]
    accession = f"000000{number}-24-000001"
    created = "soon" if state["unreadable"] else spelled(state["created"], state["clock"])
    text = None if state["unreadable"] else created
    # Two filings share a company, so that one restates the other's figures.
    cik = f"000000{number // 2 * 2}"
    filing = Node(
        created=created,
        accession_no=accession,
        form_type=state["form"],
        report_cik=cik,
        filers=[[cik, state["ticker"]]],
        referenced=[],
        xbrl_status=state["status"],
    )
    report = Node(
        filing, items='["' + '","'.join(state["items"]) + '"]', is_amendment=False, entities="[]", exhibits="{}"
    )
    yield Found("reports", (accession,), 0, text, report)
    for dataset, part, column in (
        ("report_sections", "sections", "section_name"),
        ("exhibits", "exhibits", "exhibit_number"),
    ):
        for name, message in state[part].items():
            content = Node(filing, node=f"{accession}_{name}", content=message, **{column: name})
            yield Found(dataset, (accession, name), 0, text, content)
    if state["text"]:
        yield Found(
            "filing_texts", (accession,), 0, text, Node(filing, node=f"{accession}_text", content=state["text"])
        )
    for name, figure in state["statements"].items():
        content = Node(
            filing, node=f"{accession}_{name}", statement_type=name, value=f'{{"a":{figure}}}', period_end="2023-12-31"
        )
        yield Found("financial_statements", (accession, name), 0, text, content)
    for concept, (value, decimals, end) in state["facts"].items():
        fact = Node(
            filing,
            node=f"{accession}_{concept}",
            concept=concept,
            value=str(value),
            decimals=decimals,
            is_numeric="1",
            is_nil="0",
            fact_id="f-1",
            concepts=[[concept, "credit"]],
            periods=[["instant", end, None]],
            units=["iso4217:USD"],
            contexts=[[]],
            members=[],
        )
        yield Found("xbrl_facts", (accession, concept), 0, text, fact)
    if not state["facts"] and state["form"] != "8-K":
        yield Found("xbrl_facts", (accession, None), 1, text, filing)


LABELS = (
    Label(
        Kind(
            "filing",
            filing_born,
            {
                "text changed": filing_text,
                "part changed": filing_text,
                "fact rewritten": filing_fact,
                "fact changed": filing_fact,
                "statement changed": filing_statement,
                "acceptance moved": filing_moved,
                "clock flipped": flip,
                "items corrected": setting("items", lambda r: [words(r)]),
                "filing text changed": setting("text", lambda r: r.choice((words(r), ""))),
                "facts completed or not": setting("status", lambda r: r.choice(("COMPLETED", "QUEUED"))),
                "renamed": lambda s, r, _: s.update(ticker=f"X{s['number']}" if r.random() < 0.5 else "NEW"),
                "acceptance turns unreadable or back": lambda s, _r, _a: s.update(unreadable=not s["unreadable"]),
            },
        ),
        filing_found,
        {
            "reports": by("accession_no"),
            "filing_texts": by("accession_no"),
            "report_sections": by("accession_no", "section_name"),
            "exhibits": by("accession_no", "exhibit_number"),
            "financial_statements": by("accession_no", "statement_type"),
            "xbrl_facts": by("accession_no", "concept"),
        },
    ),
)
