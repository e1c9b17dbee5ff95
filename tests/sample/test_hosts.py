"""Addresses in the sample name hosts of `example`, unless what they name is real."""

import re

from tests.agents.harness import ROOT

ADDRESS = re.compile(r"https?://(?P<host>[\w.-]*)[\w./-]*")
INVENTED = re.compile(r"(.*\.)?example(\.com|\.org|\.net)?")
REAL = {
    "https://www.sec.gov/Archives/edgar/data/320193/000032019323000106/aapl-20230930.htm",  # Apple's 10-K of 2023
    "https://api.polygon.io/v3/reference/dividends",  # the interface itself: an answer's next page
    "http://fasb.org/us-gaap/", "http://xbrl.sec.gov/dei/", "https://schema.org",  # names of vocabularies
    "http://127.0.0.1",
}  # fmt: skip


def of_real_hosts(text):
    return {match[0] for match in ADDRESS.finditer(text) if match["host"] and not INVENTED.fullmatch(match["host"])}


def test_an_invented_record_names_no_real_host():
    files = [path for path in (ROOT / "sample").rglob("*") if path.suffix not in (".pyc", ".pdf") and path.is_file()]
    addresses = {address for path in files for address in of_real_hosts(path.read_text(errors="replace"))}
    assert {address for address in addresses if address not in REAL} == {"http://www."}  # a ticker and .example follow
    assert len(addresses & REAL) == len(REAL)


def test_an_address_of_a_real_host_is_noticed():
    assert of_real_hosts('{"url": "https://www.benzinga.com/news/1", "a": "http://www.aa.example/20240930"}') == {
        "https://www.benzinga.com/news/1"
    }
