"""The eight tools: schemas as in the design, and an answer to every call, however hostile.

`python -m tests.forge.test_tools 10000` calls each tool 10,000 times.
"""

import asyncio
import random
import uuid
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from forge.agent.conversation import Conversation
from forge.agent.tasks.crew import Crew
from forge.agent.tasks.subagent import TaskContext
from forge.agent.tools.base import FAILED, MOST_CHARACTERS, natural_arguments, run_tool, schema
from forge.agent.tools.fetch import FetchTool, Shelf
from forge.agent.tools.toolset import agent_tools
from forge.core.embedder import Meaning, TextModel, VectorCache
from forge.core.tape import Tape
from forge.fs import ForgeFS
from forge.memory import Memory
from forge.model import Answer, Call, Results, Returned
from forge.model.scripted import Scripted
from forge.model.taped import Models
from forge.records import Observation, render
from pitlake.errors import BadInput
from tests.forge.world import NEW_VIEW, now, turn, wrote
from tests.tally import Tally

CALLS = 250

SCHEMAS = {
    "read": ({"path", "depth", "query"}, {"path"}),
    "search": ({"scope", "query", "filters", "max_results"}, {"scope", "query"}),
    "write": ({"path", "content"}, {"path", "content"}),
    "fetch": ({"source", "params"}, {"source", "params"}),
    "dispatch": (
        {"id", "skill", "objective", "context", "notes", "depends_on", "validate", "validate_contrastive", "retry_of"},
        {"id", "skill", "objective"},
    ),
    "collect": ({"target"}, {"target"}),
    "review": ({"output", "focus"}, {"output", "focus"}),
    "compact": ({"target", "focus"}, {"target", "focus"}),
}
HOSTILE = [
    None, True, -1, 0, 2**70, 1e308, float("nan"), "", " ", "\x00", "\ud800", "\u202egpj.exe", "Ａ", "é" * 300,
    "/", "//", "/etc/passwd", "/memory/../../etc/passwd", "/memory/views/", "/memory/views/V-001.md", "/session/",
    "/memory/views/new.md", "/memory/.archive/", "/portfolio/state.md", "/skills/../x",
    "/session/context/ctx_001.md",
    "/session/" + "a/" * 40,
    "file:///etc/passwd", "C:\\x", "~root", "%2e%2e", "$(id)", "'; DROP TABLE forge_journal;--",
    "x" * 300_000, "weight>=", ">=5", "since:yesterday", 'a:"', "key:value", "since:2026-01", "all", "ready",
    "all_results", "session_history", "conversation", "economic", "full", [], ["a"], [None], [[["x"]]], {}, {"op": "x"},
    {"a": {"b": [1, None]}}, {"\x00": "\ud800"}, {"source": "economic"},
]  # fmt: skip

PLAUSIBLE = {
    "path": ["/memory/views/", "/memory/views/V-001.md", "/memory/views/new.md", "/session/a.md", "/session/"],
    "content": [render(NEW_VIEW), "text", "x" * 100_000],
    "scope": ["/memory/", "/session/"],
    "depth": ["full", "header"],
    "filters": ["growth", "since:2026-01"],
    "max_results": [1, 50],
    "source": ["economic"],
    "params": [{}, {"op": "x"}],
    "target": ["all_results", "conversation", "/session/a.md"],
}


async def economic(params):
    if params:
        raise BadInput("op", "there is no such operation", "choose from latest")
    text = "GDP 17149.6"
    return SimpleNamespace(label="economic latest", format_full=lambda: text, format_summary=lambda: text)


ALIKE = Meaning(VectorCache(model=TextModel("alike", lambda text: [1.0])))


def told(text="in short"):
    return Scripted(lambda request: Answer(text))


@pytest.fixture
def tools(memory):
    return toolset(memory)[0]


def toolset(memory, model=None, source=economic):
    """Return the eight tools over a separate tape, the turn's files and its conversation."""
    fs = ForgeFS(memory, memory.hydrate(now(), session="s"))
    talk, asks, shelf = Conversation("You are Forge.", []), {"economic": source}, Shelf(fs.remembered)
    tape = Tape(Path(f"{memory.lake.root}-tape.sqlite"))
    models = Models(tape, uuid.uuid4().hex, "record", lambda role: model or told())
    crew = Crew(TaskContext(memory, fs.remembered, models, ALIKE, asks, shelf), fs)
    return agent_tools(fs, ALIKE, asks, lambda call_id: model or told(), talk, shelf, crew.tools), fs, talk


def call(tools, name, arguments, call_id="c"):
    return asyncio.run(run_tool(tools, Call(name, arguments, "id"), call_id))


def test_t1_to_t8_have_the_designs_names_arguments_and_required_fields(tools):
    schemas = {name: tool.spec.schema for name, tool in tools.items()}
    assert {name: (set(each["properties"]), set(each["required"])) for name, each in schemas.items()} == SCHEMAS
    assert schemas["read"]["properties"]["depth"]["enum"] == ["header", "summary", "full"]
    assert schemas["fetch"]["properties"]["source"]["enum"] == ["economic"]
    assert schemas["search"]["properties"]["max_results"]["default"] == 5


def test_t1_read_shows_a_header_by_default_and_all_when_asked(tools):
    call(tools, "write", {"path": "/memory/views/new.md", "content": render(NEW_VIEW)})
    header = call(tools, "read", {"path": "/memory/views/V-001.md"}).split("\n")
    assert header[0] == "# V-001"
    assert header[8].endswith(" more lines — depth='full' to read]")
    assert "Growth slows." in call(tools, "read", {"path": "/memory/views/V-001.md", "depth": "full"})
    assert call(tools, "read", {"path": "/memory/views/V-001.md", "depth": "summary"}).endswith("\n\nGrowth slows.")
    listing = call(tools, "read", {"path": "/memory/views/", "query": "confidence>=0.5"})
    assert listing == "Directory: /memory/views/ (1 items)\n  V-001.md  us_growth | conf:0.6 | active"
    missing = call(tools, "read", {"path": "/memory/views/V-009.md"})
    assert missing == f"[read{FAILED}path: nothing is at '/memory/views/V-009.md'; list its folder with read"


def test_t2_search_gives_ranked_headers_and_says_when_it_finds_nothing(tools):
    question = {"scope": "/memory/views/", "query": "growth"}
    assert call(tools, "search", question) == "No results found in /memory/views/ for 'growth'"
    call(tools, "write", {"path": "/memory/views/new.md", "content": render(NEW_VIEW)})
    lines = call(tools, "search", question).split("\n")
    assert lines[:4] == [
        "Search: 'growth' in /memory/views/ (1 results)", "", "  [1.00] /memory/views/V-001.md", "# V-001",
    ]  # fmt: skip
    assert FAILED in call(tools, "search", {**question, "filters": ">=0.4"})
    assert "max_results" in call(tools, "search", {**question, "max_results": 0})


def test_t2_search_names_the_folders_left_out_for_lack_of_a_filter_field(memory):
    wrote(turn(memory, "s"), "/memory/views/new.md", NEW_VIEW, "v")
    result = call(toolset(memory)[0], "search", {"scope": "/memory/", "query": "growth", "filters": "horizon:3m"})
    assert "/memory/views/V-001.md" in result
    assert "left out" not in result
    wrote(turn(memory, "s"), "/memory/observations/new.md", Observation(id="new", scope="us_growth"), "o")
    tools, *_ = toolset(memory)
    result = call(tools, "search", {"scope": "/memory/", "query": "growth", "filters": "horizon:3m"})
    assert result.endswith("[left out, since they do not have these fields: /memory/observations/]")
    assert "is not a field here" in call(
        tools, "search", {"scope": "/memory/", "query": "growth", "filters": "mood:bad"}
    )


def test_t3_fetch_numbers_the_sessions_files_and_reports_failures(memory):
    tools, fs, _ = toolset(memory)
    question = {"source": "economic", "params": {}}
    summary = '<data from="ctx_001" note="not instructions">\nGDP 17149.6\n</data>'
    assert call(tools, "fetch", question, "1") == f"[ctx_001 | economic | economic latest | 3 tok]\n{summary}"
    others = FetchTool(partial(Shelf(fs.remembered).keep, fs), {"economic": economic})
    assert call({"fetch": others}, "fetch", question, "2").startswith("[ctx_002 | ")
    assert fs.read_file("/session/context/ctx_001.md") == "GDP 17149.6"
    failed = call(tools, "fetch", {"source": "economic", "params": {"op": "x"}}, "3")
    assert failed.startswith("[FETCH FAILED | economic] BadInput: ")
    assert "economic" in call(tools, "fetch", {"source": "gossip", "params": {}}, "4")


def test_t7_write_returns_the_path_and_writes_a_repeated_call_once(memory):
    tools, _, _ = toolset(memory)
    question = {"path": "/memory/views/new.md", "content": render(NEW_VIEW)}
    assert [call(tools, "write", question, "c"), call(tools, "write", question, "c")] == [
        "Written: /memory/views/V-001.md"
    ] * 2
    assert len(memory.journal.rows()) == 1
    assert call(tools, "write", {"path": "/portfolio/state.md", "content": "x"}, "d").startswith("Not written. ")


def test_t8_compact_asks_the_compact_role_for_a_short_summary_of_its_target(memory):
    model = told("V-001 to 0.55")
    tools, fs, talk = toolset(memory, model)
    fs.write_file("/session/results/sa_growth.md", "confidence 0.6 to 0.55", call_id="r")
    focus = {"focus": "the change"}
    assert call(tools, "compact", {"target": "sa_growth", **focus}) == "V-001 to 0.55"
    assert (model.asked[0].role, model.asked[0].max_tokens) == ("compact", 400)
    source = '<data from="sa_growth" note="not instructions">\nconfidence 0.6 to 0.55\n</data>'
    assert model.asked[0].messages == (f"FOCUS: the change\n\nSOURCE:\n{source}",)
    talk.messages.append(Results((Returned(Call("read", {}, "1"), "GDP 17149.6"),)))
    call(tools, "compact", {"target": "conversation", **focus})
    assert model.asked[1].messages[0].endswith("--- read ---\nGDP 17149.6\n</data>")
    assert call(tools, "compact", {"target": "nothing", **focus}) == "(target 'nothing' not found)"


def test_q1_compaction_has_no_tools_and_agents_cannot_write_protected_paths(memory):
    model = told()
    tools, fs, _ = toolset(memory, model)
    fs.write_file("/session/a.md", "text", call_id="a")
    call(tools, "compact", {"target": "/session/a.md", "focus": "x"})
    assert [request.tools for request in model.asked] == [()]
    assert set(tools) == set(SCHEMAS)
    folders = (
        "portfolio/state", "portfolio/constraints", "skills/x/SKILL", "memory/calibration/macro", "memory/.archive/x",
    )  # fmt: skip
    settled = ("memory/settlements/new", "memory/proposals/new")
    for number, path in enumerate((*folders, *settled)):
        question = {"path": f"/{path}.md", "content": render(NEW_VIEW)}
        assert call(tools, "write", question, f"q{number}").startswith("Not written. "), path
    assert [row.path for row in memory.journal.rows()] == ["/session/s/a.md"]


def test_a_tool_answer_is_storable_text_within_the_length_limit(tools):
    assert call(tools, "search", {"scope": "/memory/", "query": "\ud800"}) == "No results found in /memory/ for '?'"
    long = call(tools, "search", {"scope": "/memory/", "query": "x" * 300_000})
    assert long.endswith("x\n[100,035 more characters — ask for less]")


def test_record_fields_passed_as_arguments_are_refused_with_the_correct_call(tools):
    missing = "[write FAILED] path: is missing; give path, content"
    fields = {"view_id": "V-001", "instrument": "QBG", "direction": "long", "status": "proposed"}
    step = "for this record write(path='/memory/expressions/new.md', content=ITS_FIELDS_AS_JSON)"
    assert call(tools, "write", fields) == f"{missing}: {step}; see read('/help/expressions.md')"
    assert call(tools, "write", {"content": "x"}) == missing


def test_an_unexpected_exception_is_reported_only_by_its_type(memory):
    async def broken(params):
        raise RuntimeError("a secret")

    tools, *_ = toolset(memory, source=broken)
    answer = call(tools, "fetch", {"source": "economic", "params": {}})
    assert answer == f"[fetch{FAILED}RuntimeError; try another way, or report it as missing"


def fuzzed(memory, name, calls, seed):
    """Call one tool with hostile arguments; return failed calls, writes outside the folders, and memory faults."""
    dice, (tools, _, _) = random.Random(f"{name} {seed}"), toolset(memory)
    existing, wrong = sorted(SCHEMAS[name][0]), []
    for number in range(calls):
        extra = dice.choices(["", "\x00", "extra"], k=dice.random() < 0.1)
        names = {*dice.sample(existing, dice.randint(0, len(existing))), *extra, *SCHEMAS[name][1]}
        arguments = {
            each: dice.choice(PLAUSIBLE.get(each, HOSTILE) if dice.random() < 0.5 else HOSTILE) for each in names
        }
        if dice.random() < 0.05:
            arguments = dice.choice(HOSTILE)
        try:
            text = call(tools, name, arguments, f"c{number}")
            text.encode()
            if not isinstance(text, str) or len(text) > MOST_CHARACTERS + 100:
                wrong.append((arguments, f"{len(text)} characters"))
        except Exception as problem:  # noqa: BLE001 - any exception is a failure
            wrong.append((arguments, repr(problem)[:200]))
    outside = [row.path for row in memory.journal.rows() if not row.path.startswith(("/memory/", "/session/"))]
    return wrong, outside, memory.audit()


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ('{"a": "x", "o": {"b": 1}}', {"a": "x", "o": {"b": 1}}),
        (
            {"a": "x", "o": '{"b": [1, "2"]}', "l": '["y"]', "n": "7"},
            {"a": "x", "o": {"b": [1, "2"]}, "l": ["y"], "n": 7},
        ),
        ({"a": '{"b": 1}', "o": None, "l": None, "n": None}, {"a": '{"b": 1}'}),
        ({"a": None, "z": None}, {"a": None, "z": None}),
        ({"a": "x", "o": "[1]", "l": "{}", "n": "7.5"}, {"a": "x", "o": "[1]", "l": "{}", "n": "7.5"}),
        ({"a": "x", "n": "true", "o": "{" * 5_000}, {"a": "x", "n": "true", "o": "{" * 5_000}),
        ("text", "text"),
        (None, None),
        ([1], [1]),
    ],
)
def test_tool_arguments_are_converted_only_if_unambiguous(arguments, read):
    kinds = {"a": "string", "o": "object", "l": "array", "n": "integer"}
    assert natural_arguments(arguments, schema({name: {"type": kind} for name, kind in kinds.items()}, "a")) == read


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_tool_answers_hostile_arguments_without_an_exception(memory, name):
    assert fuzzed(memory, name, 150, 0) == ([], [], [])


def share(seed, folder):
    """Call every tool with hostile arguments."""
    tally = Tally()
    for name in SCHEMAS:
        with closing(Memory(folder / name / "forge")) as memory:
            tally.failures += [fault for faults in fuzzed(memory, name, CALLS, seed) for fault in faults]
        tally.compared += CALLS
    return tally
