"""Transcripts of masked models contain no real name, ticker, id or date, by a scan for the lake's names.

The campaign walks through a month over 30 generated companies; `make forge` runs it.
"""

import json
import random
import re
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from functools import partial

from forge.agent.prompt import undated
from forge.model import Answer, Call
from forge.model.scripted import Scripted
from forge.walk.mask import companies_of
from forge.walk.report import page
from forge.walk.run import Ground, run
from pitlake.exchange import session
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_providers import article
from tests.forge.walks import DAYS, SINCE, UNTIL, brain, scripted, transcript, world
from tests.tally import Tally

COMPANIES = (
    ("0000320193", "QBG", "Quorvane Petroleum Holdings Inc", ("Old Quorvane Mining Corp",)),
    ("0009800021", "ZZTP", "Tessaly Piping & Valve Company", ()),
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

OWN_WORDS = {"CTX"}
"""Words of every prompt. Fetched files are named ctx_001, so a company with this ticker would seem to leak."""


def generated(count, seed):
    """Return companies with invented names in realistic forms, tickers of one to six characters, and former names."""
    rng = random.Random(f"masked/{seed}")
    syllables = [first + vowel + last for first in "BDFGKLMNPRSTVZ" for vowel in "aeiou" for last in ("x", "rn", "lk")]
    outcome = {}
    while len(outcome) < count:
        word = lambda: rng.choice(syllables) + rng.choice(syllables).lower()  # noqa: E731
        forms = (
            "{} Inc.", "{} {} Corporation", "The {} Company", "{} & {}, Inc.", "{}-{} Holdings Ltd", "{}'s {} Co.",
            "{}.com Inc", "{} Group plc", "{} of {} Bancorp", "{} SE",
        )  # fmt: skip
        names = [rng.choice(forms).format(word(), word()) for _ in range(rng.choice((1, 1, 2)))]
        ticker = "".join(rng.choices("BCDFGHJKLMNPRTVWXZ", k=rng.choice((1, 3, 4)))) + rng.choice(("", "", "", ".B"))
        if ticker in OWN_WORDS:
            continue
        outcome[ticker] = (f"{rng.randrange(1, 2_000_000):010d}", ticker, names[0], tuple(names[1:]))
    return list(outcome.values())


def named_world(root, companies=COMPANIES, until=UNTIL, days=1):
    """Return the walk's lake, with news titles that contain the names, ids, addresses and years of companies."""
    world(root, until=until)
    lake = Lake(root, allow_drift="invented companies")
    now = datetime(SINCE.year, SINCE.month, SINCE.day, tzinfo=timezone.utc)
    listing = {"available_at": now - timedelta(days=9)}
    rows = [listing | {"cik": cik, "ticker": ticker, "name": name} for cik, ticker, name, _ in companies]
    put_rows(lake, "companies", *rows)
    mornings = [day for number in range(days) if session((day := now + timedelta(days=number)).date())]
    articles = []
    for number, (cik, ticker, name, former) in enumerate(companies):
        domain = re.sub("[^a-z]", "", name.split()[0].lower()) + ".com"
        reply = {
            "name": name, "ticker": ticker, "upper": name.upper(), "cik": cik, "bare": cik.lstrip("0"),
            "domain": domain,
        }  # fmt: skip
        reply |= {"former": (former or (name,))[0], "accession": f"{cik}-14-000069"}
        titles = [spelling.format(**reply) for spelling in SPELLINGS]
        day = mornings[number * len(mornings) // len(companies)]
        articles += [
            article(f"leak{number}{place}", title, day - timedelta(hours=1 + place))
            | {"url": f"https://www.{domain}/{ticker}/2014/{cik}"}
            for place, title in enumerate(titles)
        ]
        statement = {
            "cik": cik, "kind": "company_name", "source": "edgar_name", "statement": "former",
            "available_at": now - timedelta(days=9),
        }  # fmt: skip
        if former:
            put_rows(lake, "names", statement | {"name": former[0], "all_names": list(former)})
    put_rows(lake, "news", *articles)
    return lake.root


def leaks(lake, text):
    """Return the lake's names, ids and years that occur in a text. Only `companies_of` is shared with the mask."""
    result = []
    for company in companies_of(lake):
        names = [name for name in company.names if len(name) >= 4]
        parts = [" ".join(name.split()[:2]) for name in names] + [name.split()[0] for name in names]
        ids = [company.cik, *([bare] if len(bare := company.cik.lstrip("0")) > 4 else [])]
        words = {*names, *parts, *ids, *(ticker for ticker in company.tickers if len(ticker) > 1)} - {"", "The"}
        patterns = {word: rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])" for word in words}
        result += [word for word, pattern in patterns.items() if re.search(pattern, text, re.IGNORECASE)]
    return result + DATES.findall(text)


class Reading:
    """A model that reads the newest news of one or all companies in full, and records its requests in `texts`."""

    id = "scripted:1"

    def __init__(self, texts, **chosen):
        self.texts, self.chosen = texts, chosen

    async def ask(self, request):
        self.texts.append(json.dumps(request.canonical(), ensure_ascii=False))
        if len(request.messages) < 3:
            fetch = {"source": "news", "params": {"op": "latest"} | self.chosen}
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
    run(walk, replace(ground, models=lambda role: Reading(texts, ticker="QAAAZ")))
    real = json.dumps(transcript(ground.place(walk)), ensure_ascii=False)
    assert {"QBG", "0000320193", "2014"} <= {*leaks(lake, real)}, "the scanner finds what the tools really returned"
    assert [text for text in texts if "Firm 000" in text]
    assert [(result, text[:200]) for text in texts if (result := leaks(lake, text))] == []


def walked(root, count, days, seed):
    """Walk masked over generated companies. Return them, the real names on the tape, the requests, and the leaks."""
    companies, until = generated(count, seed), SINCE + timedelta(days=days)
    lake = named_world(root / "lake", companies, until, days)
    ground, texts = Ground(root / "walks", lake, scripted), []
    walk = replace(DAYS, name="masked", masked=True, until=until, triggers=("morning",))
    run(walk, replace(ground, models=lambda role: Reading(texts)))
    real = {*leaks(lake, json.dumps(transcript(ground.place(walk)), ensure_ascii=False))}
    return companies, real, texts, [(result, text) for text in texts if (result := leaks(lake, text))]


def test_no_generated_company_is_named_in_a_masked_walk(tmp_path):
    companies, real, texts, leaked = walked(tmp_path, count=10, days=3, seed=1)
    assert [cik for cik, *_ in companies if cik not in real] == [], "every company was in what the tools returned"
    assert texts
    assert [(result, text[:200]) for result, text in leaked] == []


def share(seed, folder):
    """Walk masked through a month over thirty companies. The tape must contain every company."""
    companies, real, texts, leaked = walked(folder, 30, 30, seed)
    assert {cik for cik, *_ in companies} <= real
    return Tally(len(texts), failures=[f"{result} in a masked request: {text[:160]}" for result, text in leaked])


def test_the_report_shows_the_noise_of_an_unchanged_repetition(tmp_path):
    """The model's confidence in a View changes from run to run, as a real model's does."""

    def confidence(walk, day):
        return round(0.55 + random.Random(f"{walk} {day}").uniform(0, 0.3), 2)

    def answer(walk, request):
        outcome = brain(request)
        if outcome.calls and "confidence:" in str(outcome.calls[0].arguments):
            (call,) = outcome.calls
            day = int(re.search(r"\d{4}-\d\d-(\d\d)", undated(str(request.messages[0])))[1])
            statement = f"confidence: {confidence(walk, day)}"
            content = re.sub(r"confidence: [\d.]+", statement, call.arguments["content"])
            changed = replace(call, arguments=call.arguments | {"content": content})
            return replace(outcome, calls=(changed,))
        return outcome

    until = SINCE + timedelta(days=5)
    ground = Ground(tmp_path / "repeated", world(tmp_path / "lake", until=until), scripted)
    plain = replace(DAYS, name="plain", until=until, triggers=("morning",))
    walks = [plain, replace(plain, name="plain-again", again=True)]
    for walk in walks:
        model = Scripted(partial(answer, walk.name))
        run(walk, replace(ground, models=lambda role, model=model: model))
    text = page(walks, ground)
    days = [day.day for number in range(6) if session(day := SINCE + timedelta(days=number))]
    moved = [abs(confidence("plain", day) - confidence("plain-again", day)) for day in days]
    noise = sum(moved) / len(moved)
    assert "plain and plain-again" in text
    assert float(f"{noise:.3f}") > 0
    assert f"{len(days)} Views of the same day and scope differ in confidence by {noise:.3f} on average" in text
    assert "0 are in only one of them" in text
    assert "this difference is the noise to compare a masked run with" in text
