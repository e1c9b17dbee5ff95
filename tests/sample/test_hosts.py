"""Records of the sample name invented companies and cite hosts under `example`, unless their content is real."""

import csv
import json
import re
from urllib.parse import urlsplit

import pytest

from pitlake.lake.lake import Lake
from resources.http.capture import CaptureStore
from sample import outside
from sample.companies import INDEX, companies
from tests.agents.harness import ROOT
from tests.every import every

ADDRESS = re.compile(r"https?://(?P<host>[\w.-]*)[\w./-]*")
INVENTED = re.compile(r"(.*\.)?example(\.com|\.org|\.net)?")
REAL = {
    "https://www.sec.gov/Archives/edgar/data/320193/000032019323000106/aapl-20230930.htm",  # Apple's 10-K of 2023
    "https://api.polygon.io/v3/reference/dividends",  # the API itself, in the address of a next page
    "http://fasb.org/us-gaap/", "http://xbrl.sec.gov/dei/", "https://schema.org",  # vocabularies
    "http://127.0.0.1",
}  # fmt: skip
SAMPLE = ROOT / "sample"
APPLE = {"AAPL", "320193"}
OURS = re.compile(r"Q[A-Z]{2,4}|OWN[A-Z]|0*9[89]\d{5}|")
CIKS = re.compile(r"(?:(?<=<cik>)|(?<= ))\d{4,10}(?=</cik>| +\d{4}-?\d\d-?\d\d +edgar/)")
KEYS = {"ticker", "tickers", "symbol", "Symbol", "2. Symbol", "cik", "ciks", "stocks"}
RECORDS = {".json", ".csv", ".xml", ".idx"}
KEPT = {"$BTC", INDEX}
"""A currency, and the index that the product compares with. Their bars are invented."""
EXCHANGES = {"1354457", "876661"}  # exchanges, which certify companies' listings to EDGAR
TRUE_FILES = {SAMPLE / "drops/own_bars/apple.csv"} | {
    index.with_name(entry["file"])
    for index in SAMPLE.glob("external/*/answers.json")
    for entry in json.loads(index.read_text())
    if entry.get("real")
}


def named_by(path):
    """Return the tickers and CIKs in a file of the sample."""
    text, values = path.read_text(errors="replace"), []
    if path.suffix == ".json" and text.strip():
        json.loads(text, object_pairs_hook=lambda pairs: values.extend(v for k, v in pairs if k in KEYS) or dict(pairs))
    names = [name for value in values for name in (value if isinstance(value, list) else [value])]
    rows = csv.DictReader(text.splitlines() if path.suffix == ".csv" else [])
    names += [row[name] for row in rows for name in ("ticker", "symbol") if name in row]
    return [str(name["name"] if isinstance(name, dict) else name) for name in names] + CIKS.findall(text)


def strangers(names):
    return {name.lstrip("0") for name in names if not OURS.fullmatch(name)} - EXCHANGES - KEPT


def answers():
    return sorted(path for path in SAMPLE.rglob("*.*") if path.suffix in RECORDS and path.name != "answers.json")


def test_a_record_of_the_graph_names_an_invented_company(nodes):
    rows = [row for label in ("Company", "Dividend", "Split", "Sector", "Industry") for row in nodes[label].values()]
    assert not strangers(str(row.get(key, "")) for row in rows for key in ("ticker", "cik", "symbol", "etf"))
    assert {row["name"] for row in nodes["Company"].values()} == {each.name for each in companies()}


@pytest.mark.parametrize("path", answers(), ids=lambda path: path.name)
def test_a_bundled_record_names_an_invented_company_unless_it_is_real(path):
    found = strangers(named_by(path))
    assert not found if path not in TRUE_FILES else found <= APPLE, "rename it, or mark a real answer in answers.json"


def test_a_real_company_among_invented_companies_is_detected(tmp_path):
    (tmp_path / "a.json").write_text('{"results": [{"ticker": "QACB"}, {"ticker": "IBM", "cash_amount": 1.0}]}')
    (tmp_path / "a.idx").write_text(f"{'8-K':<12}{'A Company':<62}{1800:<12}2024-02-01  edgar/data/1800/1.txt\n")
    assert strangers(named_by(tmp_path / "a.json")) == {"IBM"}
    assert strangers(named_by(tmp_path / "a.idx")) == {"1800"}


def test_captures_of_invented_answers_cite_example_hosts(tmp_path):
    lake = Lake(tmp_path / "lake")
    outside.unpack(lake)
    asked = {(capture.url, f"{capture.location} {capture.payload}") for capture in CaptureStore.of(lake.root).every()}
    real = {text for url, text in asked if not INVENTED.fullmatch(urlsplit(url).netloc)}
    assert len(real) == 19
    assert every(re.search("AAPL|CIK0000320193|series_id=(GDP|DGS)|release_id=(53|18)", text) for text in real)


def of_real_hosts(text):
    return {match[0] for match in ADDRESS.finditer(text) if match["host"] and not INVENTED.fullmatch(match["host"])}


def test_an_invented_record_names_no_real_host():
    files = [path for path in SAMPLE.rglob("*") if path.suffix not in (".pyc", ".pdf") and path.is_file()]
    addresses = {address for path in files for address in of_real_hosts(path.read_text(errors="replace"))}
    assert {address for address in addresses if address not in REAL} == {"http://www."}  # before a ticker and .example
    assert len(addresses & REAL) == len(REAL)


def test_an_address_of_a_real_host_is_detected():
    assert of_real_hosts('{"url": "https://www.benzinga.com/news/1", "a": "http://www.aa.example/20240930"}') == {
        "https://www.benzinga.com/news/1"
    }
