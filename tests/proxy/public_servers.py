"""Public MCP servers from PyPI and npm, the calls to each, and what its answers show as of 15 February 2024.

`made` creates the files that servers read. Their internet is the stand-in of internet.py with INTERNET. The policy of a
server is the draft of `--learn`, with the corrections in `review` that the comments of the draft request.
"""

import json
import os
import sqlite3
import subprocess
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PublicServer:
    """A server. calls: arguments by tool. passes: marks of rows that pass. comments: what the draft says is missing."""

    package: str
    start: tuple[str, ...]
    calls: dict
    passes: dict = field(default_factory=dict)
    comments: tuple[str, ...] = ()
    review: dict = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    variables: dict = field(default_factory=dict)
    calls_out: bool = False

    @property
    def is_npm(self):
        return self.package.startswith("@")


FEED = """<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><link>https://news.example.org/</link>
<description>News</description>
<item><title>Calm</title><link>https://news.example.org/1</link><guid>1</guid>
<pubDate>Wed, 14 Feb 2024 15:30:00 GMT</pubDate><description>All is well</description></item>
<item><title>FUTURE</title><link>https://news.example.org/2</link><guid>2</guid>
<pubDate>Fri, 16 Feb 2024 15:30:00 GMT</pubDate><description>FUTURE</description></item></channel></rss>"""


def made(folder):
    """Create the files that servers read: notes of 14 and of 16 February 2024, and a database."""
    news = [(1, "Calm", "2024-02-14T09:30:00-05:00"), (2, "FUTURE", "2024-02-16T08:00:00-05:00")]
    (folder / "files").mkdir()
    (folder / "files/note.txt").write_text("All is well\n")
    with sqlite3.connect(folder / "news.sqlite") as database:
        database.execute("CREATE TABLE news (id INTEGER, title TEXT, published TEXT)")
        database.executemany("INSERT INTO news VALUES (?, ?, ?)", news)
    database.close()
    git = ["git", "-C", folder / "repository", "-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "init", "-q", folder / "repository"], check=True)
    for _, title, published in news:
        dates = {"GIT_AUTHOR_DATE": published, "GIT_COMMITTER_DATE": published}
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", title], check=True, env=os.environ | dates)


def paper(number, day, title):
    return (f'<entry><id>http://arxiv.org/abs/2402.0000{number}v1</id><updated>{day}T15:30:00Z</updated>'
            f'<published>{day}T15:30:00Z</published><title>{title}</title><summary>A summary.</summary>'
            f'<author><name>A. Author</name></author><link href="http://arxiv.org/abs/2402.0000{number}v1"/>'
            '<category term="q-fin.ST" scheme="http://arxiv.org/schemas/atom"/></entry>')  # fmt: skip


def page(number, day, title):
    return {"ns": 0, "title": title, "pageid": number, "size": 9, "wordcount": 2, "snippet": title, "timestamp": day}


INTERNET = {
    "api.stlouisfed.org/fred/series/observations": json.dumps({"count": 2, "observations": [
        {"realtime_start": "2024-02-13", "realtime_end": "2024-02-15", "date": "2024-01-01", "value": "308.4"},
        {"realtime_start": "2024-02-16", "realtime_end": "9999-12-31", "date": "2024-01-01", "value": "987.6"}]}),
    "en.wikipedia.org/w/api.php": json.dumps({"query": {"searchinfo": {"totalhits": 2}, "search": [
        page(1, "2024-02-14T09:00:00Z", "Calm"), page(2, "2024-02-16T09:00:00Z", "FUTURE")]}}),
    "export.arxiv.org/api/query": '<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom">'
        + paper(1, "2024-02-14", "Calm") + paper(2, "2024-02-16", "FUTURE") + "</feed>",
    "news.example.org/feed.xml": FEED,
    "fc.yahoo.com/": "{}",
    "query1.finance.yahoo.com/v1/test/getcrumb": "crumb",
    "query2.finance.yahoo.com/v8/finance/chart/QFH": json.dumps({"chart": {"error": None, "result": [{
        "meta": {"currency": "USD", "symbol": "QFH", "instrumentType": "EQUITY", "timezone": "EST",
                 "exchangeTimezoneName": "America/New_York",
                 "gmtoffset": -18000, "dataGranularity": "1d", "range": "1mo", "priceHint": 2,
                 "regularMarketTime": 1708117200, "regularMarketPrice": 987.6, "validRanges": ["1mo"]},
        "timestamp": [1707921000, 1708093800],
        "indicators": {"quote": [{key: [1.5, 987.6] for key in ("open", "high", "low", "close", "volume")}],
                       "adjclose": [{"adjclose": [1.5, 987.6]}]}}]}}),
}  # fmt: skip
SERVERS = {
    "git": PublicServer(
        "mcp-server-git==2026.10.19", ("mcp-server-git",),
        {"git_log": {"repo_path": "{folder}/repository"}},
        comments=("the answer is prose",)),
    "sqlite": PublicServer(
        "mcp-server-sqlite==2025.4.25", ("mcp-server-sqlite", "--db-path", "{folder}/news.sqlite"),
        {"read_query": {"query": "SELECT * FROM news"}, "list_tables": {}}, needs=("mcp<2",),
        comments=("with a query of its own a caller can date the items", "the answer is in Python's notation")),
    "duckdb": PublicServer(
        "mcp-server-motherduck==1.1.0", ("mcp-server-motherduck", "--db-path", ":memory:", "--read-write"),
        {"execute_query": {"sql": "SELECT 'Calm' AS title, '2024-02-14' AS published"}},
        comments=("with a sql of its own a caller can date the items", "no member of an item can be read")),
    "time": PublicServer(
        "mcp-server-time==2026.10.19", ("mcp-server-time",),
        {"get_current_time": {"timezone": "America/New_York"}}, {"get_current_time": []}),
    "fetch": PublicServer(
        "mcp-server-fetch==2026.10.24", ("mcp-server-fetch", "--ignore-robots-txt"),
        {"fetch": {"url": "http://news.example.org/feed.xml", "raw": True}},
        comments=("the answer is prose",), calls_out=True),
    "fred": PublicServer(
        "fred-mcp-server==0.2.2", ("fred-mcp-server",),
        {"fred_series_observations": {"series_id": "CPIAUCSL"}}, {"fred_series_observations": ["2024-01-01"]},
        comments=("realtime_end states a later time: is it one of business_dates?",),
        review={'published = ["realtime_start", "date"]':
            'published = ["realtime_start"]\nbusiness_dates = ["date", "realtime_end"]'},
        variables={"FRED_API_KEY": "0123456789abcdef0123456789abcdef"}, calls_out=True),
    "arxiv": PublicServer(
        "arxiv-mcp-server==0.8.2", ("arxiv-mcp-server",),
        {"search_papers": {"query": "markets"}}, {"search_papers": ["Calm"]}, calls_out=True),
    "wikipedia": PublicServer(
        "wikipedia-mcp==2.0.1", ("wikipedia-mcp",),
        {"search_wikipedia": {"query": "Northwind"}}, {"search_wikipedia": ["Calm"]}, calls_out=True),
    "feeds": PublicServer(
        "mcp-feed-reader-crunchtools==0.5.0", ("mcp-feed-reader-crunchtools",),
        {"add_feed_tool": {"url": "https://news.example.org/feed.xml"}, "list_entries_tool": {}},
        {"list_entries_tool": ["Calm"]}, ("created_at states a later time: is it one of business_dates?",),
        review={'["published", "created_at"]': '["published"]\nbusiness_dates = ["created_at"]'}, calls_out=True),
    "yahoo": PublicServer(
        "yfinance-mcp==0.1.2", ("yfinance-mcp",),
        {"get_price_history": {"symbol": "QFH"}}, {"get_price_history": ["2024-02-14"]},
        needs=("mcp<2",), calls_out=True),
    "memory": PublicServer(
        "@modelcontextprotocol/server-memory@2026.8.31", ("mcp-server-memory",),
        {"create_entities": {"entities": [
            {"name": "Northwind", "entityType": "company", "observations": ["2024-02-14: lifts its guidance"]}]},
         "read_graph": {}},
        comments=("no member of an item can be read as its publication",)),
    "files": PublicServer(
        "@modelcontextprotocol/server-filesystem@2026.8.31", ("mcp-server-filesystem", "{folder}/files"),
        {"get_file_info": {"path": "{folder}/files/note.txt"}},
        comments=("no member of an item can be read as its publication",)),
    "everything": PublicServer(
        "@modelcontextprotocol/server-everything@2026.8.31", ("mcp-server-everything",),
        {"get-structured-content": {"location": "New York"}, "get-tiny-image": {}},
        comments=("no member of an item can be read as its publication", "the answer is prose")),
}  # fmt: skip
