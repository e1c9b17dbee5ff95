"""The packaged servers of the bundled policies, with a local upstream that answers in the recorded format.

Run as `real_servers.py yahoo` or `edgar`, it starts that package's server with a stand-in for its data library.
"""

import json
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

EARLY, LATE = "2024-02-14T15:30:00Z", "2024-02-16T15:30:00Z"
BAR = {"o": 1.0, "h": 2.0, "l": 0.5, "c": 1.5, "v": 10, "n": 3, "vw": 1.4}


def article(number, created, updated, headline):
    return {"id": number, "author": "A", "content": "", "created_at": created, "updated_at": updated,
            "headline": headline, "images": [], "source": "benzinga", "summary": "", "symbols": ["AAPL"],
            "url": f"https://example.org/{number}"}  # fmt: skip


UPSTREAM = {
    "/v2/stocks/bars": {
        "bars": {"AAPL": [BAR | {"t": "2024-02-14T05:00:00Z"}, BAR | {"t": "2024-02-15T05:00:00Z", "c": 987.6}]},
        "next_page_token": None,
    },
    "/v1beta1/news": {
        "news": [article(2, EARLY, LATE, "FUTURE edit"), article(1, EARLY, EARLY, "Calm")],
        "next_page_token": "FUTURE-token",
    },
    "/res/v1/news/search": {
        "type": "news",
        "results": [
            {"url": "https://example.org/1", "title": "Calm", "age": "1 year ago", "page_age": "2024-02-14T15:30:00",
             "description": "All is well", "meta_url": {"hostname": "example.org"}},
            {"url": "https://example.org/2", "title": "FUTURE", "age": "1 day ago", "page_age": "2024-02-16T15:30:00",
             "description": "FUTURE", "thumbnail": {"src": "https://example.org/2.png"}},
            {"url": "https://example.org/3", "title": "FUTURE undated", "description": "FUTURE"},
        ],
    },
}  # fmt: skip


@contextmanager
def upstream():
    """Serve the upstream, and yield its address and the list of its requests."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            body = json.dumps(UPSTREAM.get(self.path.split("?")[0], {})).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        thread = threading.Thread(target=listener.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.server_address[1]}", requests
        listener.shutdown()


def yahoo():
    """Run mcp-yahoo-finance with news and splits from this file."""
    import pandas as pd
    from mcp_yahoo_finance import server

    class Ticker:
        def __init__(self, ticker, session=None):
            pass

        def get_news(self, count):
            listing = (("FUTURE", 1708034400), ("Calm", 1707924600))
            return [{"title": title, "link": f"https://example.org/{title}", "publisher": "P",
                     "providerPublishTime": moment} for title, moment in listing]  # fmt: skip

        def get_splits(self):
            days = pd.to_datetime(["2020-08-31", "2024-06-10"]).tz_localize("America/New_York")
            return pd.Series([4.0, 10.0], index=days)

    server.Ticker = Ticker
    adapter = server.YahooFinanceAdapter
    server.YahooFinanceAdapter = lambda **settings: adapter(**settings, ticker_factory=Ticker)
    from mcp_yahoo_finance import main

    main()


def edgar():
    """Run sec-edgar-mcp with two filings from this file."""
    from datetime import date
    from types import SimpleNamespace

    from sec_edgar_mcp import server

    def filing(number, day, text):
        return SimpleNamespace(
            accession_number=f"0000320193-24-00000{number}", filing_date=day, form="8-K", company="Apple Inc.",
            cik="320193", url=f"https://www.sec.gov/{number}", text=lambda: text, period_of_report=date(2024, 2, 13),
            acceptance_datetime=None)  # fmt: skip

    filings = [filing(2, date(2024, 2, 16), "FUTURE"), filing(1, date(2024, 2, 14), "Calm. Notes due in March 2030.")]
    company = SimpleNamespace(get_filings=lambda form=None: filings)
    server.filings_tools.client.get_company = lambda identifier: company
    server.main()


if __name__ == "__main__":
    start = {"yahoo": yahoo, "edgar": edgar}[sys.argv.pop()]
    start()
