"""The bundled policies, on recorded answers from the real servers and (`make long`) on the packaged servers."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from pitlake.clock import instant
from pitlake.proxy.cutting import cut_answer
from pitlake.proxy.policy import load
from tests.proxy.real_servers import upstream
from tests.proxy.worlds import AS_OF, ask, proxied

HERE = Path(__file__).resolve().parent
RECORDED = json.loads((HERE / "recorded.json").read_text())
# By policy: the package, the server's command, and the calls to its tools.
SERVERS = {
    "alpaca": ("alpaca-mcp-server==2.4.0", ["bin/alpaca-mcp-server"], {
        "get_stock_bars": {"symbols": "AAPL", "start": "2024-02-01"}, "get_news": {"symbols": "AAPL"}}),
    "sec-edgar": ("sec-edgar-mcp==1.1.0", ["bin/python", str(HERE / "real_servers.py"), "edgar"], {
        "get_recent_filings": {"identifier": "AAPL"},
        "get_filing_content": {"identifier": "AAPL", "accession_number": "0000320193-24-000001"}}),
    "yahoo-finance": ("mcp-yahoo-finance==0.2.0", ["bin/python", str(HERE / "real_servers.py"), "yahoo"], {
        "get_news": {"symbol": "AAPL"}, "get_stock_splits": {"symbol": "AAPL"}}),
    "brave-search": ("@brave/brave-search-mcp-server@2.1.4", [], {"brave_news_search": {"query": "apple"}}),
}  # fmt: skip
PASSED = {
    "alpaca": {"get_stock_bars": ["2024-02-14T05:00:00Z"], "get_news": ["Calm"]},
    "sec-edgar": {"get_recent_filings": ["0000320193-24-000001"], "get_filing_content": ["0000320193-24-000001"]},
    "yahoo-finance": {"get_news": ["Calm"], "get_stock_splits": ["2020-08-31"]},
    "brave-search": {"brave_news_search": ["Calm"]},
}
BOUND = {
    "alpaca": ["end=2024-02-15T21%3A00%3A00Z", "asof=2024-02-15", "adjustment=raw"],
    "brave-search": ["freshness=1990-01-01to2024-02-15"],
}


def first_members(name, tool, payload):
    """Return what identifies each item that was passed on."""
    member = {"get_stock_bars": "t", "get_news": "headline" if name == "alpaca" else "title",
              "get_stock_splits": "date", "brave_news_search": "title"}.get(tool, "accession_number")  # fmt: skip
    return [row[member] for row in payload["data"]]


@pytest.mark.parametrize(("name", "tool"), [(name, tool) for name, tools in PASSED.items() for tool in tools])
def test_a_ready_policy_cuts_off_recorded_answers_of_its_server(name, tool):
    answer = RECORDED[name][tool]
    is_planted = any(mark in json.dumps(answer) for mark in ("FUTURE", "2024-06-10", "987.6", "2024-02-16"))
    assert is_planted or tool == "get_filing_content"
    payload = cut_answer(answer, load(name).tools[tool], instant(AS_OF), name=f"{name}/{tool}").envelope(instant(AS_OF))
    assert first_members(name, tool, payload) == PASSED[name][tool]
    assert "FUTURE" not in json.dumps(payload)


def test_a_filing_of_a_later_day_is_left_out_with_its_text():
    answer = {"content": [{"type": "text", "text": json.dumps({
        "success": True, "accession_number": "2", "filing_date": "2024-02-16", "content": "FUTURE"})}]}  # fmt: skip
    policy = load("sec-edgar").tools["get_filing_content"]
    payload = cut_answer(answer, policy, instant(AS_OF), name="n").envelope(instant(AS_OF))
    assert payload["data"] == []


def installed(name, folder):
    """Install a server's package into a folder from its index, and return the server's command."""
    package, command, _ = SERVERS[name]
    if name == "brave-search":
        if shutil.which("npm") is None:
            pytest.skip("npm is not installed")
        line = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), package]
        subprocess.run(line, check=True, capture_output=True, timeout=600)
        script = folder / "node_modules/@brave/brave-search-mcp-server/dist/index.js"
        return ["node", "--import", str(HERE / "brave_upstream.mjs"), str(script)]
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=600)
    subprocess.run([folder / "bin/pip", "install", "-q", package], check=True, timeout=600)
    return [str(folder / command[0]), *command[1:]]


async def run(name, command, folder):
    async with proxied(command, name, folder / f"{name}.jsonl", seconds=60) as (client, reader):
        tools = {tool.name for tool in (await client.list_tools()).tools}
        answers = {tool: await ask(client, reader, tool, arguments) for tool, arguments in SERVERS[name][2].items()}
        return tools, answers, "".join(reader.texts)


@pytest.mark.long
@pytest.mark.parametrize("name", SERVERS)
def test_a_ready_policy_fits_the_published_server_package(name, tmp_path, monkeypatch):
    with upstream() as (address, requests):
        for variable in ("ALPACA_API_KEY", "ALPACA_SECRET_KEY", "BRAVE_API_KEY"):
            monkeypatch.setenv(variable, "no key but long")
        monkeypatch.setenv("DATA_API_URL", address)
        monkeypatch.setenv("UPSTREAM", address)
        monkeypatch.setenv("SEC_EDGAR_USER_AGENT", "Somebody somebody@example.org")
        tools, answers, texts = anyio.run(run, name, installed(name, tmp_path / "package"), tmp_path)
    assert tools == {*PASSED[name]}
    for tool, answer in answers.items():
        assert first_members(name, tool, answer.structured_content) == PASSED[name][tool]
    assert "FUTURE" not in texts
    assert [part for part in BOUND.get(name, []) if not any(part in request for request in requests)] == []
    lines = map(json.loads, (tmp_path / f"{name}.jsonl").read_text().splitlines()[2:])
    assert {line["tool"]: shape(line["answer"]) for line in lines} == {
        tool: shape(answer) for tool, answer in RECORDED[name].items()
    }


def shape(value):
    """Return the structure of an answer without its content: names, and types of values."""
    if isinstance(value, dict):
        return {name: shape(member) for name, member in value.items() if name != "_meta"}
    if isinstance(value, list):
        return [shape(member) for member in value]
    if isinstance(value, str) and value.startswith(("{", "[")):
        return shape(json.loads(value))
    return type(value).__name__
