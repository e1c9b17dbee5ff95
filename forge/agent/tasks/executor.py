"""When tasks run: side by side, after what they depend on; what fails in one stays there, and none is lost.

A dependency must have been dispatched, and a retry may not wait for what waits for it, so that no circle can be
written. Who depends on a task that was retried gets the newest try; one that was skipped for its sake is queued again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace

from forge.agent.tasks.spec import MOST_DEPENDENCIES, NAME, TARGETS, State, Task, TaskResult
from forge.core.tape import Diverged
from pitlake.errors import BadInput, PitlakeError, for_agents

Work = Callable[[Task, Mapping[str, TaskResult]], Awaitable[TaskResult]]
"""What a task does, of it and the results it depends on."""
Ended = Callable[[Task, TaskResult], TaskResult]
"""Told of each result before it counts; gives the one that does."""
AT_ONCE = 8
BAD: frozenset[State] = frozenset({"failed", "timeout", "skipped", "cancelled"})


def _as_it_is(_task: Task, result: TaskResult) -> TaskResult:
    return result


class Executor:
    """Tasks of one turn. seconds: of one task at work, None for no limit. Needs a running event loop."""

    def __init__(
        self, work: Work, ended: Ended = _as_it_is, seconds: float | None = None, at_once: int = AT_ONCE
    ) -> None:
        self._work, self._ended, self._seconds = work, ended, seconds
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
        """Start a task. Raises BadInput for an id that was given before, unknown dependencies, and retries of what
        has not ended or what waits for the retry.
        """
        self.check(task)
        if task.retry_of:
            self._retried[self.newest(task.retry_of)] = task.id
        self.tasks[task.id] = task
        self._start(task)
        if task.retry_of:
            self._stir(task.id)

    def check(self, task: Task) -> None:
        """Raises BadInput for a task that `dispatch` would refuse."""
        if not NAME.fullmatch(task.id) or task.id in TARGETS:
            raise BadInput("id", f"{task.id[:60]!r} is not a name", "use lower-case letters, digits, _ and -, up to 40")
        if task.id in self.tasks:
            raise BadInput("id", f"{task.id} was dispatched already", "choose another id")
        if len(task.depends_on) > MOST_DEPENDENCIES:
            raise BadInput("depends_on", f"names over {MOST_DEPENDENCIES} tasks", "depend on fewer")
        for name in task.depends_on:
            if name not in self.tasks:
                raise BadInput("depends_on", f"{name[:60]!r} was never dispatched", "dispatch it first")
        if task.retry_of:
            self._check_retry(task)

    def _check_retry(self, task: Task) -> None:
        if task.retry_of not in self.tasks:
            raise BadInput("retry_of", f"{task.retry_of[:60]!r} was never dispatched", "name a task that was")
        old = self.newest(task.retry_of)
        if old not in self.results:
            raise BadInput("retry_of", f"{old} has not ended", f"collect('{old}') first")
        for name in task.depends_on:
            if old in self._below(name):
                raise BadInput("depends_on", f"{name} waits for {old}, which this retries", "leave it out")

    def restore(self, task: Task, result: TaskResult | None) -> None:
        """Take up a task again that was dispatched before a kill: ended, or to be run from its tape."""
        if task.retry_of:
            old = self.newest(task.retry_of)
            # It had ended; how is not on the tape where it was skipped alone.
            self.results.setdefault(old, TaskResult(id=old, status="skipped", error=f"retried as {task.id}"))
            self.cancel(old)
            self._retried[old] = task.id
        self.tasks[task.id] = task
        if result is None:
            self._start(task)
        else:
            self.results[task.id] = result

    def newest(self, name: str) -> str:
        """The last retry of a task, itself where there is none."""
        while name in self._retried:
            name = self._retried[name]
        return name

    def state(self, name: str) -> State:
        """What a task is at."""
        result = self.results.get(name)
        return result.status if result else "running" if name in self._running else "queued"

    def outdated(self, name: str) -> bool:
        """Whether a task was given a summary that was retried since."""
        result = self.results.get(name)
        return result is not None and any(self.newest(one) != one for one in result.used)

    async def wait(self, names: Iterable[str]) -> None:
        """Until these have ended. Raises Diverged where one of them came to something else than its tape."""
        for name in names:
            while name not in self.results:
                await self._over(name)
        if self._problem:
            raise self._problem

    def cancel(self, name: str) -> None:
        """End a task now, whatever it is at."""
        if name in self._handles:
            self._handles[name].cancel()

    async def close(self, *, abandon: bool = False) -> None:
        """End what still runs, as cancelled; abandoned, nobody is told, so that a resume takes it up again."""
        self._abandoned = abandon
        for handle in self._handles.values():
            handle.cancel()
        if self._handles:
            await asyncio.wait(self._handles.values())
        await asyncio.sleep(0)

    def _below(self, name: str) -> set[str]:
        """A task's newest try and everything that waits for, all the way down."""
        found: set[str] = set()
        waiting = [self.newest(name)]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting += [self.newest(need) for need in self.tasks[one].depends_on]
        return found

    def _stir(self, retry: str) -> None:
        """Queue again what was skipped for want of the task that is retried."""
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
                self._end(task, await self._worked(task, limit))
        except TimeoutError:
            late = limit.expired()
            told = f"not done within {self._seconds:g} s" if late and self._seconds else "a call took too long"
            self._end(task, TaskResult(id=task.id, status="timeout" if late else "failed", error=told))
        except asyncio.CancelledError:
            self._end(task, TaskResult(id=task.id, status="cancelled"))
        except Diverged as problem:
            self._problem = self._problem or problem
            self._end(task, TaskResult(id=task.id, status="failed", error=str(problem)))
        except Exception as problem:  # noqa: BLE001 - a task's fault must not reach its siblings
            self._end(task, TaskResult(id=task.id, status="failed", error=_told(problem)))

    async def _worked(self, task: Task, limit: asyncio.Timeout) -> TaskResult:
        while True:
            used = {need: await self._newest_result(need) for need in task.depends_on}
            if self._older(used):
                continue  # one was retried while another was waited for
            if bad := next((need for need, result in used.items() if result.status in BAD), None):
                return TaskResult(id=task.id, status="skipped", error=f"needs {bad}: {used[bad].status}")
            async with self._places:
                if self._older(used):
                    continue  # or while this one waited for its place
                self._running.add(task.id)
                if self._seconds is not None:
                    limit.reschedule(asyncio.get_running_loop().time() + self._seconds)
                result = await self._work(task, used)
                given = tuple(one.id for one in used.values())
                return replace(result, used=given if result.status == "ok" else ())

    def _older(self, used: Mapping[str, TaskResult]) -> bool:
        """Whether one of these results is not, or no longer, that of the newest try."""
        return any(self.results.get(self.newest(need)) is not result for need, result in used.items())

    async def _newest_result(self, need: str) -> TaskResult:
        while (name := self.newest(need)) not in self.results:
            await self._over(name)
        return self.results[name]

    async def _over(self, name: str) -> None:
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
                result = self._ended(task, result)
            except Diverged as problem:
                self._problem = self._problem or problem
            except Exception as problem:  # noqa: BLE001 - what can't be kept has failed
                result = TaskResult(id=task.id, status="failed", error=_told(problem))
        self.results[task.id] = result


def _told(problem: Exception) -> str:
    return for_agents(problem) if isinstance(problem, PitlakeError) else type(problem).__name__
