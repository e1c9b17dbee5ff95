"""Every answer belongs to its question, even after failed, killed and concurrent turns and in the same session.

The campaign asks from concurrent processes, kills half of them, and resumes their decisions. `make forge` runs it.
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing

import pytest

from forge.agent.agent import Agent
from forge.agent.prompt import undated
from forge.core.clock import Simulated
from forge.core.tape import Tape
from forge.memory import Memory
from forge.model import Answer, Call, ModelFailed
from forge.model.messages import Returned
from forge.model.scripted import Scripted
from pitlake.errors import BadInput
from tests.forge.world import say
from tests.tally import Tally

T = "2014-05-29T12:29:59Z"
CLOCK = "turns", T


def echo(request):
    """Answer with the question, so that an answer shows which question it belongs to."""
    return Answer(f"answer to {undated(request.messages[-1])}", (), "stop", "scripted-1", 10, 10)


def failing(request):
    raise ModelFailed("scripted-1", "is unreachable", "try again")


def slow(request):
    time.sleep(0.05)
    return echo(request)


def agent(memory, tmp_path, model=echo):
    scripted = Scripted(model)
    return Agent(memory, Tape(tmp_path / "tape.sqlite"), lambda role: scripted, tmp_path / "none")


def test_the_question_after_a_failed_one_gets_its_own_answer(memory, tmp_path):
    ok, broken = agent(memory, tmp_path), agent(memory, tmp_path, failing)
    assert asyncio.run(ok.ask("first", T)).answer == "answer to first"
    with pytest.raises(ModelFailed):
        asyncio.run(broken.ask("second", T))
    failed = ok.tape.decisions()[-1]
    assert "unreachable" in ok.tape.failure(failed)
    assert asyncio.run(ok.ask("third", T)).answer == "answer to third"
    assert [ok.tape.inputs(name)["turn"] for name in ok.tape.decisions()] == [1, 2, 3]
    assert asyncio.run(ok.ask("", decision=failed)).answer == "answer to second"
    assert ok.tape.failure(failed) is None
    assert asyncio.run(ok.ask("fourth", T)).answer == "answer to fourth"


def test_a_named_decision_does_not_answer_another_question(memory, tmp_path):
    ok = agent(memory, tmp_path)
    asyncio.run(ok.ask("first", T, decision="D-1"))
    with pytest.raises(BadInput, match="started with a different question"):
        asyncio.run(ok.ask("second", T, decision="D-1"))


def test_concurrent_questions_are_answered_and_a_decision_cannot_run_twice_at_once(memory, tmp_path):
    ok = agent(memory, tmp_path)
    asyncio.run(ok.ask("first", T))

    async def together():
        return await asyncio.gather(*(ok.ask(f"question {number}", T) for number in range(8)))

    assert [decided.answer for decided in asyncio.run(together())] == [f"answer to question {n}" for n in range(8)]
    with ok.tape.claim("D-7"), pytest.raises(BadInput, match="already being decided"):
        asyncio.run(ok.ask("again", T, decision="D-7"))


ASKING = """
import asyncio, sys
from pathlib import Path
from tests.forge.test_turns import T, agent, slow
from forge.core.clock import Simulated
from forge.memory import Memory
folder = Path(sys.argv[1])
memory = Memory(folder / "forge", clock=Simulated("turns", T))
for question in sys.argv[2:]:
    print(question, asyncio.run(agent(memory, folder, slow).ask(question, T)).answer, sep="|", flush=True)
"""


def crowd(folder, processes, questions, seed):
    """Ask from many processes in parallel and kill half of them. Return their printed lines and the number killed."""
    rng = random.Random(f"crowd/{seed}")
    command = [sys.executable, "-c", ASKING, str(folder)]
    asked = [[f"p{process} q{number}" for number in range(questions)] for process in range(processes)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running, lines = [subprocess.Popen([*command, *each], **pipes) for each in asked], []
    for process in running[: processes // 2]:
        lines.append(process.stdout.readline().rstrip())
        for _ in range(rng.randrange(1, questions // 2)):
            started = time.monotonic()
            lines.append(process.stdout.readline().rstrip())
        time.sleep(rng.random() * (time.monotonic() - started))
        os.kill(process.pid, signal.SIGKILL)
    printed = [process.communicate(timeout=1800) for process in running]
    problems = [err for process, (_, err) in zip(running, printed, strict=True) if process.returncode not in (0, -9)]
    assert problems == [], "\n".join(problems)
    killed = sum(process.returncode == -signal.SIGKILL for process in running)
    return lines + [line for out, _ in printed for line in out.splitlines()], killed


def answered_for_another(lines):
    return [line for line in lines if line.split("|")[1] != f"answer to {line.split('|')[0]}"]


def resumed(folder):
    """Resume the decisions without a receipt; return each question with its answer."""
    with closing(Memory(folder / "forge", clock=Simulated("turns", T))) as memory:
        again = agent(memory, folder)
        names = [name for name in again.tape.decisions() if again.tape.receipt(name) is None]
        return [
            f"{again.tape.inputs(name)['text']}|{asyncio.run(again.ask('', decision=name)).answer}" for name in names
        ]


def test_killed_and_concurrent_processes_answer_their_own_questions(memory, tmp_path):
    lines, killed = crowd(tmp_path, processes=4, questions=4, seed=1)
    left = resumed(tmp_path)
    assert killed
    assert len(lines) >= 12
    assert answered_for_another(lines + left) == []
    tape = Tape(tmp_path / "tape.sqlite")
    turns = [(tape.inputs(name)["session"], tape.inputs(name)["turn"]) for name in tape.decisions()]
    assert len(turns) == len(set(turns))
    assert asyncio.run(agent(memory, tmp_path).ask("last", T)).answer == "answer to last"


def share(seed, folder):
    """Ask from concurrent processes, kill half of them, and resume their decisions."""
    (lines, killed), left = crowd(folder, processes=8, questions=12, seed=seed), resumed(folder)
    questions = len(Tape(folder / "tape.sqlite").decisions())
    counts = Counter({"processes killed": killed, "resumed": len(left)})
    return Tally(questions, len(lines), counts, answered_for_another(lines + left))


def asked_of(memory, tmp_path, answers, **more):
    model = Scripted(answers)
    outcome = Agent(memory, Tape(tmp_path / "tape.sqlite"), lambda role: model, tmp_path / "none")
    return model, asyncio.run(outcome.ask("What of growth?", T, **more))


def test_every_turn_begins_with_its_instant_and_the_end_of_the_models_training(memory, tmp_path):
    model, _ = asked_of(memory, tmp_path, [say("fine")])
    first = str(model.asked[0].messages[0])
    assert first.startswith("AS OF 2014-05-29T12:29:59Z (Thursday 2014-05-29 08:29 in New York).")
    assert "The end of your training data is unknown." in first
    assert undated(first) == "What of growth?"


def test_a_masked_turn_does_not_mention_the_models_training(memory, tmp_path):
    model = Scripted([say("fine")])
    masked = Agent(memory, Tape(tmp_path / "tape.sqlite"), lambda role: model, tmp_path / "none", states_cut_off=False)
    asyncio.run(masked.ask("What of growth?", T))
    assert "training" not in str(model.asked[0].messages[0])


def test_the_future_is_refused_before_a_model_is_asked(memory, tmp_path):
    with pytest.raises(BadInput, match="is in the future"):
        asyncio.run(agent(memory, tmp_path, failing).ask("What will be?", "2199-01-01T00:00:00Z"))


def test_a_repeated_call_counts_as_a_loop_only_after_three_identical_answers(memory, tmp_path):
    write = [
        say("", ("write", {"path": "/session/tasks.md", "content": f"{n}"}), ("read", {"path": "/session/tasks.md"}))
        for n in range(5)
    ]
    _, decided = asked_of(memory, tmp_path, [*write, say("done")])
    assert decided.answer == "done"
    _, stopped = asked_of(memory, tmp_path, [say("", ("read", {"path": "/memory/"}))] * 3)
    assert stopped.end == "repeated"


def test_an_empty_answer_is_retried_once(memory, tmp_path):
    _, decided = asked_of(memory, tmp_path, [say("  "), say("It slows.")])
    assert (decided.end, decided.answer) == ("answered", "It slows.")
    _, decided = asked_of(memory, tmp_path, [say("  "), say("")])
    assert (decided.end, "the model gave an empty answer" in decided.answer) == ("empty", True)


def test_an_unstorable_answer_does_not_prevent_a_decision_from_ending(memory, tmp_path):
    _, decided = asked_of(memory, tmp_path, [say("grown\0th")])
    assert decided.end == "answered"
    _, after = asked_of(memory, tmp_path, [say("next")])
    assert after.answer == "next"


def test_a_review_of_an_expression_that_does_not_exist_says_so(memory, tmp_path):
    model, _ = asked_of(memory, tmp_path, [say("", ("review", {"output": "E-009", "focus": "risk"})), say("ok")])
    (result,) = model.asked[1].messages[-1].returned
    assert "there is no Expression E-009" in result.text
    assert result.failed


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("[FETCH FAILED | economic] BadInput: x", True),
        ("[read FAILED] path: x", True),
        ("Not written. path: x", True),
        ("GUARDRAIL VIOLATIONS:\n  x", True),
        ("Written: /memory/views/V-001.md", False),
        ("Directory: /memory/ (0 items)\n[x FAILED]", False),
    ],
)
def test_a_failed_tool_result_is_marked_as_failed(text, failed):
    assert Returned(Call("read", {}, "1"), text).failed is failed
