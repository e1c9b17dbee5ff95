"""Clients of the MCP server from the SDK: in this process, over stdio and over HTTP."""

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import anyio
import psutil
from mcp import Client, StdioServerParameters

from pitlake.clock import instant
from pitlake.mcp.query_service import QueryService
from pitlake.mcp.server import server
from pitlake.mcp.tools import UNGATED
from pitlake.session import Viewpoint
from tests.doors.conftest import AS_OF

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-c", "from pitlake.cli import main; main()", "mcp"]
KEY = b"one key for every server of this file"
SETTINGS = {"PYTHONPATH": str(ROOT), "PITLAKE_CURSOR_KEY": KEY.decode()}
ALL_NEWS = "SELECT available_at, available_at_source, id FROM news ORDER BY id"
EVERY_TOOL = (
    ("query", {"sql": ALL_NEWS, "max_rows": 5}),
    ("run_query", {"name": "news_latest", "params": {"ticker": "QBG"}}),
    ("search", {"query": "guidance", "ticker": "QBG"}),
    ("gaps", {"dataset": "news"}),
    ("describe", {}),
)
"""Every tool, with arguments that the tests' lake can answer."""

GATED_TOOLS = tuple(call for call in EVERY_TOOL if call[0] not in UNGATED)


def talk(to, *calls):
    """Return the results of tool calls that one client makes in sequence."""

    async def conversation():
        async with Client(to) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(conversation)


def service(lake, **changes):
    own = {name: changes.pop(name) for name in ("keep_receipts", "cursor_key") if name in changes}
    viewpoint = Viewpoint(**{"lake": lake, "as_of": instant(AS_OF)} | changes)
    return QueryService(viewpoint=viewpoint, **{"cursor_key": KEY} | own)


def ask(lake, tool, /, **arguments):
    (result,) = talk(server(service(lake)), (tool, arguments))
    assert not result.is_error, result.content
    return result.structured_content


def refusal(lake, tool, /, **arguments):
    (result,) = talk(server(service(lake)), (tool, arguments))
    assert result.is_error
    assert result.structured_content is None
    return result.content[0].text


def stdio(lake, *more):
    environment = {"PITLAKE_LAKE": str(lake)} | SETTINGS
    return StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], "--as-of", AS_OF, *more], env=environment)


def listens(pid, port):
    """Return whether this process listens on the port, and not another process that was faster."""
    try:
        content = psutil.Process(pid).net_connections("tcp")
    except psutil.NoSuchProcess:
        return False
    return any(each.status == psutil.CONN_LISTEN and each.laddr.port == port for each in content)


@contextmanager
def http(lake, *more):
    """Start a server in a separate process on a free port, and yield its address."""
    while True:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        line = [*COMMAND, "--as-of", AS_OF, "--http", "--port", str(port), "--lake", str(lake), *more]
        process = subprocess.Popen(line, env=os.environ | SETTINGS, stderr=subprocess.PIPE)
        while process.poll() is None and not listens(process.pid, port):
            time.sleep(0.02)
        if process.poll() is None:
            break
        complaint = process.communicate()[1]
        assert b"Address already in use" in complaint, complaint  # another process took the port: try another one
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.communicate(timeout=240)
