"""Runs a program without access to the lake: its files are covered, and only a server bound to T can be asked.

The program gets its own mounts (a user namespace). In them the folders of the lake, captures, caches and keys are
empty, and pitlake's own code is read-only. It has no capabilities, so it can't uncover them. The server runs outside,
behind a socket, as long as the program runs.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import platformdirs

import pitlake
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from pitlake.lake.storage.signed_cache import caches
from pitlake.session.sealed import sandbox

SOCKET = "PITLAKE_SOCKET"
SETTINGS = ("PITLAKE_CAPTURES", "PITLAKE_GRAPH_ROOT", "PITLAKE_REPORT", "DAGSTER_HOME")
"""Environment variables that name places with later data."""
KEPT = ("PITLAKE_AS_OF", "PITLAKE_KNOWN_BY", "PITLAKE_HOOK_LOG", "ANTHROPIC_API_KEY")
_SECRET = re.compile(r"(PITLAKE|NEO4J|AWS|AZURE|GOOGLE)_.*|.*_API_KEY|CELERY_BROKER_URL")
NEXT_STEP = "run it as another user, or in a container, that cannot read the lake"
PACKAGES = ("pitlake", "pipelines", "assets", "checks", "resources", "sql", "forge")
_SERVER = (
    "import sys, importlib.util as found\n"
    f"for name in {PACKAGES!r}:\n"
    "    if found.find_spec(name): __import__(name)\n"
    "sys.path[:] = [path for path in sys.path if path.startswith((sys.prefix, sys.base_prefix))]\n"
    "from pitlake.cli import main; main()"
)
"""It removes the checkout's folder from the import path, because the program may write there."""


def run(
    command: Sequence[str],
    as_of: str,
    lake: str | None,
    *,
    known_by: str | None,
    for_model: str | None = None,
    require: str | None = None,
) -> int:
    """Run a program without the lake's files and return its exit code.

    Raises BadInput if this system can't cover files, or if the program is in a covered folder.
    """
    root = Lake(lake).location
    settings = [os.environ[name] for name in SETTINGS if os.environ.get(name)]
    project = [Path(".env"), *Path(".pitlake").glob("*/")]
    places = [Lake(lake).root, caches(), Path(platformdirs.user_state_dir("pitlake")), *map(Path, settings), *project]
    covered = sorted({place.resolve() for place in places if place.exists()})
    here = Path.cwd().resolve()
    inside = [place for place in covered if here.is_relative_to(place)]
    if inside:
        raise BadInput("--lake", f"the working directory is in {inside[0]}, which is covered", "start from elsewhere")
    with tempfile.TemporaryDirectory(prefix="pitlake-") as folder, socket.socket(socket.AF_UNIX) as door:
        door.bind(f"{folder}/door")
        door.listen()
        server = [sys.executable, "-Ic", _SERVER, "mcp", "--as-of", as_of, "--lake", root]
        flags = {"--known-by": known_by, "--for-model": for_model, "--require": require}
        server += [word for flag, value in flags.items() if value for word in (flag, value)]
        threading.Thread(target=_serve, args=(door, server), daemon=True).start()
        env = {name: value for name, value in os.environ.items() if name in KEPT or not _SECRET.fullmatch(name)}
        env |= {"PITLAKE_AS_OF": as_of, SOCKET: f"{folder}/door"}
        return _away(command, covered, env | ({"PITLAKE_KNOWN_BY": known_by} if known_by else {}))


def connect(address: str) -> None:
    """Copy stdin to the server behind a socket, and its answers to stdout, until either ends."""
    with socket.socket(socket.AF_UNIX) as door:
        door.connect(address)
        threading.Thread(target=_send, args=(door,), daemon=True).start()
        while answered := door.recv(1 << 16):
            os.write(1, answered)


def _send(door: socket.socket) -> None:
    with suppress(OSError):
        while data := os.read(0, 1 << 16):
            door.sendall(data)
        door.shutdown(socket.SHUT_WR)


def _serve(door: socket.socket, server: Sequence[str]) -> None:
    """Start a separate server for each connection."""
    with suppress(OSError):
        while True:
            caller, _ = door.accept()
            with caller:
                subprocess.Popen(server, stdin=caller.fileno(), stdout=caller.fileno(), stderr=subprocess.DEVNULL)


def _away(command: Sequence[str], covered: Sequence[Path], env: Mapping[str, str]) -> int:
    """Run a command in a process with its own mounts, and wait for it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            # The program must not change the server's code: Python, packages, a checkout.
            checkout = Path(pitlake.__file__).resolve().parents[1]
            packages = [checkout / name for name in PACKAGES]
            own_code = [Path(sys.prefix), Path(sys.base_prefix), *(package for package in packages if package.is_dir())]
            sandbox.cover(covered, own_code)
            os.execvpe(command[0], list(command), dict(env))  # noqa: S606  what the caller asks to run
        except OSError as problem:
            os.write(writer, str(problem).encode())
        finally:
            os._exit(127)
    os.close(writer)
    fault = os.read(reader, 1 << 12).decode()
    os.close(reader)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, status = os.waitpid(child, 0)
    signal.signal(signal.SIGINT, before)
    if fault:
        raise BadInput("command", f"can't be run without access to the lake: {fault}", NEXT_STEP)
    return os.waitstatus_to_exitcode(status)
