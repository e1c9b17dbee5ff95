"""Processes that run tasks in parallel: the parent's side of `child`."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue

from pitlake.check.tasks import Task, TaskReply, read, write
from pitlake.errors import PitlakeError

_PROGRAM = "from pitlake.check.child import main; main()"
_SECONDS_TO_END = 1.0


class _Child:
    """One process that runs tasks, by the pipes to and from it."""

    def __init__(self) -> None:
        tasks, to_child = os.pipe()
        from_child, replies = os.pipe()
        self.theirs = (tasks, replies)
        self.tasks, self.replies = os.fdopen(to_child, "wb"), os.fdopen(from_child, "rb")

    def close(self) -> None:
        with suppress(BrokenPipeError):
            self.tasks.close()
        self.replies.close()


class Runners:
    """Child processes that are ready for tasks. The first imports the libraries and forks the others."""

    def __init__(self, count: int) -> None:
        self._children = [_Child() for _ in range(count)]
        self._process = _start([descriptor for each in self._children for descriptor in each.theirs])
        self._idle: SimpleQueue[_Child] = SimpleQueue()
        for each in self._children:
            self._idle.put(each)
        self._threads = ThreadPoolExecutor(count)

    def run(self, tasks: Sequence[Task]) -> list[list[TaskReply]]:
        return list(self._threads.map(self._run, tasks))

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        for each in self._children:
            each.close()
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            self._process.wait()

    def _run(self, task: Task) -> list[TaskReply]:
        process = self._idle.get()
        try:
            write(process.tasks, task)
            replies: list[TaskReply] = read(process.replies)
        except (EOFError, BrokenPipeError):
            raise PitlakeError("the process that runs the function ended; its output above says why") from None
        finally:
            self._idle.put(process)
        return replies


@contextmanager
def started(count: int) -> Iterator[Runners]:
    runners = Runners(count)
    try:
        yield runners
    finally:
        runners.close()


def _start(descriptors: Sequence[int]) -> subprocess.Popen[bytes]:
    """Start the processes that own these pairs of descriptors: one to read tasks from, one to write replies to."""
    settings = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-W", "ignore::DeprecationWarning", "-c", _PROGRAM, *map(str, descriptors)],
            env=os.environ | settings | {"PYTHONPATH": paths},
            stdin=subprocess.DEVNULL,
            stdout=2,
            pass_fds=descriptors,
        )
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
