"""The OpenAI Agents SDK over the lake as of an instant.

pip install './dist/pitlake-0.1.0-py3-none-any.whl[mcp]' openai-agents
python examples/openai_agent.py 2024-05-29T17:00:00-04:00 "What did QBRY last report as revenue?"
"""

import asyncio
import os
import sys

from agents import Agent, AgentsException, Runner, set_default_openai_api, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStdioParams

RULES = "Answer from the tools alone. Cite the evidence and the available_at of every number. Name what is missing."


async def answer(as_of: str, question: str) -> str:
    """Return the agent's answer to a question, using the lake's tools."""
    server: MCPServerStdioParams = {"command": "pitlake", "args": ["mcp", "--as-of", as_of], "env": {**os.environ}}
    async with MCPServerStdio(server, cache_tools_list=True, client_session_timeout_seconds=60) as lake:
        agent = Agent("analyst", instructions=RULES, mcp_servers=[lake], model=os.environ["OPENAI_MODEL"])
        return str((await Runner.run(agent, question)).final_output)


if __name__ == "__main__":
    set_tracing_disabled(True)  # the SDK would send questions and answers to OpenAI
    set_default_openai_api("chat_completions")  # supported by all servers with OpenAI's protocol
    try:
        print(asyncio.run(answer(*sys.argv[1:])))
    except AgentsException as fault:
        sys.exit(f"The model gave no answer: {fault}")
