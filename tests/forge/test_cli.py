"""`pitlake forge …`: commands that need no model run without a model, and each interface shows the right memory."""

import pytest

from forge.core.clock import Simulated
from forge.fs import ForgeFS
from forge.memory import Memory
from forge.records import render
from pitlake.clock import instant, micros
from tests.forge.world import NEW_VIEW, run_forge

T = "2014-05-29T12:29:59Z"


pytestmark = pytest.mark.usefixtures("place")


def test_asking_without_a_model_is_refused_and_the_error_names_the_missing_key(capsys, tmp_path):
    code, out, err = run_forge(capsys, "ask", "What of growth?")
    assert (code, out) == (2, "")
    assert "ANTHROPIC_API_KEY" in err
    assert err.count("\n") == 1
    assert run_forge(capsys, "replay", "D-1")[0] == 2


@pytest.mark.parametrize("arguments", [("read", "/memory/views/"), ("search", "/memory/", "growth")])
def test_an_as_of_decision_is_found_only_in_its_simulated_memory(capsys, arguments):
    memory = Memory(clock=Simulated(f"at-{micros(instant(T))}", T))
    fs = ForgeFS(memory, memory.hydrate(T, session="sess_1"))
    fs.write_file("/memory/views/new.md", render(NEW_VIEW), call_id="D-1:1")
    memory.close()
    assert "V-001" in run_forge(capsys, *arguments, "--as-of", T, "--simulated")[1]
    assert "V-001" not in run_forge(capsys, *arguments, "--as-of", T)[1]
    assert "V-001" not in run_forge(capsys, *arguments)[1]
    code, out, err = run_forge(capsys, *arguments, "--simulated")
    assert (code, out, "--as-of" in err) == (2, "", True)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("ask", " "), "QUESTION: is empty"),
        (("ask", "growth?", "--as-of", ""), "as_of: "),
        (("ask", "growth?", "--as-of", "2199-01-01T00:00:00Z"), "as_of: is in the future"),
        (("ask", "--resume", ""), "decision: '' is not on the tape"),
        (("read", "/memory/views/", "--as-of", ""), "as_of: "),
        (("book", "--as-of", ""), "as_of: "),
        (("desk", "--as-of", ""), "as_of: "),
        (("mcp", "--as-of", ""), "--as-of: "),
        (("replay", "D-1", "--run", "nope"), "--run: there is no memory 'nope'"),
    ],
)
def test_an_empty_or_future_argument_is_refused_rather_than_read_as_now(
    capsys, tmp_path, monkeypatch, arguments, problem
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key")
    (tmp_path / ".pitlake").mkdir()
    (tmp_path / ".pitlake/forge.toml").write_text("[account]\ncapital = 1000000\n")
    code, out, err = run_forge(capsys, *arguments)
    assert (code, out, problem in err, err.count("\n")) == (2, "", True, 1), err
    assert not list(tmp_path.glob(".pitlake/forge-simulated*"))


def test_the_doctor_names_what_is_missing(capsys):
    code, out, _ = run_forge(capsys, "doctor")
    assert code == 0
    assert "model of agent: set ANTHROPIC_API_KEY" in out
    assert "market lake: there is no lake" in out
    assert "embedder: wordllama" in out


def test_ask_needs_either_a_question_or_a_decision_to_resume(capsys):
    assert [run_forge(capsys, "ask", *inputs)[0] for inputs in ((), ("What?", "--resume", "D-1"))] == [2, 2]
