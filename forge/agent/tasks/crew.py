"""A turn's crew: dispatch, collect and review over one executor, taken up again where a turn was killed."""

import json
from collections.abc import Callable

from forge.agent.tasks.collect import CollectTool, ledger
from forge.agent.tasks.dispatch import DispatchTool
from forge.agent.tasks.executor import Executor
from forge.agent.tasks.review import ReviewTool
from forge.agent.tasks.subagent import SubAgents, TaskContext
from forge.agent.tools.base import Tool
from forge.core.tape import Step
from forge.fs import ForgeFS
from forge.memory import Row

DISPATCHED = "Dispatched: "
NOT_COLLECTED = "Sub-agents were started whose results were never collected.\n"


class Crew:
    """Sub-agents of a turn. files: the turn's own. Needs a running event loop."""

    def __init__(self, room: TaskContext, files: ForgeFS) -> None:
        self._room = room
        agents = SubAgents(room)
        seconds = room.settings.task_seconds if room.models.mode == "record" else None
        self.executor = Executor(agents.work, agents.ended, seconds)
        self._agents = agents
        self._dispatch = DispatchTool(self.executor, files, lambda name: room.skills.meta(name).name, agents.started)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """dispatch, collect and review."""
        return (self._dispatch, CollectTool(self.executor, self._kept, self._agents.shown), ReviewTool(self._room))

    async def _kept(self, call_id: str, choose: Callable[[], str]) -> str:
        async def chosen() -> str:
            return choose()

        return await self._room.models.lane(f"collect {call_id}").once("order", "collect", chosen)

    def resume(self, steps: list[Step]) -> None:
        """Go through what the agent's lane has: what it wrote is known, its tasks are there, their results shown."""
        room = self._room
        decision = room.models.decision
        written: dict[str, list[Row]] = {}
        for row in room.memory.written_by(room.known.session, decision):
            written.setdefault(row.call_id, []).append(row)
        for step in steps:
            name, arguments = json.loads(step.asked) if step.kind == "tool" else ("", {})
            call_id = f"{decision}:{step.lane}:{step.step}"
            room.known.take(written.get(call_id, ()))
            if name == "dispatch" and step.answer.startswith(DISPATCHED):
                task = self._dispatch.task(arguments)
                self._agents.started(task)
                self.executor.restore(task, self._agents.kept(task.id))
            elif name == "collect" and (kept := room.models.lane(f"collect {call_id}").first()):
                for one in json.loads(kept.answer)["shown"]:
                    self.executor.collected.add(one)
                    self._agents.shown(one)
            elif name == "review":
                room.known.take(room.memory.journal.written_by(room.known.session, f"{decision}:review {call_id}:"))

    async def end(self, answer: str) -> str:
        """The answer, with the ledger where a task was never collected. What still runs is cancelled."""
        lane = self._room.models.lane("ledger")
        if not self.executor.tasks and lane.first() is None:
            return answer

        async def told() -> str:
            await self.executor.close()
            lost = [name for name in self.executor.tasks if name not in self.executor.collected]
            return NOT_COLLECTED + ledger(self.executor, self.executor.collected) if lost else ""

        if self._room.models.mode != "record":
            await self.executor.wait(self.executor.tasks)
        lost = await lane.once("order", "ledger", told)
        return f"{answer}\n\n{lost}" if lost else answer
