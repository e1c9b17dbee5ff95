"""The agents in examples/, each run as in docs/frameworks.md with the lake's own server and a local model."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pitlake import __version__
from pitlake.mcp.tools import Toolbox
from tests.agents import world
from tests.agents.harness import ROOT
from tests.every import every
from tests.loopback import Answer, Loopback

EXAMPLES = sorted((ROOT / "examples").glob("*_agent.py"))
PAGE = (ROOT / "docs/frameworks.md").read_text()
LATER = "2024-06-20T17:00:00-04:00"
COMPLETIONS = "/v1/chat/completions"
MISTAKE = ("describe", {"name": "Brynmoor Corporation"})
CALLS = (
    ("run_query", {"name": "news_latest", "params": {"ticker": "QACB"}}),
    ("query", {"sql": "SELECT * FROM news", "pit": LATER}),
)


@pytest.fixture
def model():
    """A server of OpenAI's protocol whose model makes the calls one after another and then says that it is done."""
    running = Loopback()
    running.plays(COMPLETIONS, *calls_by_model(CALLS), said_by_model("stop", content="Done."))
    yield running
    running.close()


def calls_by_model(calls):
    return [
        said_by_model(
            "tool_calls",
            tool_calls=[
                {"id": f"call_{number}", "type": "function",
                 "function": {"name": name, "arguments": json.dumps(arguments)}}
            ],
        )
        for number, (name, arguments) in enumerate(calls)
    ]  # fmt: skip


def run_example(path, model, lake, home):
    (typed,) = re.findall(rf"^python examples/{path.name} .*$", PAGE, flags=re.MULTILINE)
    env = {
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.defpath)),
        "HOME": str(home), "PITLAKE_LAKE": str(lake), "OPENAI_MODEL": "scripted",
        "OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": "none",
    }  # fmt: skip
    return subprocess.run(
        shlex.split(typed), cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False
    )


def said_by_model(finish, **message):
    choice = {"index": 0, "message": {"role": "assistant", "content": None} | message, "finish_reason": finish}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    reply = {"id": "c", "object": "chat.completion", "created": 1, "model": "scripted", "choices": [choice]}
    return Answer(reply | {"usage": usage}, headers={"Content-Type": "application/json"})


@pytest.mark.parametrize(
    "path",
    [EXAMPLES[0], *(pytest.param(path, marks=pytest.mark.long) for path in EXAMPLES[1:])],
    ids=lambda path: path.stem,
)
def test_an_example_agent_has_the_lakes_tools_and_reads_nothing_later(path, model, marked_lake, tmp_path):
    output = run_example(path, model, marked_lake, tmp_path)
    assert (output.returncode, output.stdout) == (0, "Done.\n"), output.stderr
    bodies = [body.decode() for _, _, _, body in model.asked]
    assert len(bodies) == len(CALLS) + 1
    assert not any(map(world.marked, bodies))
    first, _, last = map(json.loads, bodies)
    assert {tool["function"]["name"] for tool in first["tools"]} == {"query", "run_query", "search", "gaps", "describe"}
    rows, refused = (str(message["content"]) for message in last["messages"] if message["role"] == "tool")
    assert "bzNews_" in rows
    assert "available_at" in rows
    assert "pit_excluded" in refused or "later" in refused


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_model_that_repeats_a_mistake_gets_the_error_and_still_answers(path, model, marked_lake, tmp_path):
    model.plays(COMPLETIONS, *calls_by_model([MISTAKE] * 2), said_by_model("stop", content="Done."))
    output = run_example(path, model, marked_lake, tmp_path)
    assert (output.returncode, output.stdout) == (0, "Done.\n"), output.stderr
    last = json.loads(model.asked[-1][-1])
    refusals = [str(message["content"]) for message in last["messages"] if message["role"] == "tool"]
    assert len(refusals) == 2
    assert every("Brynmoor Corporation" in refusal for refusal in refusals)


@pytest.mark.parametrize("path", [pytest.param(path, marks=pytest.mark.long, id=path.stem) for path in EXAMPLES])
def test_a_model_that_never_answers_ends_in_one_sentence(path, model, marked_lake, tmp_path):
    calls = [("describe", {"name": f"Brynmoor Corporation {number}"}) for number in range(200)]
    model.plays(COMPLETIONS, *calls_by_model(calls))
    message = run_example(path, model, marked_lake, tmp_path)
    assert (message.returncode, message.stdout) == (1, "")
    assert "Traceback" not in message.stderr
    assert message.stderr.splitlines()[-1].startswith("The model gave no answer: ")


def test_the_page_has_every_example_and_its_packages():
    for path in EXAMPLES:
        (needs,) = re.findall(r"^pip install .*$", path.read_text(), flags=re.MULTILINE)
        assert needs in PAGE, path.name
        assert f"dist/pitlake-{__version__}-py3-none-any.whl[mcp]" in needs, "no index has pitlake"
    assert every(hasattr(Toolbox, name) for name in ("query", "run_query", "search", "gaps", "describe"))
