"""Pydantic AI over the lake as of an instant.

pip install './dist/pitlake-0.1.0-py3-none-any.whl[mcp]' 'pydantic-ai-slim[openai,mcp]'
python examples/pydantic_ai_agent.py 2024-05-29T17:00:00-04:00 "What did QBRY last report as revenue?"
"""

import asyncio
import os
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel

RULES = "Answer from the tools alone. Cite the evidence and the available_at of every number. Name what is missing."


async def answer(as_of: str, question: str) -> str:
    """Return the agent's answer to a question, using the lake's tools."""
    server = StdioTransport("pitlake", ["mcp", "--as-of", as_of], env={**os.environ})
    # The model sees each of its errors, however many there are.
    lake = MCPToolset(server, tool_error_behavior="failed", init_timeout=60)
    agent = Agent(OpenAIChatModel(os.environ["OPENAI_MODEL"]), toolsets=[lake], instructions=RULES)
    async with agent:
        return (await agent.run(question)).output


if __name__ == "__main__":
    try:
        print(asyncio.run(answer(*sys.argv[1:])))
    except AgentRunError as fault:
        sys.exit(f"The model gave no answer: {fault}")
