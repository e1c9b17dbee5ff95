"""The cost of outside sources: capturing against bare requests, and facts to published rows against a plain pandas
script. The provider is a separate process on loopback. The facts are invented, in the shape of a large filer's
companyfacts.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta, timezone
from functools import partial
from itertools import count
from pathlib import Path

import pandas as pd
import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from assets.edgar import Release
from assets.external.sec_edgar.sec_facts import FEED as FACTS
from assets.external.sec_edgar.sec_filings import COLUMNS
from assets.external.sec_edgar.sec_filings import FEED as FILINGS
from assets.extraction import RunFacts
from assets.feeds.feed import Feed, Scope
from assets.feeds.runs import collect_unit, outcomes, run_feed
from assets.reading import collector_paused
from bench.figures import Figure, figure, paired, processor
from pitlake.datasets._shared import BY_FILING_DATE
from pitlake.lake.lake import Lake
from resources.http.capture import CaptureStore, Request
from resources.http.client import HttpClient, captured
from resources.http.provider import Provider
from resources.http.providers.sec_edgar import PROVIDER as EDGAR

REQUESTS, ROUNDS = 200, 7
BODY = json.dumps([{"id": number, "title": "A headline of $PAGE", "body": "words " * 40} for number in range(50)])
FACTS_OF_A_FILER, FILINGS_OF_A_FILER, CONCEPTS = 100_000, 1_000, 500
CIK = "0000000042"
OBSERVED = datetime(2026, 1, 1, tzinfo=timezone.utc)
SERVER = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
body = sys.stdin.buffer.read()
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def do_GET(self):
        said = body.replace(b"$PAGE", self.path.encode())
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)
    def log_message(self, *_):
        pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@contextmanager
def provider() -> Iterator[Provider]:
    """Run a provider in a separate process, fast enough that its rate limit never waits."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(BODY)
        process.stdin.close()
        try:
            url = f"http://127.0.0.1:{int(process.stdout.readline())}"
            yield Provider(name="bench", base_url=url, rate=(1_000_000, 1.0))
        finally:
            process.kill()


def captures(folder: Path) -> list[Figure]:
    """Measure fetching, checking, capturing and syncing of many answers, against a bare session that parses them, and
    against one that also writes each to a file. Check that the captures contain what the provider sent.
    """
    request_count = count()
    store = CaptureStore(folder / "captures")
    (folder / "files").mkdir()

    def ours(http_provider: Provider) -> None:
        with HttpClient(http_provider, store, "live") as client:
            for _ in range(REQUESTS):
                client.fetch(Request("/news", {"page": next(request_count)})).json()
            store.flush()

    def bare(http_provider: Provider, files: Path | None = None) -> None:
        with requests.Session() as session:
            session.mount("http://", HTTPAdapter(max_retries=Retry(3)))
            for _ in range(REQUESTS):
                page = next(request_count)
                answer = session.get(f"{http_provider.base_url}/news", params={"page": page}, timeout=30)
                answer.json()
                if files is not None:
                    (files / f"{page}.json").write_bytes(answer.content)

    figures = []
    with provider() as http_provider:
        for what, files in (("requests", None), ("requests, bodies written to files", folder / "files")):
            mine, _, ratio = paired(
                lambda: ours(http_provider), partial(bare, http_provider, files), ROUNDS, processor()
            )
            against = f"{what}, {len(BODY) // 1000} kB answers"
            aim = "≤ 1.3"
            figures.append(
                figure("asked, judged and captured, CPU", REQUESTS / mine, "/s", baseline=against, ratio=ratio, aim=aim)
            )
        for capture in store.every():
            again = requests.get(capture.location, timeout=30)
            assert again.content == capture.body, capture.location
    return figures


class Accepted(dict[str, datetime]):
    """Return releases by accession number, as the lake would."""

    def release(self, accession_no: str, cik: str, filing_date: date | None = None) -> Release | None:
        at = self.get(accession_no)
        return at and Release(at, BY_FILING_DATE, at)

    def __call__(self, ticker: str, day: date) -> None:
        return None


def filer() -> tuple[bytes, bytes, Accepted]:
    """Return a large filer's companyfacts and submissions, and the acceptances of its filings."""
    first = datetime(2009, 7, 1, 20, 30, 5, tzinfo=timezone.utc)
    accepted = Accepted(
        {f"0000000042-10-{number:06d}": first + timedelta(days=6 * number) for number in range(FILINGS_OF_A_FILER)}
    )
    filings = list(accepted.items())
    concepts: dict[str, object] = {}
    for concept in range(CONCEPTS):
        facts = []
        for number in range(FACTS_OF_A_FILER // CONCEPTS):
            accession_no, at = filings[(number * 5) % len(filings)]
            end = at.date() - timedelta(days=30)
            facts.append(
                {
                    "start": str(end - timedelta(days=90)), "end": str(end), "val": 1_000_003 * (number + concept),
                    "accn": accession_no, "fy": end.year, "fp": "Q2", "form": "10-Q", "filed": str(at.date()),
                }
            )  # fmt: skip
        concepts[f"Concept{concept}"] = {"label": "One", "description": "Our own.", "units": {"USD": facts}}
    recent = {name: ["" for _ in filings] for name in COLUMNS}
    recent |= {
        "accessionNumber": [name for name, _ in filings],
        "acceptanceDateTime": [f"{at:%Y-%m-%dT%H:%M:%S}.000Z" for _, at in filings],
        "filingDate": [str(at.date()) for _, at in filings],
        "form": ["10-Q" for _ in filings],
    }
    answer = {"cik": int(CIK), "entityName": "Ours", "facts": {"us-gaap": concepts}}
    submissions = {"cik": CIK, "tickers": ["OURS"], "filings": {"recent": recent, "files": []}}
    return json.dumps(answer).encode(), json.dumps(submissions).encode(), accepted


def plain(body: bytes, accepted: Accepted, target: Path) -> None:
    """Do what a careful person writes with pandas: the same columns, parsed dates, joined acceptances, one Parquet
    file.
    """
    rows = []
    for taxonomy, concepts in json.loads(body)["facts"].items():
        for concept, concept_facts in concepts.items():
            for unit, facts in concept_facts["units"].items():
                rows += [{**fact, "concept": f"{taxonomy}:{concept}", "unit": unit} for fact in facts]
    frame = pd.DataFrame(rows)
    for name in ("start", "end", "filed"):
        frame[name] = pd.to_datetime(frame[name])
    frame["available_at"] = frame["accn"].map(dict(accepted))
    frame.sort_values(["concept", "available_at"]).to_parquet(target, compression="zstd")


def facts(folder: Path) -> list[Figure]:
    """Measure the facts of one filer, from their capture to rows of a new lake, against pandas."""
    body, submissions, accepted = filer()
    store = CaptureStore(folder / "facts")
    store.put(captured(EDGAR, Request(f"/api/xbrl/companyfacts/CIK{CIK}.json"), body))
    store.put(captured(EDGAR, Request(f"/submissions/CIK{CIK}.json"), submissions))
    runs = count()

    def ours() -> None:
        with HttpClient(EDGAR, store) as client:
            lake = Lake(folder / f"lake{next(runs)}")
            report = run_feed(FACTS, Scope(ciks=(CIK,)), client, lake, run_id="bench", releases=accepted)
            assert not report.gaps, report.gaps

    mine, _, ratio = paired(ours, lambda: plain(body, accepted, folder / "plain.parquet"), 3)
    per = mine * 100_000 / FACTS_OF_A_FILER
    published = figure("facts: capture to published rows", per, "s/100k", baseline="pandas", ratio=ratio)
    return [published, *(normalised(feed, store, accepted) for feed in (FACTS, FILINGS))]


def normalised(feed: Feed, store: CaptureStore, accepted: Accepted) -> Figure:
    """Measure how many records per second a feed turns into rows, including parsing."""
    (unit,) = feed.units(Scope(ciks=(CIK,)))
    with HttpClient(feed.provider, store) as client:
        got, refusal = collect_unit(feed, unit, client.fetch)
    run = RunFacts(observed_at=OBSERVED, releases=accepted)
    with collector_paused():
        started = time.perf_counter()
        rows = sum(1 for _ in outcomes(feed, unit, got, refusal, run))
    return figure(f"{feed.dataset.name}: answer to rows", rows / (time.perf_counter() - started), "rows/s")


def run() -> list[Figure]:
    """Measure every figure in a separate folder."""
    os.environ.pop("PITLAKE_SEC_EDGAR_URL", None)
    with tempfile.TemporaryDirectory() as folder:
        return [*captures(Path(folder)), *facts(Path(folder))]
