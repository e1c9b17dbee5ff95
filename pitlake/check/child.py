"""The processes that run a checked function. Each forks a new process for each task.

A fork has imported pitlake and pandas but never the user's module, so no task sees an earlier task's caches. The
processes are forks themselves, because the imports cost more than a task. Tasks and replies go through a pair of pipes
for each process, each pickled after its length. The function's output goes to stderr.
"""

import gc
import importlib.util
import inspect
import os
import random
import sys
import traceback
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import IO, Any

import duckdb

from pitlake.check import readers
from pitlake.check.tables import answer_of
from pitlake.check.tasks import Function, Task, TaskReply, read, write
from pitlake.check.watching import Watch, clock_ahead
from pitlake.datasets import all_datasets
from pitlake.errors import BadInput
from pitlake.questions.catalogue import unions
from pitlake.session.in_process import InProcess
from pitlake.session.sql import engine, statements
from pitlake.session.viewpoint import Viewpoint

_REPLIED = 93
"""The exit status of a process that wrote its reply; a function may end its process with 0."""
__all__ = ["InProcess", "main"]  # imported here once, for all forks


def main() -> None:
    """Run the tasks of each pair of pipes until it ends, with a process for each pair. The pairs are the arguments."""
    for library in ("pandas", "polars", *readers.MODULES):
        with suppress(ImportError):
            import_module(library)  # Import it before forking, because the import takes a second.
    all_datasets()
    statements.installed()
    unions()
    prepared = engine.connect()  # It has no thread, so each fork has a copy that works.
    readers.wrap()
    gc.freeze()
    descriptors = [int(number) for number in sys.argv[1:]]
    pairs = list(zip(descriptors[::2], descriptors[1::2], strict=True))
    for number, (tasks, replies) in enumerate(pairs, start=1):
        if os.fork() == 0:
            for descriptor in chain.from_iterable(pairs[number:]):
                os.close(descriptor)
            _serve(os.fdopen(tasks, "rb"), os.fdopen(replies, "wb"), prepared)
            os._exit(0)
        os.close(tasks)
        os.close(replies)
    for _ in pairs:
        os.wait()


def _serve(tasks: IO[bytes], replies: IO[bytes], prepared: duckdb.DuckDBPyConnection) -> None:
    while True:
        try:
            task = read(tasks)
        except EOFError:
            return
        process = os.fork()
        if process == 0:
            code, pipe = 1, os.fstat(replies.fileno())
            try:
                reply = run(task, prepared)
                # The function may have closed the pipe and opened a file in its place.
                if os.path.samestat(os.fstat(replies.fileno()), pipe):
                    write(replies, reply)
                    code = _REPLIED
            finally:
                os._exit(code)
        _, status = os.waitpid(process, 0)
        if os.waitstatus_to_exitcode(status) != _REPLIED:
            message = f"the process of the function ended with status {os.waitstatus_to_exitcode(status)}"
            write(replies, [TaskReply(None, message) for _ in task.instants])


def run(task: Task, prepared: duckdb.DuckDBPyConnection) -> list[TaskReply]:
    """Run a task in this process, which must not be used again, and return a reply for each call.

    prepared: a blank DuckDB for the first session.
    """
    blank, connect = [prepared], engine.connect
    engine.connect = lambda: blank.pop() if blank else connect()
    sys.path[:] = [str(task.function.path.parent), *(path for path in task.paths if path not in ("", sys.path[0]))]
    random.seed(0)
    with suppress(ImportError):
        import numpy as np

        np.random.seed(0)
    watch = Watch(task)
    watch.start()
    before = frozenset(sys.modules)
    try:
        watch.at = task.instants[0]
        with clock_ahead(task.clock) if task.clock else nullcontext():
            function = _load(task.function)
        takes_as_of = _takes_as_of(function)
    except BadInput as error:
        return [TaskReply(None, str(error), (error.field, error.problem, error.next_step))]
    replies, sessions = [], ExitStack()
    for at in task.instants:
        sessions.close()  # The last session ends with the process, which takes less time.
        reply = _call(task, watch, function, at, takes_as_of, sessions)
        watch.note_data_modules(before)
        replies.append(replace(reply, sightings=tuple(watch.sightings)))
    return replies


def _load(target: Function) -> Any:
    spec = importlib.util.spec_from_file_location(target.path.stem, target.path)
    if spec is None or spec.loader is None:
        raise BadInput("function", f"{target.path.name} is not a Python file", "name a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[target.path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # noqa: BLE001 - the user's code may raise anything
        raise BadInput(
            "function",
            f"{target.path.name} can't be imported: {_error_text(error)}",
            "correct the file until `python FILE` runs without an error",
        ) from None
    function = getattr(module, target.name, None)
    if not callable(function):
        names = [name for name, value in vars(module).items() if inspect.isfunction(value) and not name.startswith("_")]
        problem = f"{target.path.name} has no function {target.name}"
        raise BadInput("function", problem, f"it has {', '.join(names)}" if names else "define one")
    return function


def _takes_as_of(function: Any) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    required = [each for each in positional if each.default is each.empty]
    takes = len(required) == 2 or (len(positional) >= 2 and positional[1].name == "as_of")
    if not positional or len(required) > 2:
        problem = f"{getattr(function, '__name__', 'it')} takes {len(required)} arguments"
        raise BadInput("function", problem, "write it as panel(session) or panel(session, as_of)")
    return takes


def _call(task: Task, watch: Watch, function: Any, at: datetime, takes_as_of: bool, sessions: ExitStack) -> TaskReply:
    watch.at = None
    session = sessions.enter_context(watch.open(Viewpoint(as_of=at)))
    watch.at = at
    with clock_ahead(task.clock) if task.clock else nullcontext():
        try:
            returned = function(session, at) if takes_as_of else function(session)
            answer = answer_of(returned)
        except BadInput as error:
            return TaskReply(None, str(error), (error.field, error.problem, error.next_step))
        except Exception as error:  # noqa: BLE001 - the user's code may raise anything
            return TaskReply(None, _error_text(error))
    datasets = None if watch.datasets is None else frozenset(watch.datasets)
    return TaskReply(answer, datasets=datasets)


def _error_text(error: Exception) -> str:
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if "/pitlake/" not in frame.filename]
    place = f" ({Path(lines[-1].filename).name}:{lines[-1].lineno})" if lines else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{place}"
