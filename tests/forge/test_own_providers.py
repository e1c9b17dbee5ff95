"""Providers from other packages: found by entry point or named in settings, gated, and refused with clear errors."""

import asyncio
import sys

import pytest

from forge.agent.agent import Agent
from forge.agent.prompt import forms
from forge.core.config import from_mapping
from forge.core.tape import Tape
from forge.model import Answer, Call
from forge.model.scripted import Scripted
from forge.providers import all_providers
from forge.providers.packages import ENTRY_POINTS
from pitlake import cli
from pitlake.errors import BadInput

T, LATER = "2014-05-29T12:29:59Z", "2014-05-29T12:30:00Z"
CLOCK = "own", T
PACKAGE = f'''
"""Prices of a desk."""

from forge.providers.base import FetchResult, QueryProvider

ROW = {{"available_at": "{T}", "available_at_source": "provider_metadata", "evidence": "desk:1", "price": 101.5}}


class DeskPrices:
    """Operation: newest(bond*), the desk's newest price of a bond."""

    name = "desk_prices"
    summary = "Prices that the desk made."

    async def fetch(self, params, at):
        rows = (ROW | params.get("row", {{}}),)
        return FetchResult(source="", label="desk_prices newest", rows=rows, gaps=(), receipts=())


class Renamed(DeskPrices):
    name = "other"


class Silent(DeskPrices):
    summary = ""


class Blocking(DeskPrices):
    def fetch(self, params, at):
        return None


class Wordy(DeskPrices):
    async def fetch(self, params, at):
        return "101.5"


class Greedy(DeskPrices):
    def __init__(self, key):
        self.key = key


headlines = QueryProvider("headlines", "Headlines of a company.", {{"latest": "news_latest"}})
'''


@pytest.fixture(autouse=True)
def package(tmp_path, monkeypatch):
    """A function that installs the entry points of a third-party package, which is on the import path."""
    folder = tmp_path / "site"
    (folder / "desk_tools").mkdir(parents=True)
    (folder / "desk_tools/__init__.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    monkeypatch.setenv("PITLAKE_LAKE", str(tmp_path / "none"))

    def install(*lines):
        about = folder / "desk_tools-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: desk-tools\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text("\n".join([f"[{ENTRY_POINTS}]", *lines, ""]))

    for cached in (all_providers, forms):
        cached.cache_clear()
    yield install
    sys.modules.pop("desk_tools", None)
    for cached in (all_providers, forms):
        cached.cache_clear()


@pytest.fixture(params=["entry point", "settings"])
def config(request, package):
    """The settings of a desk whose provider is named in the settings or found by entry point."""
    if request.param == "settings":
        return from_mapping({"providers": {"desk_prices": "desk_tools:DeskPrices"}})
    package("desk_prices = desk_tools:DeskPrices")
    return from_mapping({})


def fetched(memory, tmp_path, config, params):
    """Return the agent's first request, and the results of its fetch and read."""
    fetch = Call("fetch", {"source": "desk_prices", "params": params}, "id1")
    read = Call("read", {"path": "/help/desk_prices.md"}, "id2")
    model = Scripted([Answer("", (fetch, read), "tools", "s", 1, 1), Answer("It is 101.5.", (), "stop", "s", 1, 1)])
    agent = Agent(memory, Tape(tmp_path / "tape.sqlite"), lambda role: model, tmp_path / "none", config)
    decided = asyncio.run(agent.ask("What is it?", T))
    assert asyncio.run(agent.replay(decided.decision, "live-tools")) == decided
    return model.asked[0], [result.text for result in model.asked[1].messages[-1].returned]


def test_a_packages_provider_is_a_source_like_any_other(memory, tmp_path, config):
    request, (answer, page) = fetched(memory, tmp_path, config, {"op": "newest", "bond": "T 4 2034"})
    (fetch,) = (tool for tool in request.tools if tool.name == "fetch")
    assert fetch.schema["properties"]["source"]["enum"][-1] == "desk_prices"
    assert "  desk_prices: Prices that the desk made.\n" in request.system
    assert answer.startswith("[ctx_001 | desk_prices | desk_prices newest |")
    assert "price=101.5" in answer
    assert page.endswith("Operation: newest(bond*), the desk's newest price of a bond.\n")


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"available_at": LATER}, "PIT_VIOLATION"),
        ({"available_at": None}, "PIT_MISSING_AVAILABLE_AT"),
        ({"available_at_source": None}, "PIT_INVALID_AVAILABLE_AT_SOURCE"),
    ],
)
def test_a_row_with_a_missing_or_later_available_at_is_refused(memory, tmp_path, config, row, code):
    _, (answer, _) = fetched(memory, tmp_path, config, {"row": row})
    assert answer.startswith(f"[FETCH FAILED | desk_prices] EnvelopeRefused: {code}")
    assert "101.5" not in answer


def test_named_queries_of_a_package_are_listed_with_their_parameters(package):
    package("headlines = desk_tools:headlines")
    assert all_providers()["headlines"].operations == {"latest": "news_latest"}
    assert "  headlines: latest(" in forms()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("desk_prices = no_such_package:DeskPrices", "no_such_package can't be imported: ModuleNotFoundError"),
        ("desk_prices = desk_tools:Missing", "desk_tools has no Missing; write package.module:Class"),
        ("desk_prices = desk_tools", "'desk_tools' is not a location; write package.module:Class"),
        ("desk_prices = desk_tools:Renamed", "has the name 'other'; set its attribute name to 'desk_prices'"),
        ("desk_prices = desk_tools:Silent", "desk_tools:Silent has no summary"),
        ("desk_prices = desk_tools:Blocking", "desk_tools:Blocking has no async fetch"),
        ("desk_prices = desk_tools:Greedy", "desk_tools:Greedy can't be created: TypeError"),
        ("news = desk_tools:DeskPrices", "news: is the name of another source or page of /help; rename it"),
        ("views = desk_tools:DeskPrices", "views: is the name of another source or page of /help"),
        ("Desk = desk_tools:DeskPrices", "'Desk' is not a name for a source"),
    ],
)
@pytest.mark.parametrize("way", ["entry point", "settings"])
def test_a_provider_that_cannot_be_used_ends_the_command_with_exit_code_2(
    package, tmp_path, capsys, monkeypatch, way, line, reason
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key")
    if way == "entry point":
        package(line)
        field = f"entry point {ENTRY_POINTS}."
    else:
        name, _, place = line.partition(" = ")
        (tmp_path / "forge.toml").write_text(f'[providers]\n{name} = "{place}"\n')
        field = "providers."
    assert cli.invoke(["forge", "ask", "What is it?"]) == 2
    err = capsys.readouterr().err
    assert reason in err
    assert field in err
    assert err.count("\n") == 1
    assert Tape(tmp_path / "forge-tape.sqlite").decisions() == []
    assert cli.invoke(["forge", "doctor"]) == 0
    assert reason in capsys.readouterr().out


def test_a_provider_that_returns_the_wrong_type_is_a_failed_fetch(memory, tmp_path):
    config = from_mapping({"providers": {"desk_prices": "desk_tools:Wordy"}})
    _, (answer, _) = fetched(memory, tmp_path, config, {})
    assert answer.startswith(
        "[FETCH FAILED | desk_prices] BadInput: desk_prices: its fetch returned a str; return a Fetch"
    )


def test_two_providers_of_one_name_are_refused(package):
    package("desk_prices = desk_tools:DeskPrices")
    with pytest.raises(BadInput, match="is the name of another source"):
        all_providers((("desk_prices", "desk_tools:DeskPrices"),))
