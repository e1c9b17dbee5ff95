"""The sub-agent tools of a turn: dispatch, collect and review over one executor, resumed after a kill."""

import json
from collections.abc import Callable

from forge.agent.tasks.collect import CollectTool, task_ledger
from forge.agent.tasks.dispatch import DispatchTool
from forge.agent.tasks.executor import Executor
from forge.agent.tasks.review import ReviewTool
from forge.agent.tasks.subagent import SubAgents, TaskContext
from forge.agent.tools.base import Tool, natural_arguments
from forge.core.tape import Step
from forge.fs import ForgeFS
from forge.memory import Row

DISPATCHED = "Dispatched: "
NOT_COLLECTED = "The results of some sub-agents were never collected.\n"


class Crew:
    """The sub-agents of a turn. files: the turn's files. Needs a running event loop."""

    def __init__(self, context: TaskContext, files: ForgeFS) -> None:
        self._context = context
        agents = SubAgents(context)
        seconds = context.settings.task_seconds if context.models.mode == "record" else None
        self.executor = Executor(agents.work, agents.record_end, seconds)
        self._agents = agents
        self._dispatch = DispatchTool(
            self.executor, files, lambda name: context.skills.meta(name).name, agents.on_dispatch
        )

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools dispatch, collect and review."""
        return (
            self._dispatch,
            CollectTool(self.executor, self._record_choice, self._agents.reveal),
            ReviewTool(self._context),
        )

    async def _record_choice(self, call_id: str, choose: Callable[[], str]) -> str:
        async def chosen() -> str:
            return choose()

        return await self._context.models.lane(f"collect {call_id}").once("order", "collect", chosen)

    def resume(self, steps: list[Step]) -> None:
        """Restore a killed turn from the steps of the agent's lane: written rows, tasks and shown results."""
        context = self._context
        decision = context.models.decision
        rows_by_call: dict[str, list[Row]] = {}
        for row in context.memory.written_by(context.remembered.session, decision):
            rows_by_call.setdefault(row.call_id, []).append(row)
        for step in steps:
            name, arguments = json.loads(step.request) if step.kind == "tool" else ("", {})
            call_id = f"{decision}:{step.lane}:{step.step}"
            context.remembered.take(rows_by_call.get(call_id, ()))
            if name == "dispatch" and step.answer.startswith(DISPATCHED):
                task = self._dispatch.task(natural_arguments(arguments, self._dispatch.spec.schema))
                self._agents.on_dispatch(task)
                self.executor.restore(task, self._agents.recorded_result(task.id))
            elif name == "collect" and (recorded := context.models.lane(f"collect {call_id}").first_step()):
                for task_id in json.loads(recorded.answer)["shown"]:
                    self.executor.collected.add(task_id)
                    self._agents.reveal(task_id)
            elif name == "review":
                context.remembered.take(
                    context.memory.journal.written_by(context.remembered.session, f"{decision}:review {call_id}:")
                )

    async def end(self, answer: str) -> str:
        """Cancel running tasks and return the answer, with a summary of tasks if any task was never collected."""
        lane = self._context.models.lane("ledger")
        if not self.executor.tasks and lane.first_step() is None:
            return answer

        async def told() -> str:
            await self.executor.close()
            lost = [name for name in self.executor.tasks if name not in self.executor.collected]
            return NOT_COLLECTED + task_ledger(self.executor, self.executor.collected) if lost else ""

        if self._context.models.mode != "record":
            await self.executor.wait(self.executor.tasks)
        lost = await lane.once("order", "ledger", told)
        return f"{answer}\n\n{lost}" if lost else answer
