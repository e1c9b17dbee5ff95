"""Hostile and careless calls through three servers. The model reads nothing of the planted future."""

import base64
import random
import sys
import time

import anyio
import pytest
from mcp import Client

from pitlake.gate.rules import check_answer
from tests.proxy import two_worlds
from tests.proxy.hostile_server import CANARY, MEMBERS, PRICE, TOOLS
from tests.proxy.worlds import AS_OF, Reader, ask, direct, hostile, proxied, proxy_process

PLANTED = (CANARY, str(PRICE), base64.b64encode(CANARY.encode()).decode()[:6])
CAMPAIGN, SAMPLE = 500, 75
CPU_MILLISECONDS_BOUND = 15.0
LATER = "2026-01-01"
RIGHT = {
    "brave_news_search": {"query": "oil"},
    "get_stock_bars": {"symbols": "AAPL", "start": "2024-01-02"},
    "get_news": {"symbols": "AAPL"},
    "get_recent_filings": {"identifier": "AAPL"},
    "get_filing_content": {"identifier": "AAPL", "accession_number": "0000-24-1"},
}
CARELESS = (
    lambda arguments, chance: arguments,
    lambda arguments, chance: arguments | {chance.choice(["end", "end_date", "freshness", "asof", "until"]): LATER},
    lambda arguments, chance: arguments | {chance.choice(["End", "as_off", "end-date", "pit", "cutoff"]): LATER},
    lambda arguments, chance: arguments | {"options": {"end": {"date": LATER}}},
    lambda arguments, chance: {name: {"value": inputs, "end": LATER} for name, inputs in arguments.items()},
    lambda arguments, chance: {name: f"{inputs} until {LATER}, before:{LATER}" for name, inputs in arguments.items()},
    lambda arguments, chance: {},
    lambda arguments, chance: arguments | {"cursor": chance.choice(["", "2", f"after-{CANARY}"[:5], LATER])},
    lambda arguments, chance: arguments | {"page_token": "next", "_meta": {"end": LATER}},
    lambda arguments, chance: arguments | {"limit": 10**9, "count": 10**9},
)


def calls(name, count, seed):
    """Yield tool calls of a careless or hostile model, most of them to allowed tools."""
    chance = random.Random(f"{name} {seed}")
    for number in range(count):
        tool = chance.choice(sorted(set(TOOLS[name]) & set(MEMBERS)) if number % 9 else sorted(TOOLS[name]))
        arguments = chance.choice(CARELESS[:1] * 9 + CARELESS)(RIGHT.get(tool, {}), chance)
        numbered = ("query", "identifier", "symbols")
        yield tool, {name: f"{value} {number}" if isinstance(value, str) and name in numbered else value
                     for name, value in arguments.items()}  # fmt: skip


async def run(name, count, seed, folder):
    """Return everything that a model read in this many calls, the answers, and the CPU seconds."""
    async with proxied(hostile(name, seed), name, folder / f"{name}.jsonl") as (client, reader):
        return await conversation(client, reader, name, count, seed)


async def over_http(name, count, seed, folder):
    """Do the same through a proxy that listens in a separate process."""
    reader, line = Reader(), ["--as-of", AS_OF, "--policy", name, "--timeout", "5", "--", *hostile(name, seed)]
    with proxy_process(*line, folder=folder) as (address, _):
        async with Client(address, logging_callback=reader.hear, message_handler=reader.hear) as client:
            return await conversation(client, reader, name, count, seed)


async def conversation(client, reader, name, count, seed):
    reader.add([tool.model_dump(mode="json") for tool in (await client.list_tools()).tools])
    reader.add(str(client.instructions) + str(client.server_info))
    for kind in ("list_resources", "list_prompts", "list_resource_templates"):
        try:
            reader.add(repr(await getattr(client, kind)()))
        except Exception as problem:  # noqa: BLE001  The model may read any error.
            reader.add(repr(problem))
    answers, began = [], time.process_time()
    for tool, arguments in calls(name, count, seed):
        answers.append(await ask(client, reader, tool, arguments))
    return reader.texts, answers, time.process_time() - began


def judge(count, seed, folder, run=run):
    """Run the campaign. Return the planted bytes that were read, the milliseconds per call, and the rows passed on."""
    planted = rows = 0
    seconds = 0.0
    for name in TOOLS:
        texts, answers, spent = anyio.run(run, name, count // len(TOOLS) + 1, seed, folder)
        planted += sum(len(mark) * text.count(mark) for text in texts for mark in PLANTED)
        seconds += spent
        for answer in answers:
            if answer is not None and answer.structured_content is not None:
                assert check_answer(answer.structured_content, AS_OF) is None
                rows += len(answer.structured_content["data"])
    return planted, 1000 * seconds / count, rows


def test_a_sample_of_hostile_calls_shows_nothing_of_the_future(tmp_path):
    planted, milliseconds, rows = judge(SAMPLE, 1, tmp_path)
    assert planted == 0
    assert rows > SAMPLE / 4  # public rows are passed on
    assert milliseconds < CPU_MILLISECONDS_BOUND


def test_hostile_calls_over_http_show_nothing_of_the_future(tmp_path):
    planted, _, rows = judge(SAMPLE, 1, tmp_path, over_http)
    assert planted == 0
    assert rows > SAMPLE / 4


@pytest.mark.long
def test_every_hostile_call_shows_nothing_of_the_future(tmp_path):
    for seed in range(4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        planted, milliseconds, rows = judge(CAMPAIGN, seed, folder)
        figures = f"seed {seed}: {CAMPAIGN} calls, {planted} planted bytes, {rows} rows, {milliseconds:.2f} ms a call"
        sys.stderr.write(f"{figures}\n")
        assert planted == 0
        assert rows > CAMPAIGN / 4
        assert milliseconds < CPU_MILLISECONDS_BOUND


def test_answers_are_equal_in_worlds_that_differ_after_the_cut_off():
    compared, *differences = two_worlds.compare(2, seed=1)
    assert compared >= 600
    assert differences == [0, 0, 0]


@pytest.mark.long
def test_500_answers_are_equal_in_worlds_that_differ_after_the_cut_off():
    compared, *differences = two_worlds.compare(500, seed=0)
    sys.stderr.write(f"{compared:,} comparisons, differences: {differences}\n")
    assert compared >= 150_000
    assert differences == [0, 0, 0]


@pytest.mark.parametrize("name", TOOLS)
def test_the_same_calls_without_the_proxy_show_the_future(name):
    async def without():
        reader = Reader()
        async with Client(direct(hostile(name, 1)), logging_callback=reader.hear) as client:
            for tool, arguments in calls(name, 20, 1):
                await ask(client, reader, tool, arguments)
        return reader.texts

    texts = anyio.run(without)
    assert sum(CANARY in text for text in texts) > 15
