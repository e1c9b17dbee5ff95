"""LangChain (on LangGraph) over the lake as of an instant.

pip install './dist/pitlake-0.1.0-py3-none-any.whl[mcp]' langchain langchain-openai
python examples/langchain_agent.py 2024-05-29T17:00:00-04:00 "What did QBRY last report as revenue?"
"""

import asyncio
import json
import os
import sys
from contextlib import suppress
from typing import Any

import mcp_types
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.errors import GraphRecursionError
from mcp import Client, StdioServerParameters

RULES = "Answer only from the tools. Cite the evidence and the available_at of every number. Name what is missing."
STEPS = 50


def tool(lake: Client, listed_tool: mcp_types.Tool) -> StructuredTool:
    """Wrap a tool of the lake's server for LangChain, whose MCP adapter supports only the first SDK."""

    async def call(**arguments: Any) -> str:
        answer = await lake.call_tool(listed_tool.name, arguments)
        return json.dumps(answer.structured_content) if answer.structured_content else str(answer.content)

    return StructuredTool(
        name=listed_tool.name,
        description=listed_tool.description or "",
        args_schema=listed_tool.input_schema,
        coroutine=call,
    )


async def answer(as_of: str, question: str) -> str:
    """Return the agent's answer to a question, using the lake's tools."""
    server = StdioServerParameters(command="pitlake", args=["mcp", "--as-of", as_of], env={**os.environ})
    async with Client(server) as lake:
        tools = [tool(lake, listed_tool) for listed_tool in (await lake.list_tools()).tools]
        agent = create_agent(ChatOpenAI(model=os.environ["OPENAI_MODEL"]), tools, system_prompt=RULES)
        with suppress(GraphRecursionError):  # The client would wrap the exception in a group.
            state = await agent.ainvoke({"messages": [HumanMessage(question)]}, {"recursion_limit": STEPS})
            return str(state["messages"][-1].content)
    sys.exit(f"The model gave no answer: it took more than {STEPS} steps.")


if __name__ == "__main__":
    print(asyncio.run(answer(*sys.argv[1:])))
