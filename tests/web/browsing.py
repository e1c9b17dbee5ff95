"""The pages as a browser shows them, with every number compared with SQL.

`python -m tests.web.browsing LAKE` compares the numbers on 50 random pages of a lake.
"""

import random
import sys
from contextlib import contextmanager
from datetime import timedelta
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlsplit

from starlette.testclient import TestClient

from pitlake.clock import instant, iso
from pitlake.datasets import all_datasets
from pitlake.session import connect
from pitlake.web.address import Address
from pitlake.web.app import ServerSettings, application
from pitlake.web.pool import Pool
from pitlake.web.questions import datasets

TOKEN = "s3cret-of-this-server"
BASE = "http://127.0.0.1:8765"


@contextmanager
def browsing(root, *, rooms=(), home=None, **more):
    """Yield a client of a lake's pages."""
    home = home or Address(instant("2024-04-30T20:00:00Z"), "QBG")
    settings = ServerSettings(Pool(root, "process", **more), home, TOKEN, (), rooms)
    with TestClient(application(settings), base_url=BASE, follow_redirects=False) as client:
        client.pool = settings.pool
        yield client


class Numbers(HTMLParser):
    """The numbers on a page, as (value, what it is, address of its history)."""

    def __init__(self, page):
        super().__init__()
        self.found, self._link = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        reply = dict(attrs)
        if tag == "a":
            self._link = reply["href"] if reply.get("class") == "n" else ""
        if tag == "data":
            self.found.append((reply["value"], reply.get("data-what", ""), self._link))

    def handle_endtag(self, tag):
        if tag == "a":
            self._link = ""


def told_by_sql(session, address, *, first=False):
    """Return a session's value of the number whose history a link names, or its first value."""
    reply = dict(parse_qsl(urlsplit(address).query, keep_blank_values=True))
    dataset, _, column = reply["of"].partition(".")
    key = {name: reply.get(f"k_{name}") for name in all_datasets()[dataset].key}
    same = " AND ".join(f"{name}::VARCHAR IS NOT DISTINCT FROM ${name}" for name in key)
    view = f"{dataset}_revisions WHERE {same} ORDER BY available_at LIMIT 1" if first else f"{dataset} WHERE {same}"
    ((value,),) = session.sql(f"SELECT {column} FROM {view}", key).rows()
    return value


COUNTS = {
    "filings": """
        SELECT count(DISTINCT accession_no)
        FROM (SELECT accession_no, cik FROM reports UNION ALL SELECT accession_no, cik FROM sec_filings)
        WHERE cik = $cik
    """,
    "news": """
        SELECT count(DISTINCT replace(id::VARCHAR, 'bzNews_', ''))
        FROM (SELECT id, tickers FROM news UNION ALL SELECT id, tickers FROM benzinga_news)
        WHERE list_contains(tickers, $ticker)
    """,
    "calls": "SELECT count(*) FROM transcripts WHERE ticker = $ticker",
    "held": "SELECT count(*) FROM {}_revisions",
    "gaps": "SELECT count(*) FROM gaps WHERE dataset = $dataset AND reason = $reason",
}


def counted(session, what, ticker, cik):
    """Return a session's value of a count or a ratio, from separate SQL."""
    kind, _, rest = what.partition(" ")
    if kind == "change":
        sql = "SELECT close / split_factor FROM adjusted_bars($ticker) ORDER BY date DESC LIMIT 2"
        (last,), (before,) = session.sql(sql, {"ticker": ticker}).rows()
        return last / before
    sql = COUNTS[kind]
    dataset, _, reason = rest.partition(" ")
    inputs = {"ticker": ticker, "cik": cik, "dataset": dataset, "reason": reason}
    ((count,),) = session.sql(sql.format(dataset), {k: v for k, v in inputs.items() if f"${k}" in sql} or None).rows()
    return count


def wrong_numbers(client, root, address):
    """Return how many numbers a page shows, and those that differ from SQL as of the same instant."""
    answer = client.get(address.url())
    assert answer.status_code == 200, answer.text
    wrong, result = [], Numbers(answer.text).found
    with connect(address.as_of, lake=root, datasets=datasets()) as session:
        rows = session.sql("SELECT DISTINCT entity_id FROM prices WHERE symbol = $t", {"t": address.ticker}).rows()
        cik = rows[0][0] if rows else ""
        for value, what, link in result:
            linked = what in ("", "first")
            reply = (
                told_by_sql(session, link, first=bool(what)) if linked else counted(session, what, address.ticker, cik)
            )
            if float(value) != float(reply):
                wrong.append((address, what or link, value, reply))
    return len(result), wrong


def main(root, pages=50, seed=0):
    """Check random pages, and return the exit code."""
    chance, checked, wrong = random.Random(seed), 0, []
    with browsing(root) as client:
        for _ in range(pages):
            at = instant("2023-06-01T20:00:00Z") + timedelta(minutes=chance.randrange(60 * 24 * 700))
            address = Address(at, chance.choice(("QBRY", "QACB", "QAVN", "QBG", "QATW", "QZP")))
            count, bad = wrong_numbers(client, root, address)
            checked, wrong = checked + count, wrong + bad
    print(f"{pages} pages, {checked} numbers, {len(wrong)} of them not what SQL tells as of the same instant")
    for item in wrong[:10]:
        print(" ", iso(item[0].as_of), *item[1:])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
