"""Processes that run tasks in parallel: the parent's side of `child`."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from pitlake.check import child
from pitlake.check.tasks import Task, TaskReply
from pitlake.errors import PitlakeError

_PROGRAM = "from pitlake.check.child import main; main()"


class Runners:
    """Child processes that are ready for tasks."""

    def __init__(self, count: int) -> None:
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._children = [_start() for _ in range(count)]
        for process in self._children:
            self._idle.put(process)
        self._threads = ThreadPoolExecutor(count)

    def run(self, tasks: Sequence[Task]) -> list[list[TaskReply]]:
        return list(self._threads.map(self._run, tasks))

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        for process in self._children:
            process.terminate()
            process.communicate()

    def _run(self, task: Task) -> list[TaskReply]:
        process = self._idle.get()
        try:
            if process.stdin is None or process.stdout is None:
                raise PitlakeError("a process was started without pipes")
            child.write(process.stdin, task)
            replies: list[TaskReply] = child.read(process.stdout)
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


def _start() -> subprocess.Popen[bytes]:
    settings = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    return subprocess.Popen(
        [sys.executable, "-P", "-W", "ignore::DeprecationWarning", "-c", _PROGRAM],
        env=os.environ | settings | {"PYTHONPATH": paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
