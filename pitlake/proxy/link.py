"""The connection to another MCP server: its tools, and their unchanged answers.

Only tools are used, and notifications of the server are dropped. The SDK refuses its requests to a client (sampling,
elicitation, roots), because no callback answers them.
"""

import json
import logging
import os
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TextIO

import anyio
import mcp_types as types
from anyio import to_thread
from anyio.abc import TaskStatus
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from pitlake.errors import BadInput, PitlakeError
from pitlake.proxy.cutting import LONGEST_ANSWER, TOO_LARGE

START_SECONDS = 120.0
AGAIN_SECONDS = 1.0
MOST_TOOL_PAGES = 100
SHORTEST_SECRET = 8
LONGEST_LINE = 300
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW", re.IGNORECASE)
_ERROR_LINE = re.compile(r"(?i:\b(?:error|fatal)\b)|\w(?:Error|Exception)\b")
_OWN_PREFIX = "PITLAKE_"
HEADER_NAME, _VARIABLE = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII), re.compile(r"[A-Za-z_]\w*")


def command_target(command: Sequence[str], log: Path) -> Callable[[], Any]:
    """Return a function that starts a server over stdio.

    The server's stderr goes to a file, because its lines have no dates.
    """
    # The SDK would print the server's other output to the proxy's own stderr.
    logging.getLogger(stdio_client.__module__).setLevel(logging.CRITICAL)
    environment = {name: setting for name, setting in os.environ.items() if not name.startswith(_OWN_PREFIX)}
    parameters = StdioServerParameters(command=command[0], args=list(command[1:]), env=environment)
    return lambda: _logged(parameters, log)


@asynccontextmanager
async def _logged(parameters: StdioServerParameters, log: Path) -> AsyncIterator[Any]:
    errlog: TextIO
    with log.open("a", encoding="utf-8") as errlog:
        async with stdio_client(parameters, errlog) as streams:
            yield streams


def address_target(address: str, headers: Mapping[str, str]) -> Callable[[], Any]:
    """Return a function that connects to a server over streamable HTTP and sends these headers with each request."""
    return lambda: _connected_to(address, headers)


@asynccontextmanager
async def _connected_to(address: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    client = create_mcp_http_client(dict(headers))
    async with client, streamable_http_client(address, http_client=client) as streams:
        yield streams


def headers_from(names: Iterable[tuple[str, str]], environment: Mapping[str, str]) -> dict[str, str]:
    """Return headers with the values of environment variables. Other users of a machine can read command lines.

    Raises BadInput for an invalid name or value, and for a variable that is not set.
    """
    headers: dict[str, str] = {}
    for name, variable in names:
        if not HEADER_NAME.fullmatch(name):
            raise BadInput("--header", f"{name!r} is not the name of a header", "give one such as Authorization")
        if not environment.get(variable):
            problem = f"the variable {variable!r} is not set" if _VARIABLE.fullmatch(variable) else "is not a variable"
            raise BadInput("--header", problem, "put the header's value into a variable and name that variable")
        if not environment[variable].isascii() or not environment[variable].isprintable():
            raise BadInput("--header", f"a header can't contain the value of {variable}", "use printable ASCII")
        headers[name] = environment[variable]
    return headers


def secrets_of(environment: Mapping[str, str], variables: Iterable[str] = ()) -> dict[str, str]:
    """Return the secrets to remove from answers, each with the name of its variable.

    The secrets are the values of these variables and of all variables whose names suggest a secret, with and without a
    scheme such as Bearer.
    """
    of_headers = set(variables)
    return {
        secret: name
        for name, setting in environment.items()
        if name in of_headers or _SECRET_NAME.search(name)
        for secret in (setting, setting.rpartition(" ")[2])
        if len(secret) >= SHORTEST_SECRET
    }


class Link:
    """A connection that is restored after it breaks. `run` maintains it, and the other methods use it."""

    def __init__(
        self,
        target: Callable[[], Any],
        *,
        seconds: float,
        secrets: Mapping[str, str] | None = None,
        log: Path | None = None,
    ) -> None:
        """Prepare a connection.

        Args:
            target: Starts or connects to the server.
            seconds: How long a call may take.
            secrets: Strings to remove from answers, with the names that replace them.
            log: The file of the server's stderr.
        """
        self._target, self._seconds, self._log = target, seconds, log
        self._secrets = dict(secrets or {})
        self._client: Client | None = None
        self._ready, self._lost = anyio.Event(), anyio.Event()

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Maintain a connection until cancelled. Raises BadInput if the first attempt fails."""
        is_first = True
        while True:
            self._lost = anyio.Event()
            try:
                async with Client(self._target(), cache=None) as client:
                    self._client = client
                    self._ready.set()
                    if is_first:
                        task_status.started()
                    await self._lost.wait()
            except Exception as problem:  # noqa: BLE001  Whatever a server ends with that died or can't be reached.
                if is_first and self._client is None:
                    raise BadInput(
                        "SERVER", self._why(problem), "check the command, or the URL and its --header"
                    ) from None
            is_first, self._client, self._ready = False, None, anyio.Event()
            await anyio.sleep(AGAIN_SECONDS)

    async def tools(self) -> list[dict[str, Any]]:
        """Return the server's tools: name, title, description and schema of the arguments."""
        client = self._client
        if client is None:
            raise BadInput("SERVER", "is gone", "start the proxy again")
        tools: list[types.Tool] = []
        cursor: str | None = None
        try:
            for _ in range(MOST_TOOL_PAGES):
                page = await client.list_tools(cursor=cursor)
                tools += page.tools
                if (cursor := page.next_cursor) is None:
                    break
        except (MCPError, ValidationError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise BadInput("SERVER", "does not list its tools", "check that it is an MCP server with tools") from None
        listing = [
            {"name": tool.name, "title": tool.title, "description": tool.description, "schema": tool.input_schema}
            for tool in tools
        ]
        return list(self._redacted({"tools": listing})["tools"])

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a tool's answer as JSON without secrets; None if there was no answer."""
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=tool, arguments=dict(arguments)))
        try:
            with anyio.fail_after(self._seconds):
                await self._ready.wait()
                if self._client is None:
                    return None
                answer = await self._client.session.send_request(request, types.CallToolResult)
        except TimeoutError:
            return None
        except MCPError as problem:
            if problem.code == types.CONNECTION_CLOSED:
                self._lost.set()
                return None
            return {"isError": True}
        except ValidationError:
            return {"isError": True}
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, RuntimeError):
            self._lost.set()
            return None
        return await to_thread.run_sync(self._plain, answer)

    def _plain(self, answer: types.CallToolResult) -> dict[str, Any]:
        """Return an answer as JSON without secrets, or the replacement of an answer that is too large."""
        members = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        if len(json.dumps(members)) > LONGEST_ANSWER:
            return {"isError": True, "outcome": TOO_LARGE}
        return self._redacted(members)

    def _why(self, problem: BaseException) -> str:
        while isinstance(problem, BaseExceptionGroup):
            problem = problem.exceptions[0]
        if isinstance(problem, FileNotFoundError | PermissionError):
            return f"can't be started: {problem.strerror}"
        last_words = _last_line(self._log)
        because = f": {self._redacted({'said': last_words})['said']}" if last_words else ""
        return f"did not answer as an MCP server{because}" + (f" (all of its stderr: {self._log})" if self._log else "")

    def _redacted(self, answer: dict[str, Any]) -> dict[str, Any]:
        if not self._secrets:
            return answer
        text = json.dumps(answer, ensure_ascii=False)
        clean = text
        for secret, name in self._secrets.items():
            clean = clean.replace(json.dumps(secret, ensure_ascii=False)[1:-1], f"[redacted {name}]")
        return answer if clean == text else dict(json.loads(clean))


def _last_line(log: Path | None) -> str:
    """Return the line of a server's stderr that says why it ended: the last error, else the last line."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log else []
    except OSError:
        return ""
    telling = [line for line in lines if line[:1].strip() and not line.startswith(("Node.js v", "Traceback"))]
    errors = [line for line in telling if _ERROR_LINE.search(line)]
    return "".join(filter(str.isprintable, [*telling, *errors][-1]))[:LONGEST_LINE] if telling else ""


@asynccontextmanager
async def kept_up(link: Link) -> AsyncIterator[None]:
    """Maintain a link while the block runs. Raises BadInput if it can't connect, and the block's own errors."""
    try:
        async with anyio.create_task_group() as group:
            with anyio.fail_after(START_SECONDS):
                await group.start(link.run)
            yield
            group.cancel_scope.cancel()
    except BaseExceptionGroup as problems:
        inner: BaseException = problems
        while isinstance(inner, BaseExceptionGroup):
            inner = next((cause for cause in inner.exceptions if isinstance(cause, PitlakeError)), inner.exceptions[0])
        raise inner from None
    except TimeoutError:
        raise BadInput(
            "SERVER", f"did not answer within {START_SECONDS:.0f} s", "check the command or the address"
        ) from None
