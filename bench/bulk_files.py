"""Made companyfacts.zip and submissions.zip in EDGAR's shapes. Sizes of companies are log-normal: most are small, and a
large one has some hundred times the facts of a small one.
"""

import json
import random
import zipfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import date, timedelta
from pathlib import Path

import numpy as np

QUARTERS = [date(year, month, 28) for year in range(2009, 2026) for month in (3, 6, 9, 12)]
WORDS = ("Accrued", "Asset", "Benefit", "Capital", "Cost", "Current", "Debt", "Deferred", "Gain", "Income", "Loss")
RECENT = 1_000
AT_ONCE = 200
SAME = {
    "reportDate": "", "act": "34", "fileNumber": "001-36743", "filmNumber": "25567906", "items": "", "size": 4711,
    "isXBRL": 1, "isInlineXBRL": 1, "primaryDocument": "report.htm", "primaryDocDescription": "",
}  # fmt: skip

Filing = tuple[str, date, str]


def make(folder: Path, companies: int, facts: int) -> list[Path]:
    """Write both files with about `facts` facts, and return their paths."""
    shares = np.random.default_rng(1).lognormal(0, 1.2, companies)
    sizes = np.maximum(1, shares / shares.sum() * facts).astype(int).tolist()
    paths = [folder / "companyfacts.zip", folder / "submissions.zip"]
    with (
        ProcessPoolExecutor() as pool,
        zipfile.ZipFile(paths[0], "w", zipfile.ZIP_DEFLATED) as of_facts,
        zipfile.ZipFile(paths[1], "w", zipfile.ZIP_DEFLATED) as of_submissions,
    ):
        for start in range(0, companies, AT_ONCE):
            numbers = range(start, min(start + AT_ONCE, companies))
            for facts_member, *submissions in pool.map(company, sizes[start : start + AT_ONCE], numbers, chunksize=10):
                of_facts.writestr(*facts_member)
                for member in submissions:
                    of_submissions.writestr(*member)
    return paths


def company(size: int, number: int) -> list[tuple[str, bytes]]:
    """Return a company of about `size` facts as members of the files: its facts, its submissions, and older pages."""
    cik, chance = f"{1000 + 7 * number:010d}", random.Random(number)
    ends = QUARTERS[-max(1, min(len(QUARTERS), round((size / 3) ** 0.5))) :]
    filings = [
        (f"{cik}-{end:%y}-{place:06d}", end + timedelta(days=chance.randrange(25, 75)), "10-Q")
        for place, end in enumerate(ends)
    ]
    concepts = [_concept(place, ends, filings, chance) for place in range(max(1, size * 13 // 10 // len(ends)))]
    facts = f'{{"cik":{int(cik)},"entityName":"Company {number}","facts":{{"us-gaap":{{{",".join(concepts)}}}}}}}'
    return [(f"CIK{cik}.json", facts.encode()), *_submissions(cik, number, filings, size)]


def _concept(place: int, ends: list[date], filings: list[Filing], chance: random.Random) -> str:
    """Return a concept that half of the reports state, each for its own quarter and for the same of the year before."""
    name, unit = "".join(WORDS[place * step % len(WORDS)] for step in (1, 2, 5)) + str(place), "USD"
    first = chance.randrange(len(ends))
    span = range(first, min(len(ends), first + len(ends) // 2 + 1))
    figures = {at: int(chance.lognormvariate(12, 3)) * 1000 for at in range(first - 4, span.stop)}
    listed = []
    for at in span:
        number, filed, form = filings[at]
        for stated in {at - 4, at} - set(range(-4, 0)):
            end = ends[stated]
            start = "" if place % 2 else f'"start":"{end - timedelta(days=91)}",'
            period = f'{start}"end":"{end}","val":{figures[stated]},"accn":"{number}","fy":{ends[at].year}'
            listed.append(f'{{{period},"fp":"Q{ends[at].month // 3}","form":"{form}","filed":"{filed}"}}')
    return f'"{name}":{{"label":"{name}","description":"{" ".join(WORDS)}","units":{{"{unit}":[{",".join(listed)}]}}}}'


def _submissions(cik: str, number: int, reports: list[Filing], size: int) -> Iterator[tuple[str, bytes]]:
    others, first = 40 + size // 20, date(2008, 1, 2)
    filings = reports + [(f"{cik}-99-{at:06d}", first + timedelta(at * 6_000 // others), "4") for at in range(others)]
    filings.sort(key=lambda filing: filing[1], reverse=True)
    older = [filings[start : start + 2 * RECENT] for start in range(RECENT, len(filings), 2 * RECENT)]
    pages = {f"CIK{cik}-submissions-{place:03d}.json": page for place, page in enumerate(older, 1)}
    files = [
        {"name": name, "filingCount": len(page), "filingFrom": str(page[-1][1]), "filingTo": str(page[0][1])}
        for name, page in pages.items()
    ]
    main = {"cik": cik, "name": f"Company {number}", "tickers": [f"T{number}"], "exchanges": ["Nasdaq"]}
    main |= {"formerNames": [], "filings": {"recent": _columns(filings[:RECENT]), "files": files}}
    yield f"CIK{cik}.json", json.dumps(main).encode()
    yield from ((name, json.dumps(_columns(page)).encode()) for name, page in pages.items())


def _columns(filings: list[Filing]) -> dict[str, list[object]]:
    return {
        "accessionNumber": [number for number, _, _ in filings],
        "filingDate": [str(day) for _, day, _ in filings],
        "acceptanceDateTime": [f"{day}T16:{int(number[-4:]) % 60:02d}:05.000Z" for number, day, _ in filings],
        "form": [form for *_, form in filings],
        "core_type": [form for *_, form in filings],
        **{name: [value] * len(filings) for name, value in SAME.items()},
    }
