"""No real name, ticker, id or date in what a masked model read: whole transcripts, by a scanner of the lake's names."""

import json
import re
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from forge.model import Answer, Call
from forge.walk.mask import companies_of
from forge.walk.report import page
from forge.walk.run import Ground, run
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_providers import article
from tests.forge.walks import DAYS, SINCE, scripted, transcript, world

pytestmark = pytest.mark.slow

COMPANIES = (
    ("0000320193", "NOG", "Quorvane Petroleum Holdings Inc", ("Old Quorvane Mining Corp",)),
    ("0001104485", "ZZTP", "Tessaly Piping & Valve Company", ()),
    ("0000000777", "V", "Vantrix Group", ("Vantrix Ltd",)),
)
SPELLINGS = (
    "FY14 guidance of {name} ({ticker}), '14 and Q1'14, 1Q14, 2H14, 3/5/14, 3/5/2014, 2014E, Feb-14, 20140305, 2013/14",
    "{upper} files 10-K {accession} (CIK {cik}, {bare}) see https://www.{domain}/ir/2014 and {domain}",
    "formerly {former}: {name} {name} {name} {name} {name}",
)
DATES = re.compile(
    r"2014(?!-Q[0-9]Z)|20130|(?<![0-9])(?:FY ?|'|[1-4]Q|[12]H|Q[1-4]['-])1[34](?![0-9])"
    r"|/14(?![0-9])|[A-Z][a-z]{2}-14(?![0-9])"
)


def named_world(root):
    """The walk's lake, with companies whose names, ids, addresses and years are in the titles of its news."""
    world(root)
    lake, now = Lake(root), datetime(SINCE.year, SINCE.month, SINCE.day, tzinfo=timezone.utc)
    listed = {"available_at": now - timedelta(days=9)}
    rows = [listed | {"cik": cik, "ticker": ticker, "name": name} for cik, ticker, name, _ in COMPANIES]
    put_rows(lake, "companies", *rows)
    for number, (cik, ticker, name, former) in enumerate(COMPANIES):
        domain = name.split()[0].lower() + ".com"
        told = {
            "name": name,
            "ticker": ticker,
            "upper": name.upper(),
            "cik": cik,
            "bare": cik.lstrip("0"),
            "domain": domain,
        }
        told |= {"former": (former or (name,))[0], "accession": f"{cik}-14-000069"}
        titles = [spelling.format(**told) for spelling in SPELLINGS]
        rows = [
            article(f"leak{number}{place}", title, now - timedelta(hours=1 + place))
            | {"url": f"https://www.{domain}/{ticker}/2014/{cik}"}
            for place, title in enumerate(titles)
        ]
        put_rows(lake, "news", *rows)
        stated = {
            "cik": cik,
            "kind": "company_name",
            "source": "edgar_name",
            "statement": "former",
            "available_at": now - timedelta(days=9),
        }
        if former:
            put_rows(lake, "names", stated | {"name": former[0], "all_names": list(former)})
    return lake.root


def leaks(lake, text):
    """Return what of the lake's names, ids and years is in a text. Nothing here is shared with the mask."""
    found = []
    for company in companies_of(lake):
        names = [name for name in company.names if len(name) >= 4]
        parts = [" ".join(name.split()[:2]) for name in names] + [name.split()[0] for name in names]
        ids = [company.cik, *([bare] if len(bare := company.cik.lstrip("0")) > 4 else [])]
        words = {*names, *parts, *ids, *(ticker for ticker in company.tickers if len(ticker) > 1)} - {""}
        patterns = {word: rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])" for word in words}
        found += [word for word, pattern in patterns.items() if re.search(pattern, text, re.IGNORECASE)]
    return found + DATES.findall(text)


class Reading:
    """A model that reads all of the news in full, and what it read."""

    id = "scripted:1"

    def __init__(self, texts):
        self.texts = texts

    async def ask(self, request):
        self.texts.append(json.dumps(request.canonical(), ensure_ascii=False))
        if len(request.messages) < 3:
            fetch = {"source": "news", "params": {"op": "latest", "ticker": "QAAAZ"}}
            look = [Call("fetch", fetch, "a"), Call("read", {"path": "/help/market.md"}, "b")]
            return Answer("", tuple(look), "tools", "s", 1, 1)
        if len(request.messages) < 5:
            read = Call("read", {"path": "/session/context/ctx_001.md", "depth": "full"}, "c")
            return Answer("", (read,), "tools", "s", 1, 1)
        return await scripted("agent").ask(request)


def test_a_masked_model_reads_no_name_id_or_date_of_the_lake_in_any_spelling(tmp_path):
    lake = named_world(tmp_path / "lake")
    ground, texts = Ground(tmp_path / "walks", lake, scripted), []
    walk = replace(DAYS, name="masked", masked=True, until=SINCE, triggers=("morning",))
    run(walk, replace(ground, models=lambda role: Reading(texts)))
    real = json.dumps(transcript(ground.place(walk)), ensure_ascii=False)
    assert {"NOG", "0000320193", "2014"} <= {*leaks(lake, real)}, "the scanner finds what the tools really returned"
    assert [text for text in texts if "Firm 000" in text]
    assert [(found, text[:200]) for text in texts if (found := leaks(lake, text))] == []


def test_the_report_shows_the_noise_of_an_unchanged_repetition(tmp_path):
    ground = Ground(tmp_path / "walks", world(tmp_path / "lake"), scripted)
    walks = [replace(DAYS, name="plain", until=SINCE, triggers=("morning",))]
    walks.append(replace(walks[0], name="plain-again", again=True))
    for walk in walks:
        run(walk, ground)
    text = page(walks, ground)
    assert "plain and plain-again" in text
    assert "1 Views of the same day and scope differ in confidence by 0.000 on average" in text
    assert "this difference is the noise to compare a masked run with" in text
