"""The executor runs tasks concurrently, each after its dependencies. A failure does not affect other tasks.

Cycles are impossible: a dependency must already have been dispatched, and a retry may not depend on a task that waits
for the retried task. Tasks that depend on a retried task get its newest result. Tasks that were skipped because of
its failure are queued again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace

from forge.agent.tasks.spec import MOST_DEPENDENCIES, NAME, TARGETS, State, Task, TaskResult
from forge.core.tape import Diverged
from pitlake.errors import BadInput, PitlakeError, for_agents

Work = Callable[[Task, Mapping[str, TaskResult]], Awaitable[TaskResult]]
"""The work of a task, called with the task and the results it depends on."""
OnEnd = Callable[[Task, TaskResult], TaskResult]
"""Called with each result before it is stored; returns the result to store."""
AT_ONCE = 8
BAD: frozenset[State] = frozenset({"failed", "timeout", "skipped", "cancelled"})


class Executor:
    """The tasks of one turn. seconds: the time limit of a running task, None for none. Needs a running event loop."""

    def __init__(
        self,
        work: Work,
        on_end: OnEnd = lambda _task, result: result,
        seconds: float | None = None,
        at_once: int = AT_ONCE,
    ) -> None:
        self._work, self._on_end, self._seconds = work, on_end, seconds
        self.tasks: dict[str, Task] = {}
        self.results: dict[str, TaskResult] = {}
        self.collected: set[str] = set()
        self._retried: dict[str, str] = {}
        self._running: set[str] = set()
        self._handles: dict[str, asyncio.Task[None]] = {}
        self._places = asyncio.Semaphore(at_once)
        self._problem: Diverged | None = None
        self._abandoned = False

    def dispatch(self, task: Task) -> None:
        """Start a task.

        Raises BadInput for a used id, unknown dependencies, and a retry of a task that is still running or among its
        own dependencies.
        """
        self.check(task)
        if task.retry_of:
            self._retried[self.newest(task.retry_of)] = task.id
        self.tasks[task.id] = task
        self._start(task)
        if task.retry_of:
            self._requeue_skipped(task.id)

    def check(self, task: Task) -> None:
        """Raise BadInput for a task that `dispatch` would refuse."""
        if not NAME.fullmatch(task.id) or task.id in TARGETS:
            raise BadInput("id", f"{task.id[:60]!r} is not a name", "use lower-case letters, digits, _ and -, up to 40")
        if task.id in self.tasks:
            raise BadInput("id", f"{task.id} was already dispatched", "choose another id")
        if len(task.depends_on) > MOST_DEPENDENCIES:
            raise BadInput("depends_on", f"names more than {MOST_DEPENDENCIES} tasks", "depend on fewer")
        for name in task.depends_on:
            if name not in self.tasks:
                raise BadInput("depends_on", f"{name[:60]!r} was never dispatched", "dispatch it first")
        if not task.retry_of:
            return
        if task.retry_of not in self.tasks:
            raise BadInput("retry_of", f"{task.retry_of[:60]!r} was never dispatched", "name a dispatched task")
        old = self.newest(task.retry_of)
        if old not in self.results:
            raise BadInput("retry_of", f"{old} has not ended", f"collect('{old}') first")
        for name in task.depends_on:
            if old in self._dependencies(name):
                raise BadInput("depends_on", f"{name} waits for {old}, which this retries", "leave it out")

    def restore(self, task: Task, result: TaskResult | None) -> None:
        """Restore a task that was dispatched before a kill. result: None if it must run again from its tape."""
        if task.retry_of:
            old = self.newest(task.retry_of)
            # The task had ended. The tape does not record that a task was skipped.
            self.results.setdefault(old, TaskResult(id=old, status="skipped", error=f"retried as {task.id}"))
            self.cancel(old)
            self._retried[old] = task.id
        self.tasks[task.id] = task
        if result is None:
            self._start(task)
        else:
            self.results[task.id] = result

    def newest(self, name: str) -> str:
        """Return the id of a task's last retry, or the task's id if it was never retried."""
        while name in self._retried:
            name = self._retried[name]
        return name

    def state(self, name: str) -> State:
        result = self.results.get(name)
        return result.status if result else "running" if name in self._running else "queued"

    def outdated(self, name: str) -> bool:
        """Return whether a task used the result of a task that was retried later."""
        result = self.results.get(name)
        return result is not None and any(self.newest(used) != used for used in result.used)

    async def wait(self, names: Iterable[str]) -> None:
        """Wait until these tasks have ended. Raises Diverged if one differs from its tape."""
        for name in names:
            while name not in self.results:
                await self._wait_for(name)
        if self._problem:
            raise self._problem

    async def wait_for_news(self) -> None:
        """Wait until there is an uncollected result, or no task is running."""
        while all(name in self.collected for name in self.results):
            running = {self._handles[name]: name for name in self.tasks if name not in self.results}
            if not running:
                return
            ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            lost = [running[handle] for handle in ended if self._handles[running[handle]] is handle]
            if lost := [name for name in lost if name not in self.results]:
                raise AssertionError(f"{lost[0]} ended without a result")

    def cancel(self, name: str) -> None:
        """Cancel a task, regardless of its state."""
        if name in self._handles:
            self._handles[name].cancel()

    async def close(self, *, abandon: bool = False) -> None:
        """Cancel all tasks. With `abandon` no result is recorded, so that a resume runs them again."""
        self._abandoned = abandon
        for handle in self._handles.values():
            handle.cancel()
        if self._handles:
            await asyncio.wait(self._handles.values())
        await asyncio.sleep(0)

    def _dependencies(self, name: str) -> set[str]:
        """Return a task's newest attempt and all its dependencies, transitively."""
        names: set[str] = set()
        waiting = [self.newest(name)]
        while waiting:
            current = waiting.pop()
            if current not in names:
                names.add(current)
                waiting += [self.newest(need) for need in self.tasks[current].depends_on]
        return names

    def _requeue_skipped(self, retry: str) -> None:
        """Queue the tasks again that were skipped because of the retried task."""
        waiting = [retry]
        while waiting:
            moved = waiting.pop()
            for task in self.tasks.values():
                ended = self.results.get(task.id)
                follows = any(self.newest(need) == moved for need in task.depends_on)
                if follows and ended and ended.status == "skipped" and self.newest(task.id) == task.id:
                    del self.results[task.id]
                    self.collected.discard(task.id)
                    waiting.append(task.id)
                    self._start(task)

    def _start(self, task: Task) -> None:
        handle = self._handles[task.id] = asyncio.create_task(self._run(task), name=task.id)

        def done(_: object) -> None:
            # A task that is cancelled before its first step never enters its `try`.
            if self._handles[task.id] is handle:
                self._end(task, TaskResult(id=task.id, status="cancelled"))

        handle.add_done_callback(done)

    async def _run(self, task: Task) -> None:
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._end(task, await self._run_work(task, limit))
        except TimeoutError:
            late = limit.expired()
            error = f"did not finish within {self._seconds:g} s" if late and self._seconds else "a call took too long"
            self._end(task, TaskResult(id=task.id, status="timeout" if late else "failed", error=error))
        except asyncio.CancelledError:
            self._end(task, TaskResult(id=task.id, status="cancelled"))
        except Diverged as problem:
            self._problem = self._problem or problem
            self._end(task, TaskResult(id=task.id, status="failed", error=str(problem)))
        except Exception as problem:  # noqa: BLE001 - a task's fault must not reach its siblings
            self._end(task, TaskResult(id=task.id, status="failed", error=_error_text(problem)))

    async def _run_work(self, task: Task, limit: asyncio.Timeout) -> TaskResult:
        while True:
            used = dict[str, TaskResult]()
            for need in task.depends_on:
                while (name := self.newest(need)) not in self.results:
                    await self._wait_for(name)
                used[need] = self.results[name]
            if self._is_outdated(used):
                continue  # A dependency was retried while the task waited for another dependency.
            if bad := next((need for need, result in used.items() if result.status in BAD), None):
                return TaskResult(id=task.id, status="skipped", error=f"needs {bad}: {used[bad].status}")
            async with self._places:
                if self._is_outdated(used):
                    continue  # A dependency may also have been retried while the task waited for a free slot.
                self._running.add(task.id)
                if self._seconds is not None:
                    limit.reschedule(asyncio.get_running_loop().time() + self._seconds)
                result = await self._work(task, used)
                used_ids = tuple(result_used.id for result_used in used.values())
                return replace(result, used=used_ids if result.status == "ok" else ())

    def _is_outdated(self, used: Mapping[str, TaskResult]) -> bool:
        """Return whether any of these results is from an outdated attempt."""
        return any(self.results.get(self.newest(need)) is not result for need, result in used.items())

    async def _wait_for(self, name: str) -> None:
        handle = self._handles[name]
        await asyncio.wait([handle])
        if name not in self.results and self._handles[name] is handle:
            raise AssertionError(f"{name} ended without a result")

    def _end(self, task: Task, result: TaskResult) -> None:
        if task.id in self.results:
            return
        self._running.discard(task.id)
        if not self._abandoned:
            try:
                result = self._on_end(task, result)
            except Diverged as problem:
                self._problem = self._problem or problem
            except Exception as problem:  # noqa: BLE001 - what can't be kept has failed
                result = TaskResult(id=task.id, status="failed", error=_error_text(problem))
        self.results[task.id] = result


def _error_text(problem: Exception) -> str:
    return for_agents(problem) if isinstance(problem, PitlakeError) else type(problem).__name__
