"""Parses untrusted files (pages, PDFs) in a separate process with limits on time and memory.

A small file can make a parser run for hours. The process is forked from a process without threads that has already
loaded the parsers, so starting it takes milliseconds.
"""

import multiprocessing
import resource
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import ParamSpec, TypeVar

SECONDS, MEMORY = 30.0, 2 << 30
"""The limits of a reader, in seconds and in bytes of memory."""
LARGEST_FILE, LONGEST_TEXT = 64 << 20, 16 << 20
"""The maximum size of a file in bytes, and of the text taken from a file in characters."""

READERS = ["__main__", "assets.external.web._markup", "assets.drops.research_notes", "selectolax.lexbor", "pypdf"]
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(READERS)

Given = ParamSpec("Given")
Found = TypeVar("Found")


class OutOfBounds(Exception):
    """A parser exceeded a limit, or its process crashed."""


def bounded(read: Callable[Given, Found], *args: Given.args, **settings: Given.kwargs) -> Found:
    """Run a pure function of a module in a separate process and return its result.

    Raises OutOfBounds, and the function's own errors.
    """
    receiver, sender = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_answer, args=(sender, SECONDS, MEMORY, read, args, settings), daemon=True)
    try:
        process.start()
        sender.close()
        if not receiver.poll(SECONDS):
            raise OutOfBounds(f"{read.__name__} took more than {SECONDS:.0f} seconds")
        result, error = receiver.recv()
    except EOFError:
        raise OutOfBounds(f"{read.__name__} took more than {MEMORY} bytes, or crashed") from None
    finally:
        receiver.close()
        if process.pid is not None:
            process.kill()
            process.join()
    if error is not None:
        raise error
    return result  # type: ignore[no-any-return]


def _answer(
    sender: Connection, seconds: float, memory: int, read: Callable[..., object], args: tuple[object, ...],
    settings: dict[str, object],
) -> None:  # fmt: skip
    address_space = 0  # in bytes, before parsing starts
    with suppress(OSError):
        address_space = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    room = address_space + memory
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(MemoryError):  # There is no result to send.
        try:
            answer: tuple[object, Exception | None] = (read(*args, **settings), None)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  the boundary: what a reader raises is raised where it was asked
            answer = (None, error)
        sender.send(answer)
