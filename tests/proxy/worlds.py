"""A proxy in front of a hostile server, and a record of everything that a model could read of it."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import uvicorn
from mcp import Client, StdioServerParameters

from pitlake.clock import instant
from pitlake.proxy.link import Link, command_target, kept_up
from pitlake.proxy.policy import load
from pitlake.proxy.server import Proxy, server
from pitlake.proxy.tape import Tape
from tests.doors.mcp_client import ROOT, listens

AS_OF = "2024-02-15T16:00:00-05:00"
HERE = Path(__file__).resolve().parent


def hostile(name, seed=0):
    """Return the command of a hostile server."""
    return [sys.executable, str(HERE / "hostile_server.py"), name, str(seed)]


def direct(command):
    """Return the parameters of the same server without a proxy."""
    return StdioServerParameters(command=command[0], args=command[1:])


class Reader:
    """A record of what a model, or the program around it, reads: answers, errors, notifications, lists."""

    def __init__(self):
        self.texts = []

    def add(self, display):
        self.texts.append(display if isinstance(display, str) else json.dumps(display, ensure_ascii=False, default=str))

    async def hear(self, message):
        self.add(repr(message))


@asynccontextmanager
async def proxied(target, policy, tape_file, *, as_of=AS_OF, seconds=5.0):
    """Yield a client of a proxy in this process, and its reader. target: a command, an address or a server."""
    reader = Reader()
    tape = Tape.record(tape_file, policy if not isinstance(policy, str) else load(policy), instant(as_of))
    start = command_target(target, tape_file.with_suffix(".log")) if isinstance(target, list) else lambda: target
    link = Link(start, seconds=seconds)
    try:
        async with kept_up(link):
            proxy = Proxy(tape, link)
            await proxy.prepare()
            async with Client(server(proxy), logging_callback=reader.hear, message_handler=reader.hear) as client:
                yield client, reader
    finally:
        tape.close()


@asynccontextmanager
async def replayed(tape_file):
    """Yield a client of a replay."""
    tape = Tape.replay(tape_file)
    proxy = Proxy(tape, None)
    await proxy.prepare()
    async with Client(server(proxy)) as client:
        yield client


async def ask(client, reader, tool, arguments):
    """Return a tool's answer after the reader has recorded it; None if the call failed."""

    async def progress(done, total, message):
        reader.add(str((done, total, message)))

    try:
        answer = await client.call_tool(tool, arguments, progress_callback=progress)
    except Exception as problem:  # noqa: BLE001  The model may read any error.
        reader.add(repr(problem))
        return None
    reader.add(answer.model_dump(mode="json"))
    return answer


def environment(folder, *packages):
    """Install packages from the package index into a new environment, and return the folder of their programs."""
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "-q", "--python", sys.executable, folder], check=True, timeout=600)
    line = [*uv, "pip", "install", "-q", "--python", folder / "bin/python", *packages]
    subprocess.run(line, check=True, timeout=600)
    return folder / "bin"


@contextmanager
def served(app):
    """Serve an application on loopback, and yield its address."""
    listener = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="on"))
    thread = threading.Thread(target=listener.run, daemon=True)
    thread.start()
    while not listener.started:
        time.sleep(0.01)
    port = listener.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        listener.should_exit = True
        thread.join()


@contextmanager
def proxy_process(*arguments, **environment):
    """Run `pitlake proxy --http` in a separate process, and yield its address and the file with its stderr."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = Path(environment.pop("folder"))
    line = [sys.executable, "-m", "pitlake", "proxy", "--http", "--port", str(port), *arguments]
    surroundings = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    with (folder / "stderr").open("wb") as message:
        process = subprocess.Popen(line, cwd=folder, env=surroundings, stderr=message)
    try:
        while process.poll() is None and not listens(process.pid, port):
            time.sleep(0.02)
        assert process.poll() is None, (folder / "stderr").read_text()
        yield f"http://127.0.0.1:{port}/mcp", folder / "stderr"
    finally:
        process.terminate()
        process.wait(timeout=60)
