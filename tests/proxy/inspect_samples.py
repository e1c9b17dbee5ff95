"""An evaluation of inspect-ai in which each sample has a separate cut-off. test_samples.py runs it.

python inspect_samples.py ADDRESS HEADER DAY=INSTANT …
"""

import json
import sys
import tempfile

import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.solver import generate, solver
from inspect_ai.tool import mcp_server_http, mcp_tools


async def count_words(text):
    """Return the number of words instead of tokens, because inspect-ai would fetch its encoding from the network."""
    return len(text.split())


def evaluate(address, header, cut_offs):
    """Return the titles that a scripted model read, by sample."""

    @solver
    def with_tools():
        async def solve(state, generate):
            headers = {header: state.metadata["as_of"]}
            tools = mcp_server_http(url=address, headers=headers)
            state.tools = await mcp_tools(tools).tools()
            return state

        return solve

    calls = [
        ModelOutput.for_tool_call("mockllm/model", "search", {"query": "x"})
        if number % 2 == 0
        else ModelOutput.from_content("mockllm/model", "done")
        for number in range(2 * len(cut_offs))
    ]
    samples = [Sample(input="What happened?", id=day, metadata={"as_of": text}) for day, text in cut_offs.items()]
    model = get_model("mockllm/model", custom_outputs=calls)
    model.api.count_text_tokens = count_words
    with tempfile.TemporaryDirectory() as folder:
        (log,) = inspect_ai.eval(
            inspect_ai.Task(dataset=samples, solver=[with_tools(), generate()]),
            model=model,
            log_dir=folder,
            display="none",
            max_samples=1,
        )
        answers = {}  # Reads the samples from the log file.
        for sample in log.samples:
            (read,) = [message for message in sample.messages if message.role == "tool"]
            answers[sample.id] = [row["title"] for row in json.loads(read.text)["data"]]
    return answers


if __name__ == "__main__":
    address, header, *pairs = sys.argv[1:]
    sys.stdout.write(json.dumps(evaluate(address, header, dict(pair.split("=") for pair in pairs))) + "\n")
