"""The track for agents: tapes of real MCP clients, recorded from agents that behave and agents that peek."""

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from asofbench.agents import main
from asofbench.tape import for_agents, grade, prompt

ROOT = Path(__file__).resolve().parents[2]
CASES = ("restatement/news/2", "late_publication/bars/4")
RIGHT, LEAKS = "control: knows all", "control: shows everything"


async def agent(command, ask):
    """Run an agent, and return the arguments of the server's tool and the agent's answer."""
    settings = StdioServerParameters(command=sys.executable, args=command, env={"PYTHONPATH": str(ROOT)})
    async with stdio_client(settings) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        [tool] = (await session.list_tools()).tools
        return tool.input_schema["properties"], await ask(session)


def taped(tmp_path, case, system, ask, *more):
    """Run an agent whose server is behind the tape; return the tool's arguments and the lines of the tape."""
    tape = tmp_path / "tape.jsonl"
    server = [sys.executable, "-m", "asofbench.agents", "serve", system, "--case", case.id, *more]
    command = ["-m", "asofbench.agents", "tape", "--case", case.id, "--out", str(tape), "--", *server]
    arguments, answer = asyncio.run(agent(command, ask))
    with tape.open("a") as writing:
        writing.write(json.dumps({"case": case.id, "answer": answer}) + "\n")
    return arguments, [json.loads(line) for line in tape.read_text().splitlines()]


def calls(case, **arguments):
    async def ask(session):
        result = await session.call_tool("records", {"entity": case.ask.entity, **arguments})
        return result.content[0].text

    return ask


@pytest.fixture
def case(found):
    return next(case for case in for_agents(found) if case.id == CASES[0])


def test_an_agent_that_queries_as_of_t_is_right_and_its_tape_shows_nothing_later(tmp_path, found, case):
    _, tape = taped(tmp_path, case, RIGHT, calls(case, as_of=case.ask.as_of))
    [graded] = grade(tape, found)
    assert (graded.verdict, graded.calls, graded.shown, graded.beyond) == ("caught", 1, [], [])
    assert {line.get("from") for line in tape} == {"client", "server", None}


def test_an_agent_that_queries_a_later_instant_leaks_even_from_a_right_store(tmp_path, found, case, capsys):
    _, tape = taped(tmp_path, case, RIGHT, calls(case, as_of=case.later.as_of))
    [graded] = grade(tape, found)
    assert (graded.verdict, graded.shown, graded.beyond) == ("leak", ["records"], ["records"])
    assert main(["grade", str(tmp_path / "tape.jsonl")]) == 1
    output = capsys.readouterr()
    assert json.loads(output.out)["verdict"] == "leak"
    assert "1 tool calls: 1 showed what came after T, 1 asked for it" in output.err


def test_an_agent_that_hides_a_leaked_answer_is_exposed_by_its_tape(tmp_path, found, case):
    async def ask(session):
        await session.call_tool("records", {"entity": case.ask.entity, "as_of": case.later.as_of})
        return json.dumps(case.truth)

    _, tape = taped(tmp_path, case, RIGHT, ask)
    [graded] = grade(tape, found)
    assert (graded.verdict, graded.why) == ("leak", "canary in what records returned")


def test_a_pinned_tool_has_no_instant_and_leaks_only_if_its_store_does(tmp_path, found, case):
    arguments, tape = taped(tmp_path, case, RIGHT, calls(case), "--pinned")
    assert set(arguments) == {"entity"}
    assert [graded.verdict for graded in grade(tape, found)] == ["caught"]
    (tmp_path / "tape.jsonl").unlink()
    _, tape = taped(tmp_path, case, LEAKS, calls(case), "--pinned")
    [graded] = grade(tape, found)
    assert (graded.verdict, graded.beyond) == ("leak", [])


@pytest.mark.parametrize(
    ("answer", "verdict", "why"),
    [
        ("{}", "withheld", "lacks 1"),
        ("I do not know.", "refused", "no JSON object in the answer"),
        ("", "refused", "no answer"),
        ('{"headline": 1}', "leak", "tells 1 that were not so"),
    ],
)
def test_an_agents_answer_is_graded_against_what_was_public(found, case, answer, verdict, why):
    [graded] = grade([{"case": case.id, "answer": answer}], found)
    assert (graded.verdict, graded.why) == (verdict, why)


def test_no_line_of_a_tape_hides_a_leak_in_another_line(found, case):
    canary = next(each.text for each in case.canaries if each.public > case.ask.as_of)
    hidden = {"id": 1, "method": "tools/call", "params": {"name": "x"}, "result": canary}
    right = json.dumps(case.truth)
    [graded] = grade(
        [{"case": case.id, "from": "server", "message": hidden}, {"case": case.id, "answer": right}], found
    )
    assert (graded.verdict, graded.calls) == ("leak", 0)
    [graded] = grade([{"case": case.id, "answer": each} for each in (f'{{"item": "{canary}"}}', right)], found)
    assert (graded.verdict, graded.why) == ("leak", "canary in the answer")


def test_the_summary_states_how_many_cases_the_tape_leaves_out(found, case, tmp_path, capsys):
    tape = tmp_path / "tape.jsonl"
    tape.write_text(json.dumps({"case": case.id, "answer": json.dumps(case.truth)}) + "\n")
    assert main(["grade", str(tape)]) == 0
    assert f"1 of {len(for_agents(found))} cases: 1 caught" in capsys.readouterr().err


def test_only_a_date_after_t_in_an_argument_counts_as_a_later_request(found, case):
    def graded(**arguments):
        params = {"name": "search", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return grade([{"case": case.id, "from": "client", "message": message}], found)[0].beyond

    assert graded(until="2031-01-01") == graded(range={"to": "2031-01-01T00:00:00+02:00"}) == ["search"]
    assert graded(at=case.ask.as_of) == graded(item="0000-99-99") == graded() == []


def test_tasks_state_the_prompt_the_instant_and_the_rows_of_both_worlds(tmp_path, found, case):
    assert main(["tasks", "--out", str(tmp_path), "--classes", "restatement"]) == 0
    tasks = [json.loads(line) for line in (tmp_path / "tasks.jsonl").read_text().splitlines()]
    [mine] = [task for task in tasks if task["case"] == case.id]
    assert (mine["T"], mine["prompt"]) == (case.ask.as_of, prompt(case))
    rows = [json.loads(line) for line in (tmp_path / mine["rows"]).read_text().splitlines()]
    assert len(rows) == len(case.rows) + len(case.plant)
    assert {each.kind for each in for_agents(found)} > {"restatement", "any_order", "random_history"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["serve", "nobody", "--case", CASES[0]], "there is no system 'nobody'"),
        (["tape", "--case", "a/b/1", "--out", "tape", "--", "cat"], "there is no case 'a/b/1' for agents"),
        (["grade", "missing.jsonl"], "No such file or directory: 'missing.jsonl'"),
        (["grade", "other.jsonl"], "other.jsonl: there is no case 'a/b/1' for agents"),
        (["grade", "broken.jsonl"], "broken.jsonl: line 1 is not a JSON object with a case"),
        (["grade", "texts.jsonl"], "texts.jsonl: line 1 is not a JSON object with a case"),
    ],
)
def test_bad_arguments_and_tapes_are_refused_in_one_line(arguments, problem, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("other.jsonl").write_text('{"case": "a/b/1", "answer": ""}\n')
    Path("broken.jsonl").write_text("[]\n")
    Path("texts.jsonl").write_text(json.dumps({"case": CASES[0], "from": "client", "message": "x"}) + "\n")
    assert main(arguments) == 2
    [reply] = capsys.readouterr().err.splitlines()
    assert problem in reply


def test_the_agent_commands_on_the_page_run(tmp_path, found, case, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/asofbench.md").read_text()
    tasks, grading = (
        command.split() for command in re.findall(r"^python -m asofbench.agents (.*)$", page, re.MULTILINE)
    )
    assert main(tasks) == 0
    first = json.loads(Path("tasks/tasks.jsonl").read_text().splitlines()[0])
    Path("tape.jsonl").write_text(json.dumps({"case": first["case"], "answer": "{}"}) + "\n")
    assert main(grading) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "withheld"
    assert f'"{case.id}"' in page
